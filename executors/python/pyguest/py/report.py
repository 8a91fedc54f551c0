"""How a program ended, as the host and whoever wrote it are told."""
import _io
import sys

import bridge
import values

MAX_FRAMES = 64  # of a ProgramError
MAX_TEXT = 8192
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
    if type(module) is str and module != "builtins" and (module != "__main__" or sys.version_info < (3, 11)):
        name = text(module, 256) + "." + name
    out = []
    if isinstance(e, SyntaxError):
        out = syntax_lines(e)
        s = values.shown(str, e.msg) if e.msg else "<no detail available>"
    else:
        s = values.shown(str, e, MAX_TEXT, "<exception str() failed>") + suggested(e)
    out.append("%s: %s\n" % (name, text(s)) if s else name + "\n")
    notes = getattr(e, "__notes__", None)
    if type(notes) is list:
        out += [text(values.shown(str, n)) + "\n" for n in notes[:100]]
    return "".join(out)


def suggested(e):
    """What a misspelt name was meant to be: the file traceback puts it here."""
    return ""


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
        if isinstance(e, IndentationError) and sys.version_info < (3, 13):
            n = 1
        if a >= 0:
            pad = "".join(c if c.isspace() else " " for c in stripped[:a])
            out.append("    %s%s\n" % (pad + " " * (a - len(pad)), "^" * n))
    return out
