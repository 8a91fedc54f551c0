"""The life of a guest: settings, ready, one program after another, their ends."""
import sys
import builtins
import posix
import _signal
import _thread
import atexit
import gc

import bridge
import frames
import guard
import report
import seal
import traceback
import values

ENGINE = "python/1 cpython-%d.%d.%d" % sys.version_info[:3]
WORKSPACE = "/workspace"
FD = 3  # what the host says
ANSWERS = 4  # what it is told

_import = builtins.__import__
_ONLY_AST = 0x400
_REAL_OUT, _REAL_ERR = sys.stdout, sys.stderr
_set_depth, _get_depth = sys.setrecursionlimit, sys.getrecursionlimit
_DEPTH = sys.getrecursionlimit()

_CUT = 200 << 10  # what a Result says beside the value fits in 256 KiB


class Guest:
    """One process."""

    def __init__(self):
        self.calls = bridge.Calls(self.flush_out)
        self.conn = self.calls.conn = frames.Connection(FD, ANSWERS, self.take)
        self.module = bridge.module(self.calls)
        self.guard = None
        self.next = None  # options and source of the next program
        self.seq = 0  # of the update that was taken last
        self.runs = 0
        self.main = None  # the module __main__
        self.where = None  # the folder that the program before had on its path
        self.options = None

    # Frames.

    def take(self, kind, fields):
        if kind == frames.ANSWER:
            self.calls.taken(*fields)
        elif kind == frames.UPDATE:
            self.update(*fields)
        elif kind == frames.START and self.options is None and self.next is None:
            self.next = fields
        else:
            raise frames.Broken("a frame of kind %d out of order" % kind)

    def update(self, seq, text):
        """From now on the guard judges by that; a guest without a guard has nothing to
        hold it against, and the next program brings its own."""
        report = {"loaded": [], "ends": False}
        try:
            profile = values.loads(text)
            if self.guard is not None:
                report = self.guard.update(profile)
        except Exception as e:
            frames.die(frames.EXIT_BROKEN, "an update cannot be applied: %s" % type(e).__name__)
        self.seq = seq
        self.send(frames.UPDATED, frames.uvarint(seq) + frames.field(values.dumps(report)))

    def send(self, kind, body):
        with self.calls.lock:
            self.conn.write(frames.frame(kind, body))

    def greet(self, version, settings):
        no = ""
        if version != frames.VERSION:
            no = "the guest speaks version %d of the protocol, not %d" % (frames.VERSION, version)
        elif sys.version_info < (3, 10):
            no = "the interpreter is older than Python 3.10"
        else:
            self.prepare(settings)
        self.send(frames.READY, frames.uvarint(frames.VERSION) + frames.field(b"python")
                  + frames.field(ENGINE.encode()) + frames.field(no.encode()))
        if no:
            frames.die(1)

    def prepare(self, settings):
        path = sys.path
        path[:] = [p for p in path if p and p[-4:] != ".zip"] + list(settings["sites"] or ())
        for name in settings["preload"] or ():
            try:
                _import(name)
            except Exception:
                pass  # the program that wants it is told
        for name in "exit", "quit":  # as site has them, which is left out
            setattr(builtins, name, quitter(name))
        if settings["preload"]:
            gc.collect()
        gc.freeze()  # what is there now is nobody's to look through
        gc.enable()  # the launcher has it off

    # One program.

    def step(self):
        """Wait for a program that can begin, and return what it runs on: its globals,
        its code, and the code of the expression at its end."""
        while True:
            self.calls.serve(self.has_next)
            options, source = self.next
            self.next = None
            self.options = o = read_options(options)
            self.runs += 1
            self.calls.begin_run(o["bridges"] or (), o["denials"])
            try:
                self.begin(o, source)
                return vars(self.main), *self.compiled(o["file"], source)
            except BaseException as e:
                self.done(None, e)

    def has_next(self):
        return self.next is not None

    def begin(self, o, source):
        self.guarded(o)
        where = o["dir"] or WORKSPACE
        posix.chdir(where)
        self.environment(o["env"] or (), where)
        self.path(where)
        if not o["stdin"]:
            no_input()
        if self.main is None:
            self.new_main()
        o["file"] = file = self.name_file(o["file"] or "main.py", source)
        self.sources(file, source)
        m = self.module
        m.inputs = {k: values.decode(values.dumps(v)) for k, v in (o["inputs"] or {}).items()}
        sys.modules["ringd"], sys.modules["ringd.aio"] = m, m.aio
        sys.argv = [file]
        vars(self.main)["__file__"] = file
        if self.runs == 1 and "random" in sys.modules:
            sys.modules["random"].seed()
        # From here on the program may have done something: a host that has heard nothing
        # of a run may give it to another guest.
        self.send(frames.UPDATED, frames.uvarint(self.seq) + frames.field(b'{"loaded":[],"ends":false}'))

    def guarded(self, o):
        """Have the guard judge this program; without one nothing runs."""
        try:
            if self.guard is None:
                self.guard = guard.Guard(o["profile"], o["unguarded"], self.calls.look, self.calls.denied)
            else:
                self.guard.update(o["profile"])
                self.guard.begin()
        except Exception as e:
            frames.die(frames.EXIT_BROKEN, "the guard cannot be set up: %s: %s" % (type(e).__name__, e))

    def path(self, where):
        """A program imports what it wrote. The folder is the last one, so that no file in it
        stands in for a module that a library asks for; and the guard knows it for no library's."""
        if self.where in sys.path:
            sys.path.remove(self.where)
        self.where = where
        sys.path.append(where)

    def environment(self, env, where):
        """What the program sees of variables is what its run was given."""
        os = sys.modules.get("os")
        pairs = [e.partition("=")[::2] for e in ["HOME=" + where, "TMPDIR=" + where, *env]]
        if os is not None:
            os.environ.clear()
            for k, v in pairs:
                os.environ[k] = v
            return
        for k in list(posix.environ):
            posix.unsetenv(k)
        posix.environ.clear()
        for k, v in pairs:
            k, v = k.encode("utf-8", "surrogateescape"), v.encode("utf-8", "surrogateescape")
            posix.putenv(k, v)
            posix.environ[k] = v

    def new_main(self):
        self.main = main = type(sys)("__main__")
        g = vars(main)
        g["__builtins__"] = self.guard.module
        g["__annotations__"], g["__cached__"] = {}, None
        g["__loader__"] = loader(self)
        sys.modules["__main__"] = main

    def name_file(self, file, source):
        """What frames show. Another text of the same session has another name."""
        name, n = file, 1
        while name in report.sources:
            n += 1
            name = "%s#%d" % (file, n)
        return name

    def sources(self, file, source):
        """Where inspect, traceback and warnings look for lines."""
        text = source.decode("utf-8", "replace")
        lines = text.splitlines(True)
        report.sources[file] = lines
        self.text = text
        if self.runs > 1:
            try:
                _import("linecache")
            except Exception:
                pass
        cache = getattr(sys.modules.get("linecache"), "cache", None)
        if type(cache) is dict:
            for name, lines in report.sources.items():
                cache[name] = (sum(map(len, lines)), None, lines, name)

    def compiled(self, file, source):
        """The code of a program, and that of its last statement, or None."""
        parts = split(file, source)
        if parts is not None:
            return parts
        import _ast  # half a millisecond
        tree = compile(source, file, "exec", _ONLY_AST, True)
        last = None
        if tree.body and type(tree.body[-1]) is _ast.Expr:
            last = compile(_ast.Expression(tree.body.pop().value), file, "eval", 0, True)
        code = compile(tree, file, "exec", 0, True)
        return code, last

    # Its end.

    def done(self, value, e):
        """Send how the program ended. It may be called again when a signal of the
        program came between."""
        if self.options is None:
            return
        quiet()
        session = bool(self.options["session"])
        if session and value is not None:
            vars(self.main)["_"] = value
        end, value = self.judged(value, e)
        if not session:
            if e is not None:
                e.__traceback__ = e.__context__ = e.__cause__ = None
            self.shut_down()
        self.calls.running = False
        self.calls.serve(self.has_no_call)
        keep = session and end["state"] in ("done", "failed", "denied")
        end["again"] = keep
        flush(sys.stdout), flush(_REAL_OUT), flush(sys.stderr), flush(_REAL_ERR)
        if keep:  # of a process that ends now the host has the figure
            end["peakBytes"] = peak()
        if not self.told(end):
            end["imports"], end["denials"] = [], []
        self.options = None
        self.send(frames.RESULT, frames.field(values.dumps(end)) + frames.field(value))
        if not keep:
            posix._exit(end.get("exitCode", 0))

    def has_no_call(self):
        return not self.calls.open

    def told(self, end):
        """Add what the guard knows, of which less is told where that is too long; False when
        nothing fits."""
        try:
            most = max(int(self.options["denials"]), 0)
            if self.guard is None:
                return True
            denials, beyond = self.guard.denials(), self.guard.beyond()
            end["imports"] = self.guard.imports()[:2000]
            while True:
                end["denials"] = denials[:most]
                end["refused"] = beyond + sum([d.get("count", 1) for d in denials[most:]])
                if len(values.dumps(end)) <= _CUT:
                    return True
                if end["imports"]:
                    end["imports"] = []
                elif most:
                    most //= 2
                else:
                    return False
        except Exception:
            return False

    def judged(self, value, e):
        """The end as the host takes it, and the value."""
        end = {"state": "done", "peakBytes": 0}
        if e is None:
            value = self.valued(value, end)
            if end["state"] == "done":
                return end, value
        elif isinstance(e, SystemExit):
            code = exit_code(e)
            if code == 0:
                return end, b"null"
            end.update(state="failed", exitCode=code,
                       error={"name": "SystemExit", "message": "the program ended with exit code %d" % code})
        else:
            end.update(state="failed", exitCode=130 if isinstance(e, KeyboardInterrupt) else 1)
            try:
                if self.guard is not None and self.guard.refused(e):
                    end["state"] = "denied"
                end["error"] = report.program_error(e)
            except BaseException:
                end["error"] = {"name": type(e).__name__[:256], "message": ""}
            self.hooked(e)
        return end, b""

    def valued(self, value, end):
        """The bytes of the program's value, or what end says instead."""
        most = int(self.options["resultBytes"])
        try:
            return values.encode(value, most)
        except values.Refused as no:
            large = no.large
        except BaseException:
            large = False
        if large:
            end.update(state="limit", error={"name": "ResultTooLarge", "message": "the result is larger than %d bytes" % most})
            return b""
        end["repr"] = True
        text = values.shown(repr, value, most)
        out = values.dumps(report.text(text, most))
        while len(out) > most:
            text = text[:min(len(text) * most // len(out), len(text) - 1)]
            out = values.dumps(report.text(text, most))
        return out

    def hooked(self, e):
        """Show an exception that nobody caught: as the program has it shown, or as
        python does."""
        flush(sys.stdout), flush(_REAL_OUT)
        hook = sys.excepthook
        if hook is not sys.__excepthook__:
            try:
                hook(type(e), e, e.__traceback__)
                return
            except BaseException:
                pass
        try:
            write(sys.stderr, traceback.written(e))
        except BaseException:
            pass

    def shut_down(self):
        """What the end of an interpreter does for its program: wait for threads that are
        no daemons, and call what it has registered."""
        threading = sys.modules.get("threading")
        try:
            if threading is not None:
                threading._shutdown()
        except BaseException as e:
            self.hooked(e)
        try:
            atexit._run_exitfuncs()
        except BaseException as e:
            self.hooked(e)
        self.forget()

    def forget(self):
        """Let go of what the program holds, in the order of an interpreter that ends: files
        are written out and closed, finalizers run."""
        own = self.guard.builtins if self.guard is not None else None
        try:
            for module in [self.main, *list(sys.modules.values())]:
                if module is self.main or type(module) is type(sys) and vars(module).get("__builtins__") is own:
                    names = vars(module)
                    for private in (True, False):
                        for k in list(names):
                            if type(k) is str and k != "__builtins__" and (k[:1] == "_" and k[:2] != "__") is private:
                                names[k] = None
            gc.collect()
        except BaseException as e:
            self.hooked(e)

    def flush_out(self):
        flush(_REAL_OUT)


def quiet():
    """Take away what of the program could run within what follows: signal handlers,
    traces, a stack too small."""
    for n in range(1, _signal.NSIG):
        try:
            if callable(_signal.getsignal(n)):
                _signal.signal(n, _signal.SIG_IGN)
        except (ValueError, OSError):
            pass
    if sys.gettrace() is not None:
        sys.settrace(None)
    if sys.getprofile() is not None:
        sys.setprofile(None)
    if _get_depth() < _DEPTH:
        _set_depth(_DEPTH)


# What start.Options holds.
_OPTIONS = {"file": str, "profile": dict, "inputs": (dict, type(None)), "bridges": (list, type(None)), "dir": str,
            "env": (list, type(None)), "stdin": bool, "session": bool, "denials": int, "resultBytes": int, "unguarded": bool}


def read_options(text):
    """The options of a run: all of them, and no others."""
    try:
        o = values.loads(text)
        if o.keys() == _OPTIONS.keys() and all(isinstance(o[k], t) for k, t in _OPTIONS.items()):
            return o
    except Exception:
        pass
    frames.die(frames.EXIT_BROKEN, "the options of a program cannot be read")


def split(file, source):
    """What compiled returns, without a syntax tree: None, where the text is not as plain
    as most. What is whole up to a line that is not indented ends there, so that a text is
    what stands before its last such line and then the rest."""
    try:
        text = source.decode("utf-8")
        head = text[:text.index("\n", text.find("\n") + 1)] if text.count("\n") > 1 else text
        if "coding" in head or "__future__" in text or not text.isascii() and text[0] == "\ufeff" or "\f" in text or "\r" in text:
            return None
        lines = text.split("\n")
        n = len(lines) - 1
        while n > 0 and (not lines[n] or lines[n][0] in " \t#"):
            n -= 1
        rest = "\n".join(lines[n:])
        if not (lines[n][:1].isalpha() or lines[n][:1] in "_[({'\"-~0123456789") or ";" in rest or "\0" in rest:
            return None
        # The rest first: most of what cannot be split fails here, and says its warnings once.
        rest = "\n" * n + rest
        try:
            last = compile(rest, file, "eval", 0, True)
        except Exception:
            last = compile(rest, file, "exec", 0, True)
        return compile("\n".join(lines[:n]) + "\n", file, "exec", 0, True), last
    except Exception:
        return None


def quitter(name):
    def leave(code=None):
        """End the program."""
        end = "@SystemExit"
        raise end(code)

    leave.__name__ = leave.__qualname__ = name
    return seal.seal(leave, SystemExit=SystemExit)


def no_input():
    """Standard input is at its end: that of a session is open for all of its programs."""
    r, w = posix.pipe()
    posix.close(w)
    posix.dup2(r, 0)
    posix.close(r)


def exit_code(e):
    """What python would exit with; what is no number it writes to standard error."""
    code = e.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int.__int__(code) & 0xff
    flush(sys.stdout), flush(_REAL_OUT)
    write(sys.stderr, values.shown(str, code, 1 << 20) + "\n")
    return 1


def peak():
    """The most memory that this process had, in bytes; 0: it is not known."""
    try:
        import resource
        return resource.getrusage(0).ru_maxrss << 10
    except Exception:
        return 0


def flush(f):
    try:
        f.flush()
    except BaseException:
        pass


def write(f, s):
    try:
        f.write(s)
    except BaseException:
        try:
            posix.write(2, s.encode("utf-8", "replace"))
        except OSError:
            pass
    flush(f)


def loader(guest):
    """The __loader__ of __main__: modules that look for its text ask it."""
    def get_source(self, name=None):
        source = "@source"
        return source()

    def is_package(self, name=None):
        return False

    cls = type("ProgramLoader", (), {"__module__": "ringd", "__slots__": ()})
    cls.get_source = seal.seal(get_source, source=seal.opaque(lambda: guest.text))
    cls.is_package = seal.seal(is_package)
    return cls()


def start(version, settings):
    """Greet the host, and return what serves programs from then on. Of the frames below
    a program only that of the returned function is the guest's."""
    guest = Guest()
    guest.greet(version, settings)

    def serve():
        step = "@step"; run = "@eval"; done = "@done"; stop = "@BaseException"
        while True:
            names, code, last = step()
            value = error = None
            try:
                run(code, names)
                if last is not None:
                    value = run(last, names)
            except stop as e:
                error = e
            try:
                done(value, error)
            except stop:
                done(value, error)
            value = error = None

    return seal.seal(serve, step=seal.opaque(guest.step), done=seal.opaque(guest.done), eval=eval, BaseException=BaseException)
