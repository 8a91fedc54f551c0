# Runs programs under the guard alone, for guard_test.go: benign ones, and such as ask
# for what is harmless and refused. One JSON object on standard input:
# {"folder", "profile", "programs": [{"text", "update", "before"}], "apart": whether each
# has a process of its own}, or {"folder", "profiles", "names"}; one on standard output:
# {"ends": [...]}, or {"answers": [...]}.
import builtins
import json
import os
import sys

asked = json.loads(sys.stdin.read())


def load():
    own, known, real = dict(vars(builtins)), {}, builtins.__import__
    own["__import__"] = lambda name, *a: known.get(name) or real(name, *a)
    for name in ("seal", "policy", "audit", "profiler", "guard"):
        module = known[name] = type(sys)(name)
        vars(module)["__builtins__"] = own
        with open(os.path.join(asked["folder"], name + ".py")) as f:
            exec(compile(f.read(), "<ringd %s>" % name, "exec", 0, True), vars(module))
    own["__import__"] = real
    return known["guard"], known["policy"]


def end(guard, program, pending):
    out, error = [], None
    names = {"__name__": "__main__", "__builtins__": guard.builtins, "say": lambda *a: out.append(" ".join(map(str, a)))}
    module = type(sys)("__main__")
    vars(module).update(names)
    sys.modules["__main__"] = module
    pending[:] = [program["update"]] if program.get("update") else []
    report = None
    if program.get("before"):
        report = guard.update(pending.pop())
    guard.begin()
    try:
        exec(compile(program["text"], "program.py", "exec", 0, True), vars(module))
    except BaseException as e:
        error = e
    frames, tb = [], error and error.__traceback__
    while tb:
        frames.append(tb.tb_frame.f_code.co_filename)
        tb = tb.tb_next
    return {"error": type(error).__name__ if error else "", "message": str(error) if error else "", "name": getattr(error, "name", "") or "",
        "filename": getattr(error, "filename", "") or "", "mine": guard.refused(error), "out": out, "denials": guard.denials(),
        "imports": guard.imports(), "report": report}


def session(programs):
    """Their ends, one after another under one guard."""
    module, _ = load()
    pending = []

    def look():
        while pending:
            guard.update(pending.pop())

    guard = None
    guard = module.Guard(asked["profile"], False, look, lambda decision: None)
    return [end(guard, p, pending) for p in programs]


def main():
    if not asked.get("apart"):
        return {"ends": session(asked["programs"])}
    return {"ends": [apart(p) for p in asked["programs"]]}


def apart(program):
    """The end of a program in a process of its own."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(w, json.dumps(session([program])[0]).encode())
        finally:
            os._exit(0)
    os.close(w)
    text = b""
    while True:
        piece = os.read(r, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(r)
    os.waitpid(child, 0)
    return json.loads(text or b'{"error": "no answer"}')


def answers():
    """For each profile, what its rules say of each name: null, or the code of the refusal."""
    _, policy = load()
    out = []
    for profile in asked["profiles"]:
        rules = policy.Rules(profile)
        out.append([no and no.code for no in map(rules.program, asked["names"])])
    return {"answers": out}


result = answers() if asked.get("profiles") else main()
os.write(1, json.dumps(result).encode())
os._exit(0)
