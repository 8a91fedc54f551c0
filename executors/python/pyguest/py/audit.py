"""The audit hook: what a program does beside importing, as far as CPython tells.

Each method answers one event: None, or the Refusal. It is handed whatever the program
gave to sys.audit, so it looks only at exact types and calls no method of an argument:
a program's own code would run on top of our frames.
"""
import marshal
import posix
import sys

from policy import NOT_ALLOWED, Refusal

_FILE, _EXEC, _NETWORK, _GUARD = "file.not_granted", "exec.not_granted", "egress.off", "guest.refused"
_UNLISTED = "egress.not_granted"

_REACHES = frozenset(("socket.connect", "socket.sendto", "socket.sendmsg"))
_NAMES = 53  # the port of name servers, which the egress ring answers for at any address

_CREATES, _ACCESS = posix.O_CREAT | posix.O_TRUNC, posix.O_WRONLY | posix.O_RDWR
_READS = (0, posix.O_RDONLY)  # in WASI reading is a bit as well, and O_RDWR is both

_getframe, _TAG = sys._getframe, sys.implementation.cache_tag
_CODE = type((lambda: None).__code__)


def plain(value):
    """The exact str of a text or path, or None. A subclass is taken for what it holds."""
    cls = type(value)
    if cls is str:
        return value
    if issubclass(cls, str):
        return str.__str__(value)
    if issubclass(cls, bytes):
        return bytes.__getitem__(value, slice(None)).decode("utf-8", "surrogateescape")
    return None


def described(value):
    """value for a sentence, without a call of its own code."""
    if (type(value) is list or type(value) is tuple) and len(value):
        value = value[0]  # of a command
    text = plain(value)
    if text is None:
        text = int.__repr__(value) if type(value) is int else "a value of type " + type.__dict__["__name__"].__get__(type(value))
    return text if len(text) <= 200 else text[:200] + "..."


def absolute(path):
    """path without "." and "..", by its text alone: links are the kernel ring's."""
    if path[:1] != "/":
        path = posix.getcwd() + "/" + path
    if "/." not in path and "//" not in path:
        return path
    parts = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def packed(host):
    """An address as start.Span writes it, or None for what is none."""
    try:
        if ":" not in host:
            return _packed4(host)
        head, gap, tail = host.partition("%")[0].partition("::")
        left, right = head.split(":") if head else [], tail.split(":") if tail else []
        last = right or left
        if last and "." in last[-1]:
            four = _packed4(last.pop())
            last += [four[:4], four[4:]]
        zeros = 8 - len(left) - len(right)
        if zeros < 0 or (zeros > 0) != bool(gap):
            return None
        text = "".join(["%04x" % int(p, 16) for p in left + ["0"] * zeros + right])
        return text[24:] if text.startswith("0" * 20 + "ffff") else text  # an address of IPv4 in IPv6
    except (ValueError, TypeError, IndexError):
        return None


def _packed4(host):
    parts = host.split(".")
    if len(parts) != 4 or not all(p.isdecimal() and p.isascii() and int(p) < 256 for p in parts):
        return None
    return "".join(["%02x" % int(p) for p in parts])


def lies(file, folders):
    """Whether a file is in one of folders whatever links there are elsewhere: it begins
    with the folder, and does not lead up out of it."""
    for folder in folders:
        if file.startswith(folder):
            depth = 0
            for part in file[len(folder):].split("/"):
                depth += -1 if part == ".." else part not in ("", ".")
                if depth < 0:
                    return False
            return True
    return False


class Events:
    """What each audit event is answered with. guard is the Guard whose rules are in force."""

    # Devices that a program may use as in any other process.
    _READABLE = frozenset(("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero"))

    def __init__(self, guard, libraries):
        self.guard = guard
        self.libraries = libraries  # folders of modules, each with "/" at its end
        self.table = self._table()

    def _table(self):
        table = {
            "open": self.open, "sqlite3.connect": self.database, "os.link": self.link, "os.symlink": self.link,
            "os.rename": self.rename, "os.kill": self.kill, "os.killpg": self.kill,
            "socket.__new__": self.socket, "exec": self.run, "compile": self.compile, "import": self.extension,
            "marshal.loads": self.unmarshal, "marshal.load": self.introspect, "code.__new__": self.code,
            "object.__setattr__": self.set_attribute,
            "ctypes.dlopen": self.dlopen, "sys.settrace": self.trace, "sys.setprofile": self.trace,
            "sys.monitoring.register_callback": self.trace, "ringd.probe": self.never,
        }
        for method, prefix, names in (
            (self.look, "os.", "listdir scandir chdir listxattr getxattr"),
            (self.change, "os.", "remove rmdir mkdir truncate chmod chown lchmod chflags utime setxattr removexattr"),
            (self.start, "", "subprocess.Popen os.system os.exec os.posix_spawn os.spawn os.fork os.forkpty pty.spawn "
                "os.startfile webbrowser.open _posixsubprocess.fork_exec"),
            (self.network, "socket.", "connect bind sendto sendmsg"),
            (self.network, "socket.", "getaddrinfo gethostbyname gethostbyaddr getnameinfo sethostname"),
            (self.introspect, "", "gc.get_objects gc.get_referrers gc.get_referents "
                "sys._current_frames sys._current_exceptions"),
            (self.native, "ctypes.", "dlsym dlsym/handle call_function cdata cdata/buffer string_at wstring_at memmove "
                "memset PyObj_FromPtr"),
            (self.never, "", "cpython.PyInterpreterState_New sys.addaudithook "
                "sys.remote_exec sqlite3.enable_load_extension sqlite3.load_extension resource.setrlimit resource.prlimit "
                "syslog.syslog syslog.openlog"),
        ):
            for name in names.split():
                table[prefix + name] = method
        return table

    def decide(self, event, args):
        """The exception that refuses an event, or None."""
        try:
            refusal = self.table[event](event, args)
            return None if refusal is None else self.guard.refuse(refusal)
        except BaseException:
            return self.guard.undecided(event)

    # Files.

    def open(self, event, args):
        path, mode, flags = args
        if type(path) is int:
            return None
        if type(flags) is not int or flags & _CREATES or flags & _ACCESS not in _READS or type(mode) is str and (
                "w" in mode or "a" in mode or "x" in mode or "+" in mode):
            return self._write(path)
        return self._read(path)

    def look(self, event, args):
        path = args[0] if args and args[0] is not None else "."
        return None if type(path) is int else self._read(path)

    def change(self, event, args):
        path = args[0]
        # Behind a descriptor of a folder a relative name is not of the working directory.
        if type(path) is int or event != "os.truncate" and type(args[-1]) is int and args[-1] >= 0 and self._relative(path) and (
                event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.utime")):
            return None
        return self._write(path)

    def rename(self, event, args):
        source, target, source_dir, target_dir = args
        refusal = None if source_dir != -1 and self._relative(source) else self._write(source)
        return refusal or (None if target_dir != -1 and self._relative(target) else self._write(target))

    def link(self, event, args):
        source, target = args[0], args[1]
        if type(args[-1]) is int and args[-1] != -1 and self._relative(target):
            return None
        if event == "os.symlink" and self._relative(source):  # it counts from the folder of the link
            source = absolute(plain(target)).rpartition("/")[0] + "/" + plain(source)
        return self._write(target) or self._read(source)

    def database(self, event, args):
        path = plain(args[0])
        if path in (":memory:", ""):
            return None
        if path is not None and path.startswith("file:"):
            path, _, query = path[5:].partition("?")
            if path in ("", ":memory:") or "mode=memory" in query.split("&") or "%" in path:
                return None  # the kernel ring judges a name that is spelled in another way
            if path.startswith("//"):
                path = "/" + path[2:].partition("/")[2]
        return self._read(path)

    def _relative(self, path):
        text = plain(path)
        return text is not None and text[:1] != "/"

    def _read(self, path):
        text = plain(path)
        if text is None:
            return self._file(described(path), "not a path")
        text = absolute(text)
        folder = text + "/"
        if folder.startswith(self.guard.rules.readable) or folder.startswith(self.libraries) or text in self._READABLE:
            return None
        return self._file(text, "reading is not granted")

    def _write(self, path):
        text = plain(path)
        if text is None:
            return self._file(described(path), "not a path")
        text = absolute(text)
        if text == "/dev/null" or (text + "/").startswith(self.guard.rules.write):
            return None
        return self._file(text, "writing is not granted")

    def _file(self, path, why):
        rules = self.guard.rules
        own = self.libraries + ("/usr/", "/etc/", "/lib", "/dev/", "/proc/")  # what every program has
        granted = ["%s (write)" % (r[:-1] or "/") for r in rules.write if not r.startswith(own)][:4]
        granted += ["%s (read)" % (r[:-1] or "/") for r in rules.read if not r.startswith(own + rules.write)][:4]
        return Refusal("file", path, _FILE, why, instead="granted are " + ", ".join(granted) if granted else "no folder is granted")

    # Processes and network.

    def start(self, event, args):
        what = {"os.fork": "a second process", "os.forkpty": "a second process"}.get(event)
        if what is None:
            what = "start of " + described(args[0]) if args else event
        refusal = Refusal("exec", what, _EXEC, "%s is refused: a program of python is one process" % what,
            instead="use threads or asyncio, and ringd.tools for what is outside")
        frame = _getframe(2).f_back
        while frame is not None and frame.f_code.co_filename.endswith("/subprocess.py"):
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(self.libraries) and frame.f_code.co_filename.endswith(("/platform.py", "/uuid.py", "/ctypes/util.py")):
            refusal.told = False  # they ask what the machine is, and do without
        return refusal

    def kill(self, event, args):
        if event == "os.kill" and type(args[0]) is int and args[0] == posix.getpid():
            return None
        return Refusal("signal", described(args[0]), _GUARD, "a signal to another process is refused",
            instead="a program may signal itself alone")

    def socket(self, event, args):
        family = args[1]
        if self.guard.rules.network:
            return None
        if not issubclass(type(family), int):
            return self._offline("a socket")
        if int.__index__(family) == 1:  # socketpair, which each event loop makes
            return None
        return self._offline("a socket of family %d" % int.__index__(family))

    def network(self, event, args):
        if not self.guard.rules.network:
            return self._offline(event)
        if event not in _REACHES or type(args[-1]) is not tuple or len(args[-1]) < 2:
            return None
        host, port = plain(args[-1][0]), args[-1][1]
        address = None if host is None or port == _NAMES else packed(host)
        if address is None or any(len(a) == len(address) and a <= address <= b for a, b in self.guard.rules.reach):
            return None  # a name, or granted: the egress ring decides
        return Refusal("network", host, _UNLISTED, "a connection to %s is refused: the policy does not list this address" % host,
            instead="hosts are reached by the names that the policy lists")

    def _offline(self, what):
        return Refusal("network", what, _NETWORK, "%s is refused: the policy grants no network" % what,
            instead="what is outside is reached by ringd.tools")

    # Code.

    def run(self, event, args):
        """Module code is about to run, whoever loaded it."""
        code = args[0]
        if type(code) is not _CODE or code.co_name != "<module>" or not code.co_filename.startswith(self.guard.roots):
            return None
        return self.guard.loaded(code.co_filename, _getframe(2))

    def extension(self, event, args):
        """An extension module is about to be loaded."""
        file = plain(args[1])
        if not lies(file, self.libraries):
            return Refusal("import", described(args[0]), NOT_ALLOWED,
                "import of an extension module outside of the library folders is refused: " + file)
        name = plain(args[0]).rpartition(".")[2]
        if name != file.rpartition("/")[2].partition(".")[0]:
            return Refusal("import", name, NOT_ALLOWED, "import of %s under another name is refused" % file)
        return self.guard.loaded(absolute(file), _getframe(2))

    def compile(self, event, args):
        """Code that says it is a library's must be what stands in the library's file."""
        file = plain(args[1])
        if file is None or not file.startswith(self.guard.protected):
            return None
        source = args[0]
        if type(source) is str:
            source = source.encode("utf-8", "surrogatepass")
        if type(source) is bytes and lies(file, self.libraries) and source == contents(file):
            return None
        refusal = self.introspection("compiling as %s" % described(file))
        # C code that shows a traceback parses the line that failed, and does without.
        refusal.told = type(source) is not bytes or b"\n" in source
        return refusal

    def code(self, event, args):
        """Code is what it says it is: a library's is not the program's to change."""
        file = plain(args[1])
        if file is not None and not file.startswith(self.guard.protected):
            return None
        frame = self.guard.library(_getframe(2))
        if frame is not None and not {"replace", "CodeType"}.isdisjoint(frame.f_code.co_names):
            return None
        return self.introspection("code as of %s" % described(file))

    def renamed(self, code, path):
        """Code becomes a library's when it is what stands in the library's file: one that was
        compiled elsewhere, and moved."""
        if type(code) is not _CODE or type(path) is not str:
            return self.introspection("a name of code")
        if code.co_filename == path or not (path.startswith(self.guard.protected) or code.co_filename.startswith(self.guard.protected)):
            return None
        return None if lies(path, self.libraries) and _stands(code, path) else self.introspection("code as of %s" % described(path))

    def unmarshal(self, event, args):
        """Byte code is loaded by the import machinery alone, and from library folders."""
        frame = _getframe(2)
        frame = frame.f_back  # behind the hook's
        code = frame and frame.f_code
        if code is self.guard.reads_bytecode:
            given = frame.f_locals
            path, data = given["bytecode_path"], given["data"]
            if type(data) is memoryview:
                data = data.obj
            # What was handed over is what will be read: bytes do not change.
            if type(data) is bytes and type(path) is str and lies(path, self.libraries) and _holds(path, args[0]):
                return None
            return self.introspection("byte code that is not of a library's file")
        if code is _stands.__code__:
            return None
        if code is self.guard.calls_loader:  # 3.13: a module within the interpreter
            if frame.f_locals["f"] is self.guard.frozen and len(frame.f_locals["args"]) == 1:
                return None
        return self.introspection("marshal")

    def introspect(self, event, args):
        """What reaches into any object is for libraries that say so in their own code."""
        frame = self.guard.library(_getframe(2))
        if frame is not None and event.rpartition(".")[2] in frame.f_code.co_names:
            return None
        return self.introspection(event)

    def set_attribute(self, event, args):
        """A function of the program gets no code of a library: it would be taken for one."""
        if plain(args[1]) != "__code__" or type(args[2]) is _CODE and not args[2].co_filename.startswith(self.guard.protected):
            return None
        return self.introspection("__code__") if self.guard.library(_getframe(2)) is None else None

    def trace(self, event, args):
        """A trace function sees the guard's frames. doctest puts back the one it found, which is
        none, a guest ends without one, and that of profiler is C code, which shows none."""
        frame = self.guard.library(_getframe(2))
        if frame is not None and (
                frame.f_code.co_filename.endswith("/doctest.py") or frame.f_code.co_filename.startswith(self.guard.OURS)):
            return None
        return self.introspection(event)

    def never(self, event, args):
        return self.introspection(event)

    def dlopen(self, event, args):
        if args[0] is None:  # import of ctypes does
            return None
        return self.native(event, args)

    def native(self, event, args):
        """Native code is a library's to call: its frame is the nearest beside those of ctypes."""
        frame = self.guard.library(_getframe(2))
        while frame is not None and frame.f_code.co_filename.startswith(self.guard.ctypes):
            frame = self.guard.library(frame.f_back)
        return self.introspection(event) if frame is None else None

    def introspection(self, what):
        return Refusal("guard", what, _GUARD, "%s is refused: it steps round what watches the program" % what)


_HEAD = 16  # bytes before the byte code, in a file of importlib's


def _holds(path, data):
    """Whether data is the byte code in a file. Every import asks: one read, and no more."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    try:
        return posix.read(fd, _HEAD + len(data) + 1)[_HEAD:] == data
    finally:
        posix.close(fd)


def _stands(code, path, loads=marshal.loads):
    """Whether code is the byte code that is kept of a source file."""
    head, _, tail = path.rpartition("/")
    data = contents("%s/__pycache__/%s.%s.pyc" % (head, tail.removesuffix(".py"), _TAG))
    return data is not None and loads(data[_HEAD:]) == code


def contents(path):
    """The bytes of a file, or None."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return None
    try:
        pieces = []
        while True:
            piece = posix.read(fd, 1 << 20)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
    finally:
        posix.close(fd)
