"""What the program itself may import, by name.

It judges the statements of the program's own text, and refuses with the reason.
"""
import builtins
import sys

import seal

_str = str.__str__
_real = builtins.__import__
_CODES = {"not_allowed": "import.not_allowed", "denied": "import.denied"}


def _prefixes(name):
    while name:
        yield name
        name = name.rpartition(".")[0]


class _Policy:
    """A profile of start.Profile."""

    def __init__(self, p):
        self.revision, self.advice = p["revision"], p["advice"]
        self.deny = {n["name"]: n for n in p["deny"] or ()}
        self.deny.update((n["name"], n) for n in p["nobody"] or ())
        self.allow = {n["name"] for n in p["allow"] or ()}
        self.parents = {a for n in self.allow for a in list(_prefixes(n))[1:]}
        self.any, self.default = p["any"], p["default"]
        self.standard, self.outside = frozenset(p["standard"] or ()), frozenset(p["outside"] or ())
        self.only = None if p["only"] is None else frozenset(p["only"])
        self.builtins = frozenset(n["name"] for n in p["builtins"] or ())
        self.ends = p["endOnDenied"]

    def why(self, name):
        """(the code, the reason, the rule) of a refusal; None: it is allowed."""
        if name in ("ringd", "__main__") or name.startswith("ringd."):
            return None
        names = list(_prefixes(name))
        for n in names:
            if n in self.deny:
                return "denied", self.deny[n]["why"] or "denied by policy", self.deny[n]["rule"]
        if self.only is not None and not any(n in self.only for n in names):
            return "not_allowed", "not in the allowed imports of this run", ""
        if self.any or name in self.parents or any(n in self.allow for n in names):
            return None
        if self.default and names[-1] in self.standard and not any(n in self.outside for n in names):
            return None
        return "not_allowed", "not in the allowed imports", ""


class Guard:
    """The guard of one process. builtins is what the program's own frames run on."""

    def __init__(self, profile, unguarded, look):
        self._policy = _Policy(profile)
        self._look = look
        self._denials = []
        self._dropped = 0
        self._imports = set()
        self._made = []
        self.builtins = b = dict(vars(builtins))
        for name in self._policy.builtins:
            b.pop(name, None)

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            check = "@check"; real = "@real"
            if level == 0:
                no = check(name, fromlist)
                if no is not None:
                    raise no
            return real(name, globals, locals, fromlist, level)

        if not unguarded:
            b["__import__"] = seal.seal(__import__, check=seal.opaque(self._check), real=_real)

    def _check(self, name, fromlist):
        self._look()
        name = _str(name)
        for n in (name, *(name + "." + f for f in fromlist or () if type(f) is str and f != "*")):
            if n is not name and n not in sys.modules and n not in self._policy.deny and n not in self._policy.outside:
                continue
            no = self._policy.why(n)
            if no is not None:
                return self._refuse(n, *no)
        self._imports.add(name)
        return None

    def _refuse(self, name, code, why, rule):
        text = "import of %r refused: %s%s. %s" % (name, why, " (%s)" % rule if rule else "", self._policy.advice)
        if len(self._denials) < 4096:
            self._denials.append({"verdict": "deny", "code": _CODES[code], "reason": text.rstrip(), "revision": self._policy.revision})
        e = ModuleNotFoundError(text.rstrip(), name=name)
        self._made = (self._made + [e])[-64:]
        return e

    def update(self, profile):
        """Judge by that from now on; the dict of start.Report."""
        self._policy = p = _Policy(profile)
        loaded = sorted(n for n in list(self._imports) if n in sys.modules and p.why(n))[:256]
        return {"loaded": loaded, "ends": bool(loaded and p.ends)}

    def begin(self):
        """Another program of the same session begins."""
        self._denials, self._made, self._imports = [], [], set()

    def refused(self, e):
        """Whether the guard made that exception."""
        return any(e is m for m in self._made)

    def denials(self):
        """profiles.Decision each, in order."""
        return self._denials

    def imports(self):
        """The modules that the program itself imported."""
        return sorted(self._imports)
