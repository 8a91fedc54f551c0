"""Functions that show nothing of the guest.

A program can walk from a function to its globals, from an exception to the frames it
passed, from a frame to the one below. Whatever it is handed is made here, and leads
nowhere. This is no boundary: the kernel ring is.
"""
from _functools import _lru_cache_wrapper


def opaque(fn):
    """A C callable around fn, without __globals__, __closure__ or __wrapped__."""
    return _lru_cache_wrapper(fn, 0, False, None)


def seal(fn, **consts):
    """fn without globals and builtins. What it uses it names as a text "@x", in whose
    place consts["x"] is put; so its frames hold nothing that can be replaced."""
    code = fn.__code__
    code = code.replace(
        co_filename="<ringd>",
        co_consts=tuple(consts[c[1:]] if type(c) is str and c[:1] == "@" else c for c in code.co_consts))
    sealed = type(fn)(code, {"__builtins__": {}, "__name__": "ringd"}, fn.__name__, fn.__defaults__)
    sealed.__kwdefaults__ = fn.__kwdefaults__
    return sealed
