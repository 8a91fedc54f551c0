"""Values as they cross between a program and its host: executors/js/engine/ENCODING.md.

Nothing of the program's own classes is called: a subclass of dict is what dict sees.
"""
import sys
import _json

MARK = "$ringd"
MAX_DEPTH = 100
MAX_NODES = 1_000_000
_SAFE = (1 << 53) - 1  # the largest integer that every reader of JSON has exactly


class Refused(Exception):
    """A value that cannot cross. large: there is too much of it."""

    large = False


class _Scan:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(word):
        raise ValueError(word + " is not JSON")


_scan = _json.make_scanner(_Scan)  # importing json would cost a third of the start
_quote = _json.encode_basestring_ascii
_encoder = _json.make_encoder(None, repr, _quote, None, ":", ",", False, False, False)

_str = str.__str__
_TYPED = {"b": "Int8Array", "B": "Uint8Array", "c": "Uint8Array", "?": "Uint8Array", "e": "Float16Array",
          "f": "Float32Array", "d": "Float64Array"}
_FORMATS = {"Int8Array": "b", "Uint8Array": "B", "Uint8ClampedArray": "B", "ArrayBuffer": "B", "DataView": "B",
            "Int16Array": "h", "Uint16Array": "H", "Int32Array": "i", "Uint32Array": "I", "BigInt64Array": "q",
            "BigUint64Array": "Q", "Float16Array": "e", "Float32Array": "f", "Float64Array": "d"}
_INTS = {(1, True): "Int8Array", (1, False): "Uint8Array", (2, True): "Int16Array", (2, False): "Uint16Array",
         (4, True): "Int32Array", (4, False): "Uint32Array", (8, True): "BigInt64Array", (8, False): "BigUint64Array"}


def loads(text):
    """One JSON value, without tags, and nothing behind it. ValueError says what is wrong."""
    text = text.decode("utf-8").strip(" \t\r\n")
    try:
        v, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("text behind the value")
    return v


def dumps(v):
    """The JSON of what the guest itself made."""
    return "".join(_encoder(v, 0)).encode("ascii")


def encode(v, most, what="$"):
    """v in the tagged encoding, as ASCII bytes, at most that many. Refused names the
    place of what cannot cross: what is the name of the whole."""
    shared = ()
    while True:
        e = _Encoder(most, shared, what)
        try:
            e.value(v)
        except RecursionError:
            raise Refused(what + ": there is no stack left to write it down") from None
        if len(e.again) == len(shared):
            return "".join(e.out).encode("ascii")
        shared = e.again


# What of a class can cross, behind a refusal of it or of one that it is the base of.
_HINTS = {
    "date": ", its .isoformat() can", "time": ", its .isoformat() can", "timedelta": ", its .total_seconds() can",
    "UUID": ", str() of it can", "PurePath": ", str() of it can", "Enum": ", its .value can",
    "range": ", list() of it can", "generator": ", list() of it can", "dict_keys": ", list() of it can",
    "dict_values": ", list() of it can", "dict_items": ", list() of it can",
    "DataFrame": ", its .to_dict() can", "ndarray": ", its .tolist() can", "Series": ", its .tolist() can",
}
_class_name = type.__dict__["__name__"].__get__


class _Encoder:
    __slots__ = ("out", "most", "left", "nodes", "shared", "ids", "seen", "again", "path", "what")

    def __init__(self, most, shared, what):
        self.out = []
        self.most = self.left = most
        self.nodes = MAX_NODES
        self.shared = shared  # id() of containers that are met again
        self.ids = {}
        self.seen = set()
        self.again = set(shared)
        self.path = []
        self.what = what

    def refused(self, why):
        at = self.what + "".join(self.path)
        return Refused((at if len(at) <= 300 else at[:300] + "...") + ": " + why)

    def too_large(self):
        e = Refused("more than %d bytes" % self.most)
        e.large = True
        return e

    def put(self, text):
        self.left -= len(text)
        if self.left < 0:
            raise self.too_large()
        self.out.append(text)

    def value(self, v):
        self.nodes -= 1
        if self.nodes < 0:
            e = self.refused("more than %d values" % MAX_NODES)
            e.large = True
            raise e
        t = type(v)
        if t is str:
            self.put(_quote(v))
        elif v is None:
            self.put("null")
        elif t is bool:
            self.put("true" if v else "false")
        elif t is int:
            self.integer(v)
        elif t is float:
            self.float(v)
        elif t is list or t is tuple:
            self.array(v)
        elif t is dict:
            self.dict(v)
        else:
            self.other(v, t)

    def integer(self, v):
        if -_SAFE <= v <= _SAFE:
            self.put(repr(v))
            return
        if v.bit_length() > self.left * 4:  # in less time than its digits take
            raise self.too_large()
        self.put('{"$ringd":"bigint","value":"%s"}' % digits(v))

    def float(self, v):
        if v - v != 0:
            v = "NaN" if v != v else "Infinity" if v > 0 else "-Infinity"
        elif v == 0 and repr(v)[0] == "-":
            v = "-0"
        else:
            self.put(repr(v))
            return
        self.put('{"$ringd":"number","value":"%s"}' % v)

    def other(self, v, t):
        if isinstance(v, str):
            self.put(_quote(_str(v)))
        elif isinstance(v, int):
            self.integer(int.__int__(v))
        elif isinstance(v, float):
            self.float(float.__float__(v))
        elif isinstance(v, (list, tuple)):
            self.array(v)
        elif isinstance(v, dict):
            self.dict(v)
        elif isinstance(v, (set, frozenset)):
            self.set(v)
        elif isinstance(v, (bytes, bytearray, memoryview)):
            self.bytes(v)
        elif isinstance(v, BaseException):
            self.put('{"$ringd":"error","name":%s,"message":%s}' % (_quote(_str(t.__name__)), _quote(shown(str, v))))
        else:
            self.known(v, t)

    def known(self, v, t):
        """Classes of modules, which are looked for where the program has loaded them."""
        modules = sys.modules
        m = modules.get("_decimal")
        if m is not None and isinstance(v, m.Decimal):
            self.decimal(v, m.Decimal)
            return
        m = modules.get("_datetime") or modules.get("datetime")
        if m is not None and isinstance(v, m.datetime):
            self.datetime(v, m)
            return
        m = modules.get("array")
        if m is not None and isinstance(v, m.array):
            self.bytes(memoryview(v))
            return
        name = _str(t.__name__)
        if callable(v):
            raise self.refused("a %s cannot cross" % ("class" if isinstance(v, type) else "function"))
        hint = next((_HINTS[n] for n in map(_class_name, type.mro(t)) if n in _HINTS), "")
        if not hint and _str(t.__module__) == "numpy":
            hint = ", its .item() can"
        raise self.refused("%s %s cannot cross%s" % ("an" if name[:1] in "aeiouAEIO" else "a", name, hint))

    def decimal(self, v, decimal):
        f = decimal.__float__(v)
        if f != f or f - f != 0:
            self.float(f)
        elif decimal.__eq__(decimal(repr(f)), v):
            self.float(f)
        else:
            raise self.refused("this Decimal has more digits than a number holds, str() of it can cross")

    def datetime(self, v, m):
        if m.datetime.utcoffset(v) is None:
            raise self.refused("a datetime without a time zone cannot cross: give it tzinfo")
        v = m.datetime.astimezone(v, m.timezone.utc)
        d = (v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond // 1000)
        self.put('{"$ringd":"date","value":"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ"}' % d)

    def bytes(self, v):
        kind = "Uint8Array"
        if isinstance(v, memoryview):
            f = v.format.lstrip("@=<") or "B"
            kind = _TYPED.get(f) or _INTS.get((v.itemsize, f.islower())) if len(f) == 1 and f in "cbB?hHiIlLqQnNefd" else None
            if kind is None or v.format[:1] == ">":
                raise self.refused("a memoryview of format %r cannot cross" % v.format)
            v = v.tobytes()
        if len(v) * 4 // 3 > self.left:
            raise self.too_large()
        import binascii  # here, as it is a file to load on some interpreters
        text = binascii.b2a_base64(v, newline=False).decode("ascii")
        self.put('{"$ringd":"bytes","type":"%s","value":"%s"}' % (kind, text))

    def begin(self, v):
        """Whether v was met before, and then is mentioned; else the id it needs, or 0."""
        key = id(v)
        if key in self.ids:
            self.put('{"$ringd":"ref","id":%d}' % self.ids[key])
            return None
        if key in self.seen:
            self.again.add(key)  # all of it is written once more, with an id where this stood first
            self.put("null")
            return None
        self.seen.add(key)
        self.deeper()
        if key not in self.shared:
            return 0
        self.ids[key] = len(self.ids) + 1
        return self.ids[key]

    def deeper(self):
        if len(self.path) >= MAX_DEPTH:
            raise self.refused("nested deeper than %d" % MAX_DEPTH)

    def array(self, v):
        """A list, or a tuple, which is a value and has no identity."""
        if isinstance(v, tuple):
            self.deeper()
            base, n = tuple, 0
        else:
            base, n = list, self.begin(v)
            if n is None:
                return
        self.put('{"$ringd":"array","id":%d,"value":[' % n if n else "[")
        self.items(base.__iter__(v), "]}" if n else "]")

    def items(self, items, end):
        path, first, i = self.path, True, 0
        path.append("")
        for item in items:
            if not first:
                self.put(",")
            first = False
            path[-1] = "[%d]" % i
            i += 1
            self.value(item)
        path.pop()
        self.put(end)

    def set(self, v):
        if isinstance(v, frozenset):
            self.deeper()
            base, n = frozenset, 0
        else:
            base, n = set, self.begin(v)
            if n is None:
                return
        self.put('{"$ringd":"set",%s"value":[' % ('"id":%d,' % n if n else ""))
        self.items(base.__iter__(v), "]}")

    def dict(self, v):
        n = self.begin(v)
        if n is None:
            return
        pairs = list(dict.items(v))
        texts = True
        for k, _ in pairs:
            if not isinstance(k, str):
                texts = False
                break
        if not texts:
            self.pairs(pairs, '{"$ringd":"map",%s"value":[' % ('"id":%d,' % n if n else ""), self.value)
        elif MARK in v:
            self.pairs(pairs, '{"$ringd":"entries",%s"value":[' % ('"id":%d,' % n if n else ""), self.text)
        else:
            self.object(pairs, n)

    def text(self, v):
        self.put(_quote(_str(v)))

    def object(self, pairs, n):
        path, sep = self.path, '{"$ringd":"object","id":%d,"value":{' % n if n else "{"
        path.append("")
        for k, item in pairs:
            path[-1] = "." + _str(k)
            self.put(sep + _quote(_str(k)) + ":")
            sep = ","
            self.value(item)
        path.pop()
        if sep != ",":
            self.put(sep)
        self.put("}}" if n else "}")

    def pairs(self, pairs, head, key):
        path = self.path
        self.put(head)
        path.append("")
        first = True
        for k, item in pairs:
            self.put("[" if first else ",[")
            first = False
            path[-1] = "[key %s]" % shown(repr, k)[:40]
            key(k)
            self.put(",")
            self.value(item)
            self.put("]")
        path.pop()
        self.put("]}")


def digits(v):
    """The digits of an int of any size: str() refuses more than some thousands."""
    try:
        return repr(v)
    except ValueError:
        pass
    sign, v = ("-", -v) if v < 0 else ("", v)
    half = v.bit_length() * 30103 // 200000
    high, low = divmod(v, 10 ** half)
    return sign + digits(high) + digits(low).rjust(half, "0")


def shown(how, v, most=8192, failed=""):
    """how(v), str or repr, which is the program's own code: whatever that does."""
    try:
        text = how(v)
        return _str(text)[:most]
    except BaseException as e:
        return failed or "<%s of a %s failed: %s>" % (how.__name__, _str(type(v).__name__), _str(type(e).__name__))


def decode(text):
    """The value that a tagged text says. ValueError when it says none."""
    try:
        v = loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if b'"$ringd"' not in text:
        return v
    return _Decoder().value(v)


class _Decoder:
    def __init__(self):
        self.ids = {}

    def value(self, v):
        t = type(v)
        if t is list:
            return self.fill([], v)
        if t is not dict:
            return v
        if MARK not in v:
            return self.members({}, v)
        read = getattr(self, "tag_" + str(v[MARK]), None)
        if read is None:
            raise ValueError("unknown tag")
        try:
            return read(v)
        except (KeyError, TypeError, AttributeError):
            raise ValueError("a malformed tag") from None

    def met(self, v, made):
        if "id" in v:
            self.ids[v["id"]] = made
        return made

    def fill(self, made, items):
        for item in items:
            made.append(self.value(item))
        return made

    def members(self, made, v):
        for k, item in v.items():
            made[k] = self.value(item)
        return made

    def tag_undefined(self, v):
        return None

    tag_hole = tag_undefined

    def tag_number(self, v):
        return {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"), "-0": -0.0}[v["value"]]

    def tag_bigint(self, v):
        return whole(v["value"])

    def tag_ref(self, v):
        if v["id"] not in self.ids:
            raise ValueError("a ref to nothing")
        return self.ids[v["id"]]

    def tag_object(self, v):
        return self.members(self.met(v, {}), v["value"])

    def tag_array(self, v):
        return self.fill(self.met(v, []), v["value"])

    def tag_entries(self, v):
        made = self.met(v, {})
        for k, item in v["value"]:
            made[k] = self.value(item)
        return made

    def tag_map(self, v):
        """A dict; the list of its pairs, where a key cannot be one of a dict's."""
        made = self.met(v, {})
        pairs = []
        for k, item in v["value"]:
            pairs.append((self.value(k), self.value(item)))
        try:
            for k, item in pairs:
                made[k] = item
        except TypeError:
            return self.met(v, pairs)
        return made

    def tag_set(self, v):
        made = self.met(v, set())
        items = self.fill([], v["value"])
        try:
            made.update(items)
        except TypeError:
            return self.met(v, items)
        return made

    def tag_date(self, v):
        text = v["value"]
        if text is None:
            return self.met(v, None)
        if len(text) != 24:
            return self.met(v, text)  # a year that a datetime does not have
        import _datetime
        n = [int(text[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 23))]
        try:
            made = _datetime.datetime(*n[:6], n[6] * 1000, _datetime.timezone.utc)
        except ValueError:
            made = text
        return self.met(v, made)

    def tag_bytes(self, v):
        """bytes; a memoryview of numbers, where an element has more than one."""
        import binascii
        data = binascii.a2b_base64(v["value"])
        form = _FORMATS[v["type"]]
        if form not in "bB" or v["type"] == "Int8Array":
            data = memoryview(data).cast(form)
        return self.met(v, data)

    def tag_error(self, v):
        from_host = error_class(v["name"])(v["message"])
        from_host.name = v["name"]
        return self.met(v, from_host)

    def tag_regexp(self, v):
        return self.met(v, {"source": v["source"], "flags": v["flags"]})


def error_class(name):
    """What an error that crosses becomes: the bridge puts its own classes here."""
    return Exception


def whole(text):
    """An int of any number of digits: int() refuses more than some thousands."""
    if len(text) < 4000:
        return int(text)
    if text[0] == "-":
        return -whole(text[1:])
    half = len(text) // 2
    return whole(text[:-half]) * 10 ** half + whole(text[-half:])
