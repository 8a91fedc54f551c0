"""How a program ended, as the host and whoever wrote it are told.

The module traceback is not used: it costs milliseconds, the policy may deny it, and
the program may have changed it.
"""
import sys
import _io

import bridge
import values

MAX_FRAMES = 64  # of a ProgramError
MAX_SHOWN = 100  # of a traceback on stderr
MAX_TEXT = 8192
MAX_CHAIN = 20
MAX_FILE = 4 << 20

# Texts of the program, by the name that its frames show.
sources = {}

_str = str.__str__


def ours(code):
    """Frames of the guest itself, and of the import machinery on the way to a module."""
    name = code.co_filename
    return name.startswith("<ringd") or name.startswith("<frozen importlib")


def frames_of(e):
    """(code, line, index of the instruction) of the frames that e passed, oldest first."""
    out, tb = [], e.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not ours(code):
            out.append((code, tb.tb_lineno, tb.tb_lasti))
        tb = tb.tb_next
    return out


def position(code, lasti):
    """(line, end line, column, end column) of an instruction, columns from 0 in bytes;
    None where the interpreter does not say."""
    positions = getattr(code, "co_positions", None)
    if positions is None or lasti < 0:
        return None
    n = lasti // 2
    for p in positions():
        if n == 0:
            return p if None not in p else None
        n -= 1
    return None


def name_of(e):
    """The name of an exception: of a failed call, what the host calls it."""
    if isinstance(e, bridge.Error):
        try:
            return text(e.name, 256)
        except BaseException:
            pass
    return text(type(e).__name__, 256)


def text(s, most=MAX_TEXT):
    """A str that JSON and UTF-8 can say, of at most that many characters."""
    return _str(s)[:most].encode("utf-8", "replace").decode("utf-8")


def message_of(e):
    return text(values.shown(str, e))


def program_error(e):
    """The JSON of executors.ProgramError: the program's own frames, innermost first."""
    out = []
    if isinstance(e, SyntaxError) and type(e.filename) is str and e.filename in sources:
        out.append(place("<module>", e.filename, e.lineno or 0, e.offset or 0))
        message = text(values.shown(str, e.msg))
    else:
        message = message_of(e)
    for code, line, lasti in reversed(frames_of(e)):
        if len(out) == MAX_FRAMES:
            break
        if code.co_filename not in sources:
            continue
        p = position(code, lasti)
        out.append(place(code.co_name, code.co_filename, line or 0, p[2] + 1 if p and p[0] == line else 0))
    return {"name": name_of(e), "message": message, "frames": out}


def place(function, file, line, column):
    return {"function": text(function, 256), "file": text(file, 1024), "line": max(int(line), 0), "column": max(int(column), 0)}


def written(e):
    """The text that python writes to standard error for an exception that nobody caught."""
    out, seen = [], set()
    chain(e, out, seen, 0)
    return "".join(out)


_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def chain(e, out, seen, depth, indent=""):
    seen.add(id(e))
    before, between = e.__cause__, _CAUSE
    if before is None and not e.__suppress_context__:
        before, between = e.__context__, _CONTEXT
    if before is not None and id(before) not in seen and depth < MAX_CHAIN:
        chain(before, out, seen, depth + 1, indent)
        out.append(indented(between, indent))
    members = getattr(e, "exceptions", None) if _groups and isinstance(e, _groups) else None
    part = [] if isinstance(e, SyntaxError) and not frames_of(e) else stack(e, members is not None)
    part += last_lines(e)
    if members is None:
        out.append(indented("".join(part), indent))
        return
    group(e, members, part, out, seen, depth, indent)


_groups = __builtins__.get("BaseExceptionGroup")  # of 3.11 and later


def group(e, members, part, out, seen, depth, indent):
    """An exception group, with its members below."""
    inner = indent + "  "
    if not indent:
        part[0] = "  + " + part[0]
        inner = "  "
    body = "".join(part)
    first, _, rest = body.partition("\n")
    out.append((first if not indent else indent + "| " + first) + "\n" + indented(rest, inner + "| ", False))
    shown = members[:15]
    for n, m in enumerate(shown, 1):
        head = "+-" if n == 1 else "  "
        out.append("%s%s+---------------- %d ----------------\n" % (inner, head, n))
        sub = []
        if depth < 10 and id(m) not in seen:
            chain(m, sub, seen, depth + 1, "")
        out.append(indented("".join(sub).replace("  + ", "", 1) if sub and sub[0].startswith("  + ") else "".join(sub), inner + "  | ", False))
    if len(members) > len(shown):
        out.append("%s  +---------------- ... ----------------\n%s  | and %d more exceptions\n" % (inner, inner, len(members) - len(shown)))
    out.append("%s  +------------------------------------\n" % inner)


def indented(s, indent, blank=True):
    if not indent or not s:
        return s
    return "".join(indent + line if line.strip() or blank else indent.rstrip() + "\n" for line in s.splitlines(True))


def stack(e, in_group):
    """The frames that e passed, as python writes them."""
    frames = frames_of(e)
    out = []
    if frames:
        out.append("Exception Group Traceback (most recent call last):\n" if in_group else "Traceback (most recent call last):\n")
    last, times = None, 0
    if len(frames) > 2 * MAX_SHOWN:
        frames = frames[:MAX_SHOWN] + [None] * (len(frames) - 2 * MAX_SHOWN) + frames[-MAX_SHOWN:]
    for f in frames:
        key = f and (f[0].co_filename, f[1], f[0].co_name)
        times = times + 1 if key == last else 1
        if key != last:
            last = key
        if f is None or times > 3:
            continue
        out.append(shown_frame(*f))
    return repeated(frames, out)


def repeated(frames, out):
    """Say how often the frames that were left out repeat."""
    left = len(frames) + (1 if out and out[0].endswith("last):\n") else 0) - len(out)
    if left > 0:
        out.append("  [%d more frames]\n" % left)
    return out


def shown_frame(code, line, lasti):
    s = '  File "%s", line %s, in %s\n' % (text(code.co_filename, 1024), line, text(code.co_name, 256))
    source = line_of(code.co_filename, line or 0)
    stripped = source.strip()
    if not stripped:
        return s
    return s + "    " + stripped + "\n" + carets(code, line, lasti, source, stripped)


def carets(code, line, lasti, source, stripped):
    """The line of carets below a source line, where it says more than the line itself."""
    p = position(code, lasti)
    if p is None or p[0] != line or p[1] != line:
        return ""
    lead = len(source) - len(source.lstrip())
    raw = source.encode("utf-8")
    start, end = (len(raw[:n].decode("utf-8", "replace")) - lead for n in p[2:])
    if start < 0 or end <= start or end > len(stripped) or (start == 0 and end == len(stripped)):
        return ""
    return "    " + " " * start + marks(stripped[start:end]) + "\n"


def marks(segment):
    """Carets under an expression: under its operator, or its index, and tildes under the rest."""
    try:
        tree = compile(segment, "", "eval", 0x400, True).body
        raw = segment.encode("utf-8")
        chars = lambda n: len(raw[:n].decode("utf-8"))
        kind = type(tree).__name__
        if kind == "BinOp":
            a, b = chars(tree.left.end_col_offset), chars(tree.right.col_offset)
            while segment[a] in " )":
                a += 1
            n = 2 if segment[a:a + 2] in ("**", "//", "<<", ">>") else 1
            return "~" * a + "^" * n + "~" * (len(segment) - a - n)
        if kind == "Subscript":
            a = chars(tree.value.end_col_offset)
            while segment[a] != "[":
                a += 1
            return "~" * a + "^" * (len(segment) - a)
    except Exception:
        pass
    return "^" * len(segment)


_files = {}


def line_of(file, line):
    """A line of the program's text, or of a file of a library."""
    lines = sources.get(file)
    if lines is None:
        lines = _files.get(file)
    if lines is None:
        lines = ()
        try:
            if file[:1] == "/" and file[-3:] == ".py":
                with _io.open_code(file) as f:
                    lines = f.read(MAX_FILE).decode("utf-8", "replace").splitlines(True)
        except Exception:
            pass
        if len(_files) < 32:
            _files[file] = lines
    return lines[line - 1].rstrip("\r\n")[:1000] if 0 < line <= len(lines) else ""


def last_lines(e):
    """What python writes below the frames."""
    t = type(e)
    name = text(t.__qualname__, 256)
    module = t.__module__
    if type(module) is str and module not in ("builtins", "__main__"):
        name = text(module, 256) + "." + name
    out = []
    if isinstance(e, SyntaxError):
        out = syntax_lines(e)
        s = values.shown(str, e.msg) if e.msg else "<no detail available>"
    else:
        s = values.shown(str, e, MAX_TEXT)
    out.append("%s: %s\n" % (name, text(s)) if s else name + "\n")
    notes = getattr(e, "__notes__", None)
    if type(notes) is list:
        out += [text(values.shown(str, n)) + "\n" for n in notes[:100]]
    return out


def syntax_lines(e):
    """The place of a SyntaxError, as python writes it."""
    if type(e.lineno) is not int:
        return []
    out = ['  File "%s", line %d\n' % (text(e.filename or "<string>", 1024), e.lineno)]
    line = e.text if isinstance(e.text, str) else line_of(e.filename or "", e.lineno)
    line = text(line, 1000).rstrip("\n")
    stripped = line.lstrip(" \n\f")
    out.append("    %s\n" % stripped)
    if type(e.offset) is int and e.offset >= 1:
        lead = len(line) - len(stripped)
        end = e.end_offset if type(e.end_offset) is int and e.end_lineno == e.lineno and e.end_offset > 0 else e.offset
        a = e.offset - 1 - lead
        n = max(end - 1 - lead - a, 1) if end > e.offset else 1
        if a >= 0:
            pad = "".join(c if c.isspace() else " " for c in stripped[:a])
            out.append("    %s%s\n" % (pad + " " * (a - len(pad)), "^" * n))
    return out
