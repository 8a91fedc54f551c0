"""What a program and its libraries may import: the answers to start.Profile.

For a program's own import the answer is that of profiles.Decider.Import.
"""
import sys

DENIED, NOT_ALLOWED = "import.denied", "import.not_allowed"
UNDECIDED = "guest.refused"

_STANDARD = frozenset(sys.stdlib_module_names)

# What the interpreter's own C code imports while the program's frame runs: a program
# that calls datetime.strptime does not ask for _strptime. A policy that denies one of
# them by name has its way all the same.
_INNER = frozenset((
    "_bootlocale", "_collections_abc", "_compat_pickle", "_decimal", "_io", "_locale", "_opcode_metadata", "_py_warnings",
    "_pydatetime", "_pydecimal", "_pyio", "_pylong", "_sitebuiltins", "_strptime", "_struct", "_warnings", "_weakrefset",
    "annotationlib", "ast", "asyncio.base_futures", "asyncio.base_tasks", "asyncio.coroutines", "asyncio.events",
    "asyncio.exceptions", "asyncio.tasks", "builtins", "codecs", "collections", "collections.abc", "contextlib", "copy",
    "copyreg", "datetime", "decimal", "encodings", "enum", "fractions", "functools", "heapq", "importlib", "io",
    "ipaddress", "json", "json.decoder", "linecache", "locale", "math", "numbers", "operator", "pickle", "random", "re",
    "re._compiler", "re._parser", "sqlite3", "sqlite3.dbapi2", "sqlite3.dump", "sre_compile", "sre_parse", "string",
    "string.templatelib", "struct", "sys", "time", "token", "tokenize", "traceback", "types", "typing", "unicodedata",
    "warnings", "weakref", "xml.etree.ElementPath", "zoneinfo", "zoneinfo._common", "zoneinfo._tzpath", "zoneinfo._zoneinfo"))

# What to do instead, behind a refusal of these.
_HINTS = {
    "multiprocessing": "a program is one process: use threads, concurrent.futures.ThreadPoolExecutor or asyncio",
    "subprocess": "programs cannot start other programs; call a bridge through ringd.tools instead",
    "profile": "cProfile.Profile does the same",
    "_thread": "threading does the same",
    "concurrent.interpreters": "a program has one interpreter: use threads or asyncio",
}

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


def is_name(name):
    """Whether name is ASCII identifiers joined by dots: modules.Dotted."""
    if len(name) > 255 or not _PLAIN.issuperset(name):
        return False
    for part in name.split("."):
        if not part or part[0] in "0123456789":
            return False
    return True


def _closest(entries, name):
    """The entry of name, or of the nearest package above it."""
    while name:
        found = entries.get(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None


def _shown(name):
    """name for a sentence."""
    return '"%s"' % (name if len(name) <= 128 else name[:128] + "...")


class Refusal:
    """Why something is refused: what was asked, and by which rule it may not be."""

    __slots__ = ("kind", "what", "code", "reason", "rule", "instead", "told")

    def __init__(self, kind, what, code, reason, rule="", instead=""):
        self.kind, self.what, self.code, self.reason, self.rule, self.instead = kind, what, code, reason, rule, instead
        self.told = True  # the end of the run lists it

    def decision(self, revision):
        """The refusal as a profiles.Decision."""
        reason = self.reason + ": " + self.what if self.kind == "file" else self.reason
        decision = {"verdict": "deny", "code": self.code, "reason": reason[:1024], "revision": revision}
        rule = _place(self.rule)
        if rule is not None:
            decision["rule"] = rule
        if self.kind == "import":  # the audit log records it under this name
            decision["evidence"] = {"argv": [self.what[:255]]}
        return decision

    def text(self):
        """One sentence: what is refused, by which rule, and what is allowed instead."""
        text = self.reason
        if self.rule:
            text += " (%s)" % self.rule
        if self.instead:
            text += "; " + self.instead
        return text


def _place(rule):
    """file:line:column as a profiles.Rule, or None."""
    head, _, column = rule.rpartition(":")
    file, _, line = head.rpartition(":")
    if not (file and line.isdecimal() and column.isdecimal()):
        return None
    return {"file": file, "line": int(line), "column": int(column), "path": ""}


class Rules:
    """One start.Profile. It is never changed; an update puts another in its place."""

    def __init__(self, profile):
        self.allow = {n["name"]: n for n in profile.get("allow") or ()}
        self.deny = {n["name"]: n for n in profile.get("deny") or ()}
        nobody = profile.get("nobody") or ()
        self.private = {n["name"]: n for n in nobody if not n.get("rule")}  # ringd's own, which no grant is told before
        self.nobody = {n["name"]: n for n in nobody}
        self.revision = profile.get("revision") or ""
        self.any = profile.get("any") is True
        self.default = profile.get("default") is True
        self.standard = frozenset(profile.get("standard") or ())
        self.outside = {n: n for n in profile.get("outside") or ()}
        self.only = None if profile.get("only") is None else {n: n for n in profile["only"]}
        self.library = None if profile.get("library") is None else frozenset(profile["library"]) | {
            n.partition(".")[0] for n in self.allow}
        self.builtins = {n["name"]: n for n in profile.get("builtins") or ()}
        self.end_on_denied = profile.get("endOnDenied") is True
        self.read = tuple(p.rstrip("/") + "/" for p in profile.get("read") or ())
        self.write = tuple(p.rstrip("/") + "/" for p in profile.get("write") or ())
        self.readable = self.write + self.read
        self.network = profile.get("network") == "own"
        self.reach = tuple((s["from"], s["to"]) for s in profile.get("reach") or ())
        self.rule = profile.get("rule") or ""
        self.advice = profile.get("advice") or ""
        self.named = frozenset((*self.nobody, *self.deny, *self.outside))  # what may be refused where its package is allowed
        self.allowed = set()  # names that program said yes to, so that it is asked once

    def program(self, name):
        """Why the program's own code may not import name, or None."""
        if name in self.allowed:
            return None
        refusal = self._program(name)
        if refusal is None and len(self.allowed) < 4096:
            self.allowed.add(name)
        return refusal

    def _program(self, name):
        if not is_name(name):
            return self._refused(name, NOT_ALLOWED, "%s is not a module name of python" % _shown(name))
        entry = _closest(self.private, name)
        if entry is not None:
            return self.denied(name, entry)
        if self.only is not None and _closest(self.only, name) is None:
            return self._refused(name, NOT_ALLOWED, "import of %s is not among the grants of the run" % _shown(name))
        entry = _closest(self.nobody, name) or _closest(self.deny, name)
        if entry is not None:
            return self.denied(name, entry)
        if self.any or _closest(self.allow, name) or self._by_default(name):
            return None
        beyond = ": it is not in the default set of python" if self.default and is_standard(name) else ""
        return self._refused(name, NOT_ALLOWED, "import of %s is not allowed" % _shown(name) + beyond)

    def _by_default(self, name):
        """Whether name is in the part of the standard library that every program has."""
        top = name.partition(".")[0]
        return self.default and (top in self.standard or top.startswith("_sysconfigdata_")) and not _closest(self.outside, name)

    def anybody(self, name):
        """Why no code of this process may load name, or None."""
        entry = _closest(self.nobody, name)
        return None if entry is None else self.denied(name, entry)

    def by_library(self, name):
        """Why a library may not load name, or None."""
        if self.library is None or name.partition(".")[0] in self.library or is_standard(name):
            return self.anybody(name)
        return self.anybody(name) or self._refused(
            name, NOT_ALLOWED, "import of %s is not allowed: no allowed package declares that it needs it" % _shown(name))

    def inner(self, name):
        """Whether name is loaded by the interpreter itself, whatever the program may import."""
        return (name in _INNER or name.startswith("_sysconfigdata_")) and not _closest(self.deny, name) and not _closest(self.nobody, name)

    def denied(self, name, entry):
        """The refusal of a deny entry that covers name."""
        reason = "import of %s is refused" % _shown(name)
        if entry["name"] != name:
            reason += ", as all of %s" % entry["name"]
        reason += ": " + (entry.get("why") or "denied by policy")
        return self._refused(name, DENIED, reason, entry.get("rule") or "")

    def _refused(self, name, code, reason, rule=None):
        hint = _closest(_HINTS, name)
        instead = hint + "; " + self.advice if hint and self.advice else hint or self.advice
        return Refusal("import", name, code, reason, self.rule if rule is None else rule, instead)


def is_standard(name):
    """Whether name is of the standard library."""
    return name.partition(".")[0] in _STANDARD or name.startswith("_sysconfigdata_")
