"""What the calls of a program are where there is one thread, and nothing that could wake
an event loop: a call from a loop is made at once.
"""
import posix
import sys
import time
import _thread

import __main__

import bridge
import frames
import seal


def begin_async(self, name, args, kwargs):
    """(a future of the running loop that is settled, None), or (None, the exception)."""
    try:
        future = sys.modules["asyncio"].get_running_loop().create_future()
    except KeyError:
        return None, RuntimeError("no running event loop")
    except Exception as e:
        return None, e.with_traceback(None)
    ok, v = self.call(name, args, kwargs)
    if not ok:
        return None, v
    future.set_result(v)
    return future, None


class _Thread:
    """The one thread. Its own number is 0 here, which is nobody's there."""

    RLock, allocate_lock = _thread.RLock, _thread.allocate_lock

    @staticmethod
    def get_ident():
        return 1

    @staticmethod
    def _count():
        return 0


bridge.Calls.begin_async = begin_async
bridge._thread = _Thread


def sleep(seconds, /):
    """As time.sleep, which cannot sleep here: the process around the interpreter does."""
    check = "@check"; write = "@write"
    write(check(seconds))


def _nanoseconds(seconds):
    n = seconds.__index__() * 10**9 if hasattr(type(seconds), "__index__") else round(float(seconds) * 1e9)
    if n < 0:
        raise ValueError("sleep length must be non-negative")
    if n > 1 << 62:
        raise OverflowError("timestamp too large to convert to C _PyTime_t")
    return n


def _send(n):
    """In one write: it returns when the time is over."""
    posix.write(_FD, frames.frame(0, n.to_bytes(8, "big")))


_FD = __main__.device
time.sleep = seal.opaque(seal.seal(sleep, check=seal.opaque(_nanoseconds), write=seal.opaque(_send)))
