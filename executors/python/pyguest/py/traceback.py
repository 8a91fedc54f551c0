"""The text that python writes to standard error for an exception that nobody caught.

The module traceback is not used: it costs milliseconds, the policy may deny it, and
the program may have changed it.
"""
import builtins
import sys
import _ast

import report
import values

MAX_SHOWN = 100  # frames of one end of a stack
MAX_CHAIN = 20
MAX_DEPTH = 10  # of groups in groups
MAX_WIDTH = 15  # of a group

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"
_Group = getattr(builtins, "BaseExceptionGroup", ())  # of 3.11 and later
_NEW = sys.version_info >= (3, 13)


def written(e):
    """What python writes for e."""
    w = _Writer()
    w.chain(e, 0)
    return "".join(w.out)


class _Writer:
    """Writes exceptions, each below what led to it; those of a group to its right."""

    def __init__(self):
        self.out = []
        self.seen = set()
        self.depth = 0  # of groups
        self.need_close = False

    def put(self, text, margin="|"):
        indent = "  " * self.depth + (margin + " " if self.depth else "")
        for line in text.splitlines(True):
            self.out.append(indent + line)

    def chain(self, e, depth):
        self.seen.add(id(e))
        before, between = e.__cause__, _CAUSE
        if before is None and not e.__suppress_context__:
            before, between = e.__context__, _CONTEXT
        if before is not None and id(before) not in self.seen and depth < MAX_CHAIN:
            self.chain(before, depth + 1)
            self.put(between)
        if _Group and isinstance(e, _Group) and type(e.exceptions) is tuple:
            self.group(e)
            return
        frames = report.frames_of(e)
        if frames:
            self.put("Traceback (most recent call last):\n")
            self.put(stack(frames))
        self.put(report.last_lines(e))

    def group(self, e):
        if self.depth > MAX_DEPTH:
            self.put("... (max_group_depth is %d)\n" % MAX_DEPTH)
            return
        top = self.depth == 0
        self.depth += top
        frames = report.frames_of(e)
        if frames:
            self.put("Exception Group Traceback (most recent call last):\n", "+" if top else "|")
            self.put(stack(frames))
        self.put(report.last_lines(e))
        self.need_close = False
        n = len(e.exceptions)
        for i, member in enumerate(e.exceptions[:MAX_WIDTH + 1]):
            last = i == min(n - 1, MAX_WIDTH)
            self.need_close = self.need_close or last
            title = str(i + 1) if i < MAX_WIDTH else "..."
            self.out.append("%s%s+---------------- %s ----------------\n" % ("  " * self.depth, "  " if i else "+-", title))
            self.depth += 1
            if i == MAX_WIDTH:
                self.put("and %d more exception%s\n" % (n - MAX_WIDTH, "s" if n - MAX_WIDTH > 1 else ""))
            elif id(member) not in self.seen:
                self.chain(member, 0)
            if last and self.need_close:
                self.out.append("  " * self.depth + "+------------------------------------\n")
                self.need_close = False
            self.depth -= 1
        self.depth -= top


def stack(frames):
    """The lines of frames. A place that comes again and again is shown three times."""
    left = len(frames) - 2 * MAX_SHOWN
    out, last, times = [], None, 0
    for i, (code, line, lasti) in enumerate(frames):
        key = code.co_filename, line, code.co_name
        if key != last:
            out.append(repeated(times - 3))
            last, times = key, 0
        times += 1
        if times > 3:
            continue
        if len(out) > MAX_SHOWN and i < len(frames) - MAX_SHOWN:
            if left > 0:
                out.append("  [%d more frames]\n" % left)
                left = 0
            continue
        out.append('  File "%s", line %s, in %s\n' % (report.text(code.co_filename, 1024), line, report.text(code.co_name, 256)))
        out.append(source_lines(code, line or 0, lasti))
    return "".join(out) + repeated(times - 3)


def repeated(n):
    return "  [Previous line repeated %d more time%s]\n" % (n, "s" if n > 1 else "") if n > 0 else ""


def source_lines(code, line, lasti):
    """The source of a frame, with carets below where it stands."""
    source = report.line_of(code.co_filename, line)
    if not source.strip():
        return ""
    p = report.position(code, lasti)
    if p is None or p[0] != line:
        return "    " + source.strip() + "\n"
    end = max(p[1], line)
    if end > line and not _NEW:
        end, p = line, (line, line, p[2], len(source.encode("utf-8")))
    lines = [report.line_of(code.co_filename, n).rstrip() for n in range(line, min(end, line + 500) + 1)]
    try:
        return "".join("    " + s for s in placed(lines, p[2], p[3]))
    except Exception:
        return "    " + source.strip() + "\n"


def chars(line, n):
    """How many characters the first n bytes of a line are."""
    return len(line.encode("utf-8")[:n].decode("utf-8", "replace"))


def placed(lines, start, end):
    """Those lines, from column start of the first to column end of the last, with carets."""
    start, end = chars(lines[0], start), chars(lines[-1], end)
    lead = min(len(s) - len(s.lstrip()) for s in lines if s)
    if not _NEW:
        lead = len(lines[0]) - len(lines[0].lstrip())
    lines = [s[lead:] for s in lines]
    start, end = max(start - lead, 0), max(end - lead, 0)
    segment = "\n".join(lines)
    segment = segment[start:len(segment) - (len(lines[-1]) - end)]
    anchors = None
    try:
        anchors = anchors_of(segment, start)
    except Exception:
        pass
    show = bool(anchors) or bool(lines[0][:start].lstrip() or lines[-1][end:].rstrip())
    if show and _NEW and spans_statement(lines, start, end):
        show = False
    significant = {0, len(lines) - 1}
    if anchors and _NEW:
        for n in (anchors[0], anchors[2]):
            significant.update(n + i for i in (-1, 0, 1) if 0 <= n + i < len(lines))
    before = 0
    for n in sorted(significant):
        if n - before == 2:
            yield from marked(lines, n - 1, start, end, anchors, show)
        elif n - before > 2:
            yield "...<%d lines>...\n" % (n - before - 1)
        yield from marked(lines, n, start, end, anchors, show)
        before = n


def marked(lines, n, start, end, anchors, show):
    """Line n, and below it the carets."""
    line = lines[n]
    yield line + "\n"
    if not show:
        return
    blank = len(line) - len(line.lstrip())
    marks = ""
    for col in range(end if n == len(lines) - 1 else len(line)):
        if col < blank or n == 0 and col < start:
            marks += " "
        elif anchors and not anchors[:2] <= (n, col) < anchors[2:]:
            marks += "~"
        else:
            marks += "^"
    yield marks + "\n"


report.suggested = lambda e: suggestion(e)


def parsed(text):
    return compile(text, "", "exec", 0x400, True).body


def anchors_of(segment, start):
    """(line, column, line, column) of the operator, the index or, since 3.13, the arguments
    that an expression is about; None: of no part of it."""
    statement = parsed("(\n" + segment + "\n)")
    if len(statement) != 1 or type(statement[0]) is not _ast.Expr:
        return None
    e = statement[0].value
    lines = segment.split("\n")

    def at(n, col):
        return n, chars(lines[n], col)

    def until(n, col, stop):
        while True:
            if col >= len(lines[n]) or lines[n][col] in "\\#":
                n, col = n + 1, 0
            elif stop(lines[n][col]):
                return n, col
            else:
                col += 1

    if type(e) is _ast.BinOp:
        n, col = until(*at(e.left.end_lineno - 2, e.left.end_col_offset), lambda c: not c.isspace() and c != ")")
        wide = 2 if lines[n][col:col + 2] in ("**", "//", "<<", ">>") else 1
        to = n, col + wide
    elif type(e) is _ast.Subscript or _NEW and type(e) is _ast.Call:
        inner, bracket = (e.value, "[") if type(e) is _ast.Subscript else (e.func, "(")
        n, col = until(*at(inner.end_lineno - 2, inner.end_col_offset), lambda c: c == bracket)
        to = at(e.end_lineno - 2, e.end_col_offset)
    else:
        return None
    first = start if n == 0 else 0
    return n, col + first, to[0], to[1] + (start if to[0] == 0 else 0)


def spans_statement(lines, start, end):
    """Whether the place is the whole call of a plain `return f()` or `x = f()`."""
    try:
        s = parsed("\n".join(lines))[0]
    except Exception:
        return False
    v = None
    if type(s) is _ast.Return and type(s.value) is _ast.Call and type(s.value.func) is _ast.Name:
        v = s.value
    elif type(s) is _ast.Assign and type(s.value) is _ast.Call and len(s.targets) == 1 and type(s.targets[0]) is _ast.Name:
        v = s.value
    return v is not None and (v.lineno, v.end_lineno, v.col_offset, v.end_col_offset) == (1, len(lines), start, end)


# What a misspelt name was meant to be.

_MOVE, _CASE = 2, 1


def suggestion(e):
    """What python says behind the text of an error about a name."""
    try:
        wrong, names, own = candidates(e)
        if own:
            return ". Did you mean: '%s'?" % own
        found = closest(wrong, names)
        hint = ". Did you mean: '%s'?" % found if found else ""
        if isinstance(e, NameError) and sys.version_info >= (3, 12) and wrong in sys.stdlib_module_names:
            hint = hint + " Or did you forget to import '%s'?" % wrong if hint else ". Did you forget to import '%s'?" % wrong
        return hint
    except BaseException:
        return ""


def candidates(e):
    """(the wrong name, what it may have been, and what it was)."""
    if isinstance(e, NameError):
        tb = e.__traceback__
        while tb.tb_next is not None:
            tb = tb.tb_next
        f = tb.tb_frame
        if sys.version_info >= (3, 12) and "self" in f.f_locals and hasattr(f.f_locals["self"], e.name):
            return e.name, (), "self." + e.name
        return e.name, [*f.f_locals, *f.f_globals, *f.f_builtins], ""
    if isinstance(e, AttributeError) and type(e.name) is str:
        names = dir(e.obj)
        if _NEW and e.name[:1] != "_":
            names = [n for n in names if n[:1] != "_"]
        return e.name, names, ""
    if isinstance(e, ImportError) and type(getattr(e, "name_from", None)) is str:
        names = dir(sys.modules[e.name])
        if _NEW and e.name_from[:1] != "_":
            names = [n for n in names if n[:1] != "_"]
        return e.name_from, names, ""
    return "", (), ""


def closest(wrong, names):
    """The name that needs the least changes, at most a third of it."""
    if type(wrong) is not str or not 0 < len(wrong) <= 40 or len(names) > 750:
        return None
    best, found = len(wrong) * _MOVE if not _NEW else len(wrong), None
    for name in names:
        if type(name) is not str or name == wrong:
            continue
        most = min((len(name) + len(wrong) + 3) * _MOVE // 6, best - 1)
        n = distance(wrong, name, most)
        if n <= most:
            best, found = n, name
    return found


def distance(a, b, most):
    """What it costs to make one of the other."""
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    if not a or not b:
        return _MOVE * (len(a) + len(b))
    if len(a) > 40 or len(b) > 40 or abs(len(a) - len(b)) * _MOVE > most:
        return most + 1
    row = list(range(_MOVE, _MOVE * (len(a) + 1), _MOVE))
    result = 0
    for i, x in enumerate(b):
        before = result = i * _MOVE
        for j, y in enumerate(a):
            swap = before + (0 if x == y else _CASE if x.lower() == y.lower() else _MOVE)
            before = row[j]
            row[j] = result = min(min(result, before) + _MOVE, swap)
    return result
