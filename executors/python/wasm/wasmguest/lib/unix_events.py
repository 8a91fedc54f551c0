"""The event loop of an interpreter that has no sockets, signals and threads.

It stands in for asyncio.unix_events, which needs a pair of sockets to begin. Tasks,
timers, queues and locks are those of asyncio; nothing comes from outside but time.
"""
import time

from . import base_events
from . import events

__all__ = ("SelectorEventLoop", "DefaultEventLoopPolicy")


class _Time:
    """A selector of nothing."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("every task waits for another, and nothing else can wake one: "
                               "the WebAssembly Python has no sockets, threads and processes")
        if timeout > 0:
            time.sleep(timeout)
        return ()

    def close(self):
        pass


class SelectorEventLoop(base_events.BaseEventLoop):

    def __init__(self, selector=None):
        super().__init__()
        self._selector = _Time()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass


class _Policy(events.BaseDefaultEventLoopPolicy):
    _loop_factory = SelectorEventLoop


DefaultEventLoopPolicy = _Policy
