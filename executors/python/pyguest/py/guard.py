"""The import guard: the first refusal of an import, which tells a program what and why.

No single hook of CPython sees every import, so there are four. The program runs on
builtins of its own, whose __import__ judges what its code spells, loaded or not. The
function under every import that is not loaded judges the rest of them, by whose frame
asks. The audit hook judges code that a loader is about to run, whoever called it, and
_imp.create_builtin the modules for which there is no event. Code is a library's when
it stands in a library's file: what reads or renames it is compared with that.

A frame is the program's when it runs on the program's builtins, or when its code does
not come from a folder of modules: a file that the program wrote, or text. A library
may load what its own code spells. A name that was handed to it is the program's.

None of this is a boundary. A program that goes to length gets round it: signal
handlers and gc.callbacks run in the middle of a check and see its frames, native code
writes memory, a module that is loaded for a library is an attribute away. The kernel
ring holds what matters; THREATS says which.
"""
import _frozen_importlib as _bootstrap
import _frozen_importlib_external as _external
import _imp
import builtins
import posix
import sys

import profiler
from audit import Events, absolute, lies
from policy import DENIED, UNDECIDED, Refusal, Rules, is_name, is_standard
from seal import opaque, seal

_getframe = sys._getframe
_cause = BaseException.__cause__.__get__

_OURS = "<ringd import>"  # the file that frames of ours show, which nobody else can have
_FROZEN = "<frozen "  # and those of modules within the interpreter
_MOST = 4096  # refusals that are known again
_LISTED = 256  # those that are told
_OWN = ("ringd", "__main__", "__future__")


# What a traceback or a frame can show of us. They have no globals, no closures and no
# locals but their arguments: what they call stands in their constants (see seal), in
# whose places the texts here stand. `or 0` keeps the compiler from a warning.

def _import(name, globals=None, locals=None, fromlist=(), level=0):
    """The program's __import__."""
    asked = name
    judged = ("@judge" or 0)(name, globals, locals, fromlist, level)
    if judged is not None:
        error, asked, name, globals, fromlist = judged
        if error is not None:
            raise error
    return ("@import" or 0)(name, globals, None, fromlist, level)


def _find_and_load(asked, import_):
    """importlib._bootstrap._find_and_load: every import of what is not loaded."""
    error = ("@load" or 0)(asked)
    if error is not None:
        raise error
    module = ("@find_and_load" or 0)(asked, import_)
    if asked == "cProfile":
        ("@profiler" or 0)(module)
    return module


def _init_module_attrs(spec, module, *, override=False):
    """importlib._bootstrap._init_module_attrs: a file of the program runs on its builtins."""
    ("@init_module_attrs" or 0)(spec, module, override=override)
    ("@adopt" or 0)(module)
    return module


def _create_builtin(spec):
    """_imp.create_builtin, for which there is no audit event."""
    error = ("@builtin" or 0)(spec)
    if error is not None:
        raise error
    return ("@create_builtin" or 0)(spec)


def _fix_co_filename(code, path):
    """_imp._fix_co_filename, which would make code of the program a library's."""
    error = ("@renamed" or 0)(code, path)
    if error is not None:
        raise error
    ("@fix_co_filename" or 0)(code, path)


def _hook(event, args):
    """The audit hook."""
    if event in ("@events" or 0) and not (event == "import" and args[1] is None):
        if event == "sqlite3.connect":
            args = (("@fspath" or 0)(args[0]),)  # here, as it may call a method of the program
        error = ("@decide" or 0)(event, args)
        if error is not None:
            raise error


def _denied_builtin(*args, **kwargs):
    """In place of a builtin that the policy takes away."""
    raise ("@denied" or 0)()


class _NotGranted(PermissionError, FileNotFoundError):
    """What is not granted is not there either: a program that does without a file catches
    FileNotFoundError."""


_NotGranted.__name__ = _NotGranted.__qualname__ = "PermissionError"
_NotGranted.__module__ = "builtins"


class Guard:
    """What a program may import and reach, while one interpreter lives.

    builtins is what its own frames run on. profile is a start.Profile as JSON reads it.
    look() is called before each decision on an import: it reads what the host has said,
    without waiting, and may call update. tell() is called with each refusal that differs
    from those before, a profiles.Decision.
    """

    OURS = "<ringd"  # how the names of our own code begin

    def __init__(self, profile, unguarded, look, tell):
        self.rules = Rules(profile)
        self._look = look
        self._tell = None  # until the hooks are known to bite
        self._denials = {}  # of this program, by what is equal: [decision, how often]
        self._beyond = 0  # refusals that found no room there
        self._texts = {}  # of refusals
        self._seen = {}  # what this program asked for
        self._ever = {}  # and those before it
        self._quiet = set()  # refused to libraries, and told
        self.module = type(sys)("builtins")
        self.builtins = vars(self.module)
        self.builtins.update(vars(builtins))
        if unguarded:
            return
        self._folders()
        self._events = Events(self, self.libraries)
        self._install()
        self._probe()
        self._tell = tell

    def _folders(self):
        """Where the code of libraries lies. A folder that the program may write to is none."""
        folders = [p for p in sys.path if p[:1] == "/" and not p.endswith(".zip")]
        standard = next((p for p in folders if p.endswith("/python%d.%d" % sys.version_info[:2])), sys.prefix + "/lib")
        self.libraries = tuple(sorted({p.rstrip("/") + "/" for p in folders
            if not (p.rstrip("/") + "/").startswith(self.rules.write)}, key=len, reverse=True))
        self.roots = self.libraries + (_FROZEN,)
        self.protected = self.roots + (self.OURS,)
        self.ctypes = standard + "/ctypes/"
        self.machinery = frozenset((
            _OURS, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>",
            "<frozen importlib>", "<frozen importlib.util>", "<frozen zipimport>", standard + "/importlib/__init__.py",
            standard + "/importlib/util.py", standard + "/zipimport.py"))
        self.reads_bytecode = _external._compile_bytecode.__code__
        self.calls_loader = _bootstrap._call_with_frames_removed.__code__
        self.frozen = _imp.get_frozen_object

    # Refusals.

    def refuse(self, refusal):
        """The exception of a refusal, which the end of the run lists."""
        text = refusal.text()
        if len(self._texts) < _MOST:
            self._texts[text] = True
        if refusal.told:
            self._count(refusal)
        if refusal.kind == "import":
            return ModuleNotFoundError(text, name=refusal.what)
        if refusal.kind == "file":
            return _NotGranted(13, text, refusal.what)
        return PermissionError(13, text)

    def _count(self, refusal):
        """Keep a refusal for the end of the run: equal ones once, with how often."""
        key = refusal.kind, refusal.what, refusal.code, refusal.reason, refusal.rule
        known = self._denials.get(key)
        if known is not None:
            known[1] += 1
        elif len(self._denials) < _LISTED:
            decision = refusal.decision(self.rules.revision)
            self._denials[key] = [decision, 1]
            if self._tell is not None:
                self._tell(decision)
        else:
            self._beyond += 1

    def undecided(self, what):
        """A check that broke refuses."""
        text = "%s cannot be decided, and is refused" % what
        self._texts[text] = True
        self._count(Refusal("guard", what, UNDECIDED, text))
        return PermissionError(13, text)

    def refused(self, exc):
        """Whether exc, or what it was raised from, is a refusal of ours. Known by its text:
        holding on to exceptions would keep the program's frames alive."""
        for _ in range(8):
            if type(exc) is ModuleNotFoundError:
                text = exc.msg
            else:
                text = exc.strerror if type(exc) is PermissionError or type(exc) is _NotGranted else None
            if type(text) is str and text in self._texts:
                return True
            if exc is None:
                return False
            exc = _cause(exc)
        return False

    def denials(self):
        """The refusals of this program that differ, a profiles.Decision each, in order."""
        return [decision if n == 1 else {**decision, "count": n} for decision, n in list(self._denials.values())]

    def beyond(self):
        """How many refusals there were beside those of denials."""
        return self._beyond

    def imports(self):
        """The modules that this program itself imported, sorted."""
        return sorted(n for n in list(self._seen) if n in sys.modules and n.partition(".")[0] not in _OWN)

    def begin(self):
        """Another program of the same session begins."""
        self._ever.update(self._seen)
        self._denials, self._beyond, self._seen = {}, 0, {}

    # Whose import it is.

    def asker(self, frame):
        """Who asks, from that frame down: the name that was judged already for the import
        machinery that runs there, the nearest frame that is neither machinery nor ours, and
        the file of its code, which is "" for one on the program's builtins, and where there
        is none: C code calls for somebody."""
        judged, (statement, load) = None, self._judging
        while frame is not None and frame.f_builtins is not self.builtins:
            code = frame.f_code
            if code.co_filename not in self.machinery:
                return judged, frame, code.co_filename
            if judged is None and (code is load or code is statement):
                judged = frame.f_locals["asked"]
            frame = frame.f_back
        return judged, frame, ""

    def library(self, frame):
        """The frame that asks when it is a library's, or our own; None: it is the program's."""
        _, frame, file = self.asker(frame)
        return frame if file.startswith(self.protected) else None

    def _spelled(self, frame, file, name):
        """Whether a library's own code asks for name, or one that calls it."""
        code = frame.f_code
        if code.co_name == "<module>" or _spells(code, name):
            return True
        if file.startswith(self.roots) and self.module_name(file).partition(".")[0] == name.partition(".")[0]:
            return True
        frame = frame.f_back
        while frame is not None and frame.f_builtins is not self.builtins:
            code = frame.f_code
            if not code.co_filename.startswith(self.protected):
                return False
            if _spells(code, name):
                return True
            frame = frame.f_back
        return False

    def module_name(self, file):
        """The module that a file of a library is, as its place says."""
        if "/." in file:
            file = absolute(file)
        for root in self.roots:
            if file.startswith(root):
                break
        file = file[len(root):].replace("/", ".")
        if file[-3:] == ".py":
            return file[:-3].removesuffix(".__init__")
        if root == _FROZEN:
            return file[:-1]
        head, _, tail = file.rpartition(".")  # an extension module: name.cpython-311-x86_64-linux-gnu.so
        head, dot, tag = head.rpartition(".")
        if not (tag.startswith("cpython-") or tag == "abi3"):
            head += dot + tag
        return head

    # Judging.

    def judge(self, name, globals, locals, fromlist, level):
        """The program's import: None, or an exception or None, the name in full, and what to
        import in place of what was given."""
        try:
            self._look()
            if type(name) is str and type(level) is int and not level and name in self.rules.allowed:
                if fromlist is None or type(fromlist) is tuple and self._plain(name, fromlist):
                    self._seen[name] = True
                    return None
            asked = name = str.__str__(name)
            if level:
                if type(level) is not int:
                    raise TypeError
                package = _package(globals)
                asked = _resolved(name, package, level)
                globals = {"__package__": package}
                if asked is None:
                    return None, name, name, globals, ()  # which python refuses
            if fromlist:
                fromlist = _texts(fromlist)
                return self._statement(asked, fromlist, False), asked, name, globals, fromlist
            inner = type(fromlist) is list and globals is not None and globals is locals
            return self._statement(asked, (), inner), asked, name, globals, ()
        except BaseException:
            return self.undecided("an import"), "", "", None, ()

    def _plain(self, name, fromlist):
        """Whether nothing of what is taken from an allowed module has an entry of its own:
        what covers the module covers the rest."""
        named, seen = self.rules.named, self._seen
        for part in fromlist:
            if type(part) is not str:
                return False
            child = name + "." + part
            if child in named:
                return False
            seen[child] = True
        return True

    def _statement(self, name, fromlist, inner):
        """The refusal of an import of name and of what is taken from it."""
        rules = self.rules
        if inner and rules.inner(name):  # C code asks, on the program's frame
            return None
        refusal = rules.program(name)
        if refusal is not None:
            if self._own(name, refusal):
                return None
            if not fromlist or "*" in fromlist or refusal.code == DENIED:
                return self.refuse(refusal)
            for part in fromlist:  # a package on the way to what is allowed
                if rules.program(name + "." + part) is not None:
                    return self.refuse(refusal)
        self._seen[name] = True
        for part in fromlist:
            child = name + "." + part
            if child in rules.named:
                refusal = rules.program(child)
                if refusal is not None:
                    return self.refuse(refusal)
            self._seen[child] = True
        return None

    def load(self, name):
        """Why what is not loaded may not be: an exception, or None."""
        try:
            self._look()
            name = str.__str__(name)
            judged, frame, file = self.asker(_getframe(1).f_back)
            if judged is not None and (judged == name or judged.startswith(name + ".")):
                return None
            return self._why(name, frame, file)
        except BaseException:
            return self.undecided("an import")

    def _why(self, name, frame, file):
        rules = self.rules
        if file.startswith(self.protected):
            refusal = rules.by_library(name)
            if refusal is not None and not self._own(name, refusal):
                # A library that does without what is not installed is no refusal of the program.
                refusal.told = refusal.code == DENIED and name not in self._quiet
                if len(self._quiet) < _MOST:
                    self._quiet.add(name)
                return self.refuse(refusal)
            if self._spelled(frame, file, name):
                return None
        if rules.inner(name):
            return None
        refusal = rules.program(name)
        if refusal is None:
            self._seen[name] = True
            return None
        return None if self._own(name, refusal) else self.refuse(refusal)

    def _own(self, name, refusal):
        """Whether name is a module that the program itself wrote, or made, and that nothing
        denies: its code is judged as the program's is, so that importing it is no more than
        running it. Nothing of the program is called to find out."""
        if refusal.code == DENIED or is_standard(name) or not is_name(name):
            return False
        top = name.partition(".")[0]
        module = sys.modules.get(top)
        if module is not None:
            names = vars(module) if type(module) is type(sys) else {}
            file = names.get("__file__")
            if type(file) is str:
                return absolute(file).startswith(self.rules.write)
            return type(module) is type(sys) and names.get("__spec__") is None
        return self._wrote(name)

    def _wrote(self, name):
        """Whether a folder that the program may write to, and import from, may hold name."""
        for folder in list(sys.path):
            if type(folder) is str and (absolute(folder) + "/").startswith(self.rules.write):
                if _there(absolute(folder), name.partition(".")[0]):
                    return True
        return False

    def loaded(self, file, frame):
        """The refusal of module code from a file of a library: it may have been found under another
        name, or by a loader that was called directly."""
        name = self.module_name(file)
        judged, frame, file = self.asker(frame)
        if judged == name:  # itself, or on the way to what is allowed; but not in place of the program's own
            refusal = None if file.startswith(self.protected) else self.rules.program(name)
            return self.rules.anybody(name) if refusal is None or not self._wrote(name) else refusal
        # A library that runs code whose name it was handed, as runpy does, runs it for the program.
        if file.startswith(self.protected) and (judged is not None or self._spelled(frame, file, name)):
            return self.rules.anybody(name) if judged is None else self.rules.by_library(name)
        refusal = self.rules.program(name)
        if refusal is None or self.rules.inner(name):
            return None
        if judged is not None and judged.startswith(name + ".") and self.rules.program(judged) is None:
            return None  # a package on the way to what is allowed
        return refusal

    def builtin(self, spec):
        """Why a module of the interpreter itself may not be made: an exception, or None."""
        try:
            name = str.__str__(vars(spec)["name"])
            if name == "_imp":  # another one would have the functions that ours stand in front of
                return self.refuse(self._events.introspection(name))
            judged, frame, file = self.asker(_getframe(1).f_back)
            if judged == name:
                return None
            return self._why(name, frame, file)
        except BaseException:
            return self.undecided("an import")

    def renamed(self, code, path):
        """Why code may not say that it is of path: an exception, or None."""
        try:
            refusal = self._events.renamed(code, path)
            return None if refusal is None else self.refuse(refusal)
        except BaseException:
            return self.undecided("a name of code")

    def adopt(self, module):
        """A module that is not a library's runs on the program's builtins."""
        names = vars(module)
        file = names.get("__file__")
        if type(file) is str and not lies(file, self.libraries):
            names["__builtins__"] = self.builtins

    # Between runs, and in the middle of one.

    def _install(self):
        """Puts the hooks in place."""
        find_and_load, create_builtin = _bootstrap._find_and_load, _imp.create_builtin
        init_module_attrs = _bootstrap._init_module_attrs
        statement = _sealed(_import, judge=self.judge, **{"import": builtins.__import__})
        load = _sealed(_find_and_load, load=self.load, find_and_load=find_and_load, profiler=profiler.put)
        made = _sealed(_create_builtin, builtin=self.builtin, create_builtin=create_builtin)
        fix = _sealed(_fix_co_filename, renamed=self.renamed, fix_co_filename=_imp._fix_co_filename)
        attrs = _sealed(_init_module_attrs, init_module_attrs=init_module_attrs, adopt=self.adopt)
        hook = _sealed(_hook, events=frozenset(self._events.table), fspath=_path, decide=self._events.decide)
        self._judging = statement.__code__, load.__code__
        self.statement = opaque(statement)
        self.statement.__name__ = "__import__"
        self.builtins["__import__"] = self.statement
        self._deny_builtins({})
        sys.modules["builtins"] = self.module  # what patches it patches the program's
        _bootstrap._find_and_load = opaque(load)
        _bootstrap._init_module_attrs = opaque(attrs)
        _imp.create_builtin = opaque(made)
        _imp._fix_co_filename = opaque(fix)
        sys.addaudithook(opaque(hook))

    def _probe(self):
        """Refuses to go on when a hook does not bite."""
        bites, program = 0, type(_asks)(_asks.__code__, {"__builtins__": self.builtins})
        for attempt, name in ((self.statement, "-"), (_bootstrap._gcd_import, "-"), (sys.audit, "ringd.probe")):
            try:
                program(attempt, name)
            except (ModuleNotFoundError, PermissionError) as e:
                bites += self.refused(e)
        self._texts.clear()
        self._denials.clear()
        if bites != 3:
            raise RuntimeError("the import guard is not in force")

    def _deny_builtins(self, before):
        """Has the program's builtins follow the rules."""
        own = vars(builtins)
        for name in before.keys() - self.rules.builtins.keys():
            if name == "__import__":
                self.builtins[name] = self.statement
            elif name in own:
                self.builtins[name] = own[name]
        for name, entry in self.rules.builtins.items():
            if name in self.builtins:
                refusal = Refusal("builtin", name, DENIED, "builtin %s is %s" % (name, entry.get("why") or "denied by policy"),
                    entry.get("rule") or "")
                self.builtins[name] = opaque(_sealed(_denied_builtin, denied=_later(self.refuse, refusal)))

    def update(self, profile):
        """Decides by another profile from now on: a start.Report."""
        before, self.rules = self.rules.builtins, Rules(profile)
        self._deny_builtins(before)
        names = {n for n in list(sys.modules) if type(n) is str and len(n) <= 255 and self.rules.anybody(n) is not None}
        names.update(n for n in (*self._seen, *self._ever) if n in sys.modules)
        loaded = [n for n in names if self.rules.program(n) is not None]
        return {"loaded": sorted(loaded)[:256], "ends": bool(loaded) and self.rules.end_on_denied}


def _sealed(fn, **consts):
    """fn as frames may show it, on the real builtins: modules that C code makes look there."""
    consts = {k: opaque(v) if callable(v) else v for k, v in consts.items()}
    fn = seal(fn, **consts)
    named = type(fn)(fn.__code__.replace(co_filename=_OURS), {"__builtins__": vars(builtins)}, fn.__name__, fn.__defaults__)
    named.__kwdefaults__ = fn.__kwdefaults__
    return named


def _there(folder, top):
    """Whether a folder, or an archive, may hold a module."""
    for path in (folder + "/" + top + ".py", folder + "/" + top, folder):
        try:
            mode = posix.stat(path).st_mode
        except OSError:
            continue
        if path != folder or mode & 0o170000 == 0o100000:
            return True
    return False


def _asks(attempt, name):
    attempt(name)


def _later(fn, *args):
    return lambda: fn(*args)


def _path(value):
    """A path as sqlite3 takes it."""
    return posix.fspath(value) if hasattr(type(value), "__fspath__") else value


def _texts(fromlist):
    """The names of a from list, as they were when they are judged."""
    if type(fromlist) is not tuple and type(fromlist) is not list:
        raise TypeError
    return tuple([str.__str__(f) for f in tuple(fromlist)])


def _package(globals):
    """The package that a relative import counts from, as import finds it."""
    package = dict.get(globals, "__package__")
    if package is None:
        spec = dict.get(globals, "__spec__")
        if spec is not None:
            package = vars(spec)["name"]
            if vars(spec).get("submodule_search_locations") is None:
                package = str.rpartition(package, ".")[0]
        else:
            package = dict.get(globals, "__name__")
            if "__path__" not in dict.keys(globals):
                package = str.rpartition(package, ".")[0]
    return str.__str__(package)


def _resolved(name, package, level):
    """The absolute name, or None where there is none."""
    bits = package.rsplit(".", level - 1)
    if not package or len(bits) < level:
        return None
    return bits[0] + "." + name if name else bits[0]


def _spells(code, name):
    """Whether code holds name: in an import statement, or as a constant."""
    last = name.rpartition(".")[2]
    for n in code.co_names:
        if n == name or n == last or n.startswith((name + ".", last + ".")) or n.endswith("." + last):
            return True
    for const in code.co_consts:
        for c in const if type(const) is tuple else (const,):
            if type(c) is str and (c == name or c.startswith(name + ".")):
                return True
    return False
