"""The connection of an interpreter in WebAssembly: a device that the process around it
serves. It has no poll and no non-blocking read, there is one thread, and nothing comes
that was not asked for: policies do not change under a program here.
"""
import __main__
import frames


class Device(frames.Connection):

    def __init__(self, fd, out, take):
        self.fd = self.out = __main__.device
        self._take = take
        self.rx = _Free()
        self._rest = None
        self.gone = False

    def check(self):
        pass

    def wait(self):
        pass

    def has_some(self, most=0):
        return most is None

    def pause(self):
        pass

    def drain(self):
        """Wait for a frame and take it."""
        try:
            self._read()
        except frames.Broken as e:
            frames.die(frames.EXIT_BROKEN, "the host sent " + str(e))


class _Free:
    """A lock where there is one thread."""

    def __enter__(self):
        return self

    def __exit__(self, *no):
        return False

    def _is_owned(self):
        return False


frames.Connection = Device
