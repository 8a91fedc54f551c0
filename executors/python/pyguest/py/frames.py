"""The frames of executors/message.go, both ways, and the connection they go over.

What the host sends is taken as it has to be or not at all: Broken ends the process.
"""
import posix
import select
import _thread

VERSION = 2
MAX_FRAME = 16 << 20
MAX_NAME = 256

HELLO, START, ANSWER, UPDATE = 1, 2, 3, 7
READY, ASK, IDLE, RESULT, UPDATED, DENIED = 129, 130, 132, 133, 137, 138

# How the process ends, beside the codes of its programs.
EXIT_GONE, EXIT_BROKEN = 0, 76

_CHUNK = 1 << 16


class Broken(Exception):
    """The host does not keep the protocol."""


_small = tuple(bytes((n,)) for n in range(128))


def uvarint(n):
    """n as a shortest uvarint."""
    if n < 128:
        return _small[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(b):
    """b with its length."""
    return uvarint(len(b)) + b


def frame(kind, body):
    """The bytes of a frame."""
    return len(body).to_bytes(4, "big") + _bytes((kind,)) + body


_bytes = bytes


def number(body, at):
    """The uvarint at that place, and the place behind it."""
    n = shift = 0
    while shift < 70 and at < len(body):
        b = body[at]
        at += 1
        n |= (b & 127) << shift
        if b < 128:
            if b == 0 and shift or n >> 64:
                raise Broken("a number that is not in its shortest form")
            return n, at
        shift += 7
    raise Broken("a number without an end")


def piece(body, at):
    """The bytes at that place, which stand behind their length, and the place behind."""
    n, at = number(body, at)
    end = at + n
    if end > len(body):
        raise Broken("a field that is longer than its frame")
    return body[at:end], end


def two_pieces(body):
    first, at = piece(body, 0)
    second, at = piece(body, at)
    return _whole(body, at, (first, second))


def numbered_piece(body):
    n, at = number(body, 0)
    b, at = piece(body, at)
    return _whole(body, at, (n, b))


def reply(body):
    call, at = number(body, 0)
    value, at = piece(body, at)
    name, at = piece(body, at)
    message, at = piece(body, at)
    if len(name) > MAX_NAME:
        raise Broken("a name of %d bytes" % len(name))
    return _whole(body, at, (call, value, name.decode("utf-8", "replace"), message.decode("utf-8", "replace")))


def _whole(body, at, fields):
    if at != len(body):
        raise Broken("%d bytes behind the last field" % (len(body) - at))
    return fields


_DECODE = {HELLO: numbered_piece, START: two_pieces, ANSWER: reply, UPDATE: numbered_piece}


def decode(kind, body):
    """The fields of a frame. The host sends this guest no other kind: it is not paused
    and not restored."""
    read = _DECODE.get(kind)
    if read is None:
        raise Broken("a frame of kind %d" % kind)
    return read(body)


def die(code, text=""):
    """End the process at once."""
    if text:
        try:
            posix.write(2, b"ringd: the guest ends: " + text.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass
    posix._exit(code)


_IN = select.POLLIN


def _poll(fd, events, poll=select.poll):
    """What polls for those events. One thread at a time may call it."""
    p = poll()
    p.register(fd, events)
    return p.poll


class Connection:
    """The connection to the host. Whoever waits for something reads it: there is no
    thread for that. take is called for each frame, in order, by whoever has read it."""

    def __init__(self, fd, out, take):
        for each in (fd, out):
            posix.set_blocking(each, False)
            posix.set_inheritable(each, False)
        self.fd = fd
        self.out = out
        self._take = take
        self._own = self._identity()
        self._ready = _poll(fd, select.POLLIN)
        self.rx = _thread.RLock()  # held while frames are read and taken
        self._nap = _thread.allocate_lock()
        self._nap.acquire()
        self._rest = None  # of a frame that has not come whole
        self.gone = False  # this process is a forked child, and the connection is not its
        posix.register_at_fork(after_in_child=self._child)

    def _identity(self):
        s, t = posix.fstat(self.fd), posix.fstat(self.out)
        return s.st_dev, s.st_ino, t.st_dev, t.st_ino

    def _child(self):
        self.gone = True
        for each in (self.fd, self.out):
            try:
                posix.close(each)
            except OSError:
                pass

    def check(self):
        """End the process when the descriptor is not the connection any more: what a
        program puts in its place would be taken for the host's word."""
        if self.gone:
            raise OSError(9, "the connection belongs to another process")
        try:
            same = self._identity() == self._own
        except OSError:
            same = False
        if not same:
            die(EXIT_BROKEN, "the connection is gone")

    def wait(self):
        """Wait until there is something to read: one thread at a time. A signal handler
        of the program may raise out of it; nothing is lost then."""
        self._ready(None)

    def has_some(self):
        """Whether there is something to read."""
        return bool(_poll(self.fd, _IN)(0)) or self._rest is not None

    def pause(self):
        """Let the thread that reads go on."""
        self._nap.acquire(True, 0.0005)

    def drain(self):
        """Take what has come. Nothing may have."""
        self.check()
        with self.rx:
            try:
                while self._read():
                    pass
            except Broken as e:
                die(EXIT_BROKEN, "the host sent " + str(e))

    def _read(self):
        """Read once; True when there may be more."""
        rest = self._rest
        want = _CHUNK if rest is None else max(_CHUNK, min(self._missing(rest), 1 << 20))
        try:
            data = posix.read(self.fd, want)
        except BlockingIOError:
            return False
        except OSError:
            die(EXIT_GONE)
        if not data:
            die(EXIT_GONE)
        more = len(data) == want
        if rest is not None:
            rest += data
            data = rest
        at = self._frames(data)
        if at == len(data):
            self._rest = None
        elif rest is not None:
            del rest[:at]
        else:
            self._rest = bytearray(data[at:])
        return more

    def _missing(self, rest):
        return 5 if len(rest) < 5 else 5 + int.from_bytes(rest[:4], "big") - len(rest)

    def _frames(self, data):
        """Take the whole frames of data and return where they end."""
        at, size = 0, len(data)
        while size - at >= 5:
            n = int.from_bytes(data[at:at + 4], "big")
            if n > MAX_FRAME:
                raise Broken("a frame of %d bytes" % n)
            end = at + 5 + n
            if end > size:
                break
            kind = data[at + 4]
            self._take(kind, decode(kind, bytes(data[at + 5:end])))
            at = end
        return at

    def write(self, data):
        """Write whole frames. The caller holds what keeps them in order."""
        self.check()
        done = 0
        try:
            done = posix.write(self.out, data)
        except BlockingIOError:
            pass
        except OSError:
            die(EXIT_GONE)
        if done < len(data):
            self._write_rest(memoryview(data)[done:])

    def _write_rest(self, data):
        try:
            while data:
                _poll(self.out, select.POLLOUT)(None)
                try:
                    data = data[posix.write(self.out, data):]
                except BlockingIOError:
                    pass
        except BaseException:  # a signal handler of the program, too: half a frame is out
            die(EXIT_BROKEN, "a frame was cut off")
