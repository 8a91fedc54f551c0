"""cProfile, for programs that ask where their time goes.

A function of the program that is called at each call sees the frames of the guard:
sys.setprofile refuses it, and so would it the timer of a profiler. So a Profile holds
its profiler, of C, where the program does not get at it, and takes no timer.
"""
import builtins

from seal import opaque, seal


def _init(self, timer=None, timeunit=0.0, subcalls=True, builtins=True):
    if timer is not None:
        no = "@PermissionError"
        raise no(13, "a profiler with a timer of its own is refused: it would run inside of the import guard; cProfile.Profile() has one")
    hold = "@hold"
    make = "@make"
    hold(self, make(subcalls=subcalls, builtins=builtins))


def _enable(self, subcalls=True, builtins=True):
    """Start collecting."""
    held = "@held"
    held(self).enable(subcalls, builtins)


def _disable(self):
    """Stop collecting."""
    held = "@held"
    held(self).disable()


def _clear(self):
    """Forget what was collected."""
    held = "@held"
    held(self).clear()


def _getstats(self):
    """What was collected, without what the guard did meanwhile."""
    held = "@held"
    program = "@program"
    return program(held(self).getstats())


def put(module):
    """Put such a Profile in the place of cProfile's, which has just been loaded."""
    known = module.Profile
    if known.__base__ is object:  # it was put before
        return
    names = {k: v for k, v in vars(known).items() if k not in ("__dict__", "__weakref__")}
    cls = type("Profile", (), dict(names, __slots__=("__dict__", "__weakref__", "held")))
    consts = {"held": opaque(cls.held.__get__), "hold": opaque(cls.held.__set__), "make": known.__base__,
              "program": opaque(_program), "PermissionError": PermissionError}
    del cls.held
    for fn in (_init, _enable, _disable, _clear, _getstats):
        name = "__init__" if fn is _init else fn.__name__[1:]
        made = seal(fn, **consts)
        # On the real builtins, where the profiler of 3.13 looks for its import of sys.
        made = opaque(type(fn)(made.__code__, {"__builtins__": vars(builtins)}, name, made.__defaults__))
        made.__name__, made.__qualname__, made.__doc__ = name, "Profile." + name, fn.__doc__
        setattr(cls, name, made)
    module.Profile = cls


def _program(stats):
    return [s for s in stats if type(s.code) is str or not s.code.co_filename.startswith("<ringd")]
