"""The module ringd: what a program reaches its host by.

A thread that waits for an answer reads the connection itself; when several wait, one
of them reads for all. An event loop has its descriptor watch it.
"""
import sys
import _thread

import frames
import seal
import values

MAX_OPEN = 1024
MAX_OPEN_BYTES = 64 << 20
MAX_RUN_BYTES = 512 << 20

Error = type("Error", (Exception,), {
    "__module__": "ringd", "name": "Error",
    "__doc__": "A call that failed. name says how; the subclasses are those of the known names."})

NAMES = ("CapabilityDenied", "CapabilityRevoked", "ApprovalDenied", "BudgetExceeded", "ArgumentError",
         "ResultTooLarge", "BridgeError")

_classes = {name: type(name, (Error,), {"__module__": "ringd", "name": name}) for name in NAMES}


def error(name, message):
    """The exception of a failure of that name."""
    e = _classes.get(name, Error)(message)
    if name not in _classes:
        e.name = name
    return e


values.error_class = lambda name: _classes.get(name, Error)


class Slot:
    """A call without an answer. reply is its bytes, or an exception."""

    __slots__ = ("reply", "wake", "future", "loop", "size")

    def __init__(self):
        self.reply = self.wake = self.future = self.loop = None
        self.size = 0


class Calls:
    """The open calls of a run."""

    def __init__(self, flush):
        self.conn = None
        self.flush = flush  # of standard output: what was printed is seen before the call
        self.lock = _thread.RLock()
        self.leader = 0  # the thread that reads; nobody else does
        self.loops = {}  # event loops that watch it, with the number of their open calls
        self.open = {}
        self.followers = []
        self.untold = []  # refusals on their way to the host
        self.begin_run((), 0)
        self.running = False

    def begin_run(self, bridges, denials):
        self.bridges = frozenset(bridges)
        self.untold.clear()
        self.denials = denials  # how many refusals may be told before the end
        self.asked = self.seen = self.waiting = self.open_bytes = self.said = 0
        self.running = True

    # Beginning.

    def begin(self, name, args, kwargs, slot, idle):
        """Send a call. What is wrong with it is raised as the program sees it."""
        if type(name) is not str:
            if not isinstance(name, str):
                raise error("ArgumentError", "the name of a bridge is a str")
            name = str.__str__(name)
        bridge = name.encode("utf-8", "surrogatepass")
        if not bridge or len(bridge) > frames.MAX_NAME:
            raise error("ArgumentError", "the name of a bridge has 1 to %d bytes" % frames.MAX_NAME)
        try:
            args = [*args, kwargs] if kwargs else list(args)
            text = values.encode(args, frames.MAX_FRAME - 1024)
        except values.Refused as e:
            raise error("ArgumentError", "%s: %s" % (name, e)) from None
        self.flush()
        lock = self.lock
        if lock._is_owned() or self.leader == _thread.get_ident():
            raise error("BridgeError", "a call from within another: from a finalizer or the handler of a signal")
        slot.size = size = len(text)
        body = frames.field(bridge) + frames.field(text)
        with lock:
            self.room(size)
            self.tell_denials()
            n = self.asked + 1
            data = frames.frame(frames.ASK, frames.uvarint(n) + body)
            if idle and self.waiting >= _thread._count():
                data += frames.frame(frames.IDLE, frames.uvarint(self.seen))
            self.open[n] = slot
            self.asked = n
            self.open_bytes += size
            self.said += len(data)
            self.conn.write(data)

    def denied(self, decision):
        """Tell the host of a refusal before the program goes on: one that is ended then has
        no other word. A thread that is within a call of its own leaves it to that call; and
        one that waits in vain, for whoever may want what it holds, to the next."""
        self.untold.append(decision)
        lock = self.lock
        if not lock._is_owned() and lock.acquire(True, 1):
            try:
                self.tell_denials()
            finally:
                lock.release()

    def tell_denials(self):
        """The caller holds the lock. After the last call of a run nothing is told."""
        while self.untold and self.denials > 0 and self.running and not self.conn.gone:
            data = frames.frame(frames.DENIED, frames.field(values.dumps(self.untold[0])))
            self.denials -= 1
            self.conn.write(data)
            del self.untold[0]

    def room(self, size):
        if not self.running:
            raise error("BridgeError", "no program runs: its thread has outlived it")
        if len(self.open) >= MAX_OPEN:
            raise error("BridgeError", "more than %d calls at once" % MAX_OPEN)
        if self.open_bytes + size > MAX_OPEN_BYTES:
            raise error("BridgeError", "the calls without an answer have more than %d bytes" % MAX_OPEN_BYTES)
        if self.said + size > MAX_RUN_BYTES // 2:
            raise error("BridgeError", "the calls of this run have more than %d bytes" % (MAX_RUN_BYTES // 2))

    def taken(self, call, value, name, message):
        """An answer of the host, from whoever reads."""
        with self.lock:
            slot = self.open.pop(call, None)
            if slot is None:
                raise frames.Broken("an answer to call %d, which is not open" % call)
            self.seen += 1
            self.open_bytes -= slot.size
            slot.reply = error(name, message) if name else value
            if slot.wake is not None:
                slot.wake.release()
                slot.wake = None
        if slot.future is not None:
            self.tell(slot)

    # A thread that waits.

    def call(self, name, args, kwargs):
        """(True, the value) or (False, the exception)."""
        slot = Slot()
        try:
            self.begin(name, args, kwargs, slot, True)
            self.wait(slot)
            return settled(slot)
        except Error as e:
            return False, e.with_traceback(None)
        except OSError as e:
            return False, error("BridgeError", str(e))

    def wait(self, slot):
        """Wait for the answer to slot, and read for others meanwhile."""
        lock, me = self.lock, _thread.get_ident()
        with lock:
            self.waiting += 1
        try:
            while slot.reply is None:
                with lock:
                    if self.leader == 0:
                        self.leader = me
                    elif slot.reply is None:
                        wake = slot.wake = _thread.allocate_lock()
                        wake.acquire()
                        self.followers.append(slot)
                    lead = self.leader == me
                if lead:
                    self.lead(slot)
                elif slot.reply is None:
                    self.follow(slot, wake)
        finally:
            with lock:
                self.waiting -= 1
                if slot in self.followers:
                    self.followers.remove(slot)
                if self.leader == 0:
                    self.promote()

    def lead(self, slot):
        """Read until the answer to slot is there. This thread is the leader."""
        conn = self.conn
        try:
            while slot.reply is None:
                conn.wait()
                conn.drain()
        finally:
            self.leave()

    def follow(self, slot, wake):
        try:
            wake.acquire()
        finally:
            with self.lock:
                slot.wake = None
                if slot in self.followers:
                    self.followers.remove(slot)

    def leave(self):
        with self.lock:
            self.leader = 0
            self.promote()

    def promote(self):
        """Nobody leads: wake one who will."""
        for other in self.followers:
            if other.wake is not None:
                other.wake.release()
                other.wake = None
                return

    def try_drain(self):
        """Take what has come, unless another thread leads: it does."""
        with self.lock:
            if self.leader != 0:
                return False
            self.leader = _thread.get_ident()
        try:
            self.conn.drain()
        finally:
            self.leave()
        return True

    def look(self):
        """Take what has come before something is decided, and do not wait for more."""
        conn = self.conn
        if conn.gone:
            return
        me = _thread.get_ident()
        while conn.has_some():
            if self.leader == me or self.lock._is_owned() or conn.rx._is_owned():
                return  # from within: a finalizer, or the handler of a signal
            if not self.try_drain():
                conn.pause()
        if not conn.rx._is_owned():
            with conn.rx:  # whoever has read it has taken it
                pass

    def serve(self, until):
        """Read until that is true. Only the guest itself calls it, when no program runs
        or its last answers are to come."""
        conn = self.conn
        while not until():
            with self.lock:
                lead = self.leader == 0
                if lead:
                    self.leader = _thread.get_ident()
            if not lead:  # a thread of the program reads, and takes for all
                conn.pause()
                continue
            try:
                conn.wait()
                conn.drain()
            finally:
                self.leave()

    # An event loop.

    def begin_async(self, name, args, kwargs):
        """(a future of the running loop, None), or (None, the exception)."""
        slot = Slot()
        try:
            loop = sys.modules["asyncio"].get_running_loop()
            slot.loop = loop
            slot.future = loop.create_future()
            self.begin(name, args, kwargs, slot, False)
            self.watch(loop)
            return slot.future, None
        except KeyError:
            return None, RuntimeError("no running event loop")
        except Exception as e:
            return None, e.with_traceback(None)

    def watch(self, loop):
        with self.lock:
            n = self.loops.get(loop, 0)
            self.loops[loop] = n + 1
        if n == 0:
            loop.add_reader(self.conn.fd, seal.opaque(self.readable))

    def readable(self):
        """The loop saw something on the connection."""
        if self.leader != _thread.get_ident():
            self.try_drain()

    def tell(self, slot):
        """Settle the future of a call, in its own loop."""
        try:
            slot.loop.call_soon_threadsafe(seal.opaque(self.settle), slot)
        except RuntimeError:  # the loop is closed
            with self.lock:
                self.loops.pop(slot.loop, None)

    def settle(self, slot):
        with self.lock:
            n = self.loops.get(slot.loop, 0) - 1
            if n > 0:
                self.loops[slot.loop] = n
            else:
                self.loops.pop(slot.loop, None)
        if n <= 0:
            slot.loop.remove_reader(self.conn.fd)
        if slot.future.done():
            return  # cancelled
        ok, v = settled(slot)
        if ok:
            slot.future.set_result(v)
        else:
            slot.future.set_exception(v)

    def full_name(self, path):
        """The bridge that ringd.tools means by path: of that name, or listed as tools.path."""
        if path not in self.bridges and "tools." + path in self.bridges:
            return "tools." + path
        return path

    def listed(self, path):
        """What stands below path in ringd.tools."""
        path = path + "." if path else ""
        out = set()
        for b in self.bridges:
            b = b.removeprefix("tools.")
            if b.startswith(path):
                out.add(b[len(path):].partition(".")[0])
        return sorted(out)


def settled(slot):
    reply = slot.reply
    if isinstance(reply, Error):
        return False, reply
    if not reply:
        return True, None
    try:
        return True, values.decode(reply)
    except ValueError as e:
        return False, error("BridgeError", "the answer is not a value: %s" % e)


def module(calls):
    """The module ringd, and the function that sets its inputs."""
    ringd = type(sys)("ringd")
    ringd.__doc__ = "What this program may ask of its host."
    ringd.Error = Error
    for name, cls in _classes.items():
        setattr(ringd, name, cls)
    consts = {"call": seal.opaque(calls.call), "begin": seal.opaque(calls.begin_async), "full": seal.opaque(calls.full_name)}

    def call(name, /, *args, **kwargs):
        """Call a bridge and wait for its answer."""
        do = "@call"
        ok, v = do(name, args, kwargs)
        if ok:
            return v
        raise v

    async def aio_call(name, /, *args, **kwargs):
        """Call a bridge from an event loop."""
        begin = "@begin"
        future, no = begin(name, args, kwargs)
        if no is not None:
            raise no
        return await future

    aio_call.__name__ = aio_call.__qualname__ = "call"
    ringd.call = seal.seal(call, **consts)
    ringd.tools = tools(calls, ringd.call, consts)
    ringd.aio = type(sys)("ringd.aio")
    ringd.aio.call = seal.seal(aio_call, **consts)
    ringd.aio.tools = tools(calls, ringd.aio.call, consts)
    ringd.inputs = {}
    return ringd


def tools(calls, call, consts):
    """An object whose attributes are bridges, through any number of dots."""
    def __getattr__(self, key):
        path = "@path"
        at = path(self)
        make = "@make"
        if key[:2] == "__":
            no = "@AttributeError"
            raise no(key)
        return make(at + "." + key if at else key)

    def __call__(self, /, *args, **kwargs):
        path = "@path"; full = "@full"; do = "@do"
        return do(full(path(self)), *args, **kwargs)

    def __dir__(self):
        path = "@path"; listed = "@listed"
        return listed(path(self))

    def __repr__(self):
        path = "@path"
        at = path(self)
        return "<ringd.tools." + at + ">" if at else "<ringd.tools>"

    paths = {}
    cls = type("tools", (), {"__slots__": ("__weakref__", "_path"), "__module__": "ringd"})
    get, put = cls._path.__get__, cls._path.__set__
    del cls._path

    def make(path):
        made = cls()
        put(made, path)
        return made

    more = dict(consts, do=call, path=seal.opaque(get), make=seal.opaque(make), listed=seal.opaque(calls.listed),
                AttributeError=AttributeError)
    for fn in (__getattr__, __call__, __dir__, __repr__):
        setattr(cls, fn.__name__, seal.seal(fn, **more))
    return make("")
