package pyguest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/pyproto"
)

// want fails unless a program has ended well with that value.
func want(t *testing.T, out ended, value string) {
	t.Helper()
	if out.State != executors.StateDone || string(out.Value) != value {
		t.Errorf("%s %s %+v, want %s\nstderr: %s", out.State, out.Value, out.Error, value, out.stderr)
	}
}

func TestCalls(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, c := range map[string]struct{ program, want string }{
			"keywords":     {"ringd.call('echo', 1, b=2)", `[1,{"b":2}]`},
			"keyword name": {"ringd.call('echo', name='x', args=1)", `[{"name":"x","args":1}]`},
			"threads": {`
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    got = list(pool.map(lambda i: ringd.call("echo", i)[0], range(400)))
got == list(range(400))`, "true"},
			"bare threads": {`
import threading
got = []
ts = [threading.Thread(target=lambda i=i: [got.append(ringd.tools.echo(i)[0]) for _ in range(50)]) for i in range(8)]
for t in ts: t.start()
for t in ts: t.join()
sorted(got) == sorted(list(range(8)) * 50)`, "true"},
			"gather": {`
import asyncio
async def main():
    return [v[0] for v in await asyncio.gather(*(ringd.aio.call("echo", i) for i in range(200)))]
asyncio.run(main()) == list(range(200))`, "true"},
			"tools of aio": {`
import asyncio
async def main():
    t = asyncio.create_task(ringd.aio.tools.a.b(1, x=2))
    return await t
asyncio.run(main())`, `[1,{"x":2}]`},
			"two loops and threads": {`
import asyncio, threading
got = []
async def main(n):
    for i in range(30):
        got.append((await ringd.aio.call("echo", n))[0])
        got.append(ringd.call("echo", n)[0])
ts = [threading.Thread(target=lambda n=n: asyncio.run(main(n))) for n in range(3)]
ts += [threading.Thread(target=lambda: [got.append(ringd.call("echo", 3)[0]) for _ in range(60)])]
for t in ts: t.start()
asyncio.run(main(4))
for t in ts: t.join()
sorted(got) == sorted([0, 1, 2, 3, 4] * 60)`, "true"},
			"cancelled": {`
import asyncio
async def main():
    try:
        await asyncio.wait_for(ringd.aio.call("slow"), 0.01)
    except asyncio.TimeoutError:
        return "late", (await ringd.aio.call("echo", 1))[0]
asyncio.run(main())`, `["late",1]`},
			"loop is gone": {`
import asyncio
async def main():
    asyncio.ensure_future(ringd.aio.call("slow"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
asyncio.run(main())
ringd.call("echo", 2)[0]`, "2"},
			"daemon thread waits": {`
import threading, time
threading.Thread(target=ringd.call, args=("slow",), daemon=True).start()
while not ringd.call("echo", 1): pass
3`, "3"},
			"signal interrupts": {`
import signal
class Late(Exception): pass
def late(*a): raise Late
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try: ringd.call("slow")
except Late: r = "late"
r, ringd.call("echo", 1)[0]`, `["late",1]`},
			"call within a handler": {`
import signal
got = []
def handler(*a):
    try: ringd.call("echo", 1)
    except ringd.BridgeError as e: got.append(e.name)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02) # one of them comes during the call
ringd.call("slow")
signal.setitimer(signal.ITIMER_REAL, 0)
got[:1]`, `["BridgeError"]`},
			"call in a finalizer": {`
import gc
class F:
    def __del__(self):
        try: got.append(ringd.call("echo", 5)[0])
        except ringd.Error as e: got.append(e.name)
got = []
F()
got`, "[5]"},
			"errors": {`
def name(*a):
    try: ringd.call(*a)
    except ringd.Error as e: return type(e).__name__, e.name, str(e), isinstance(e, getattr(ringd, e.name, ringd.Error))
[name("deny"), name("new"), name(""), name("x" * 300), name(3)]`,
				`[["CapabilityDenied","CapabilityDenied","not today",true],["Error","Unheard","of",true],` +
					`["ArgumentError","ArgumentError","the name of a bridge has 1 to 256 bytes",true],["ArgumentError","ArgumentError","the name of a bridge has 1 to 256 bytes",true],` +
					`["ArgumentError","ArgumentError","the name of a bridge is a str",true]]`},
			"nothing": {"ringd.call('nothing')", "null"},
			"inputs":  {"ringd.inputs", `{"a":[1,{"$ringd":"bytes","type":"Uint8Array","value":"AQID"}]}`},
			"listed": {"dir(ringd.tools), dir(ringd.tools.files), dir(ringd.aio.tools), repr(ringd.tools.a.b)",
				`[["echo","files","search"],["read"],["echo","files","search"],"<ringd.tools.a.b>"]`},
			"listed below tools": {"ringd.tools.search(1), ringd.tools.files.read(2)", `["tools.search","files.read"]`},
			"no dunder":          {"hasattr(ringd.tools, '__len__'), hasattr(ringd.tools, '_repr_html_')", "[false,true]"},
			"too many at once": {`
import asyncio
async def main():
    r = await asyncio.gather(*(ringd.aio.call("slow") for _ in range(1030)), return_exceptions=True)
    return sorted({str(e) for e in r if e})
asyncio.run(main())`, `["more than 1024 calls at once"]`},
			"no loop": {`
c = ringd.aio.call("echo", 1)
try: c.send(None)
except RuntimeError as e: r = str(e)
r`, `"no running event loop"`},
			"globals are hidden": {`
import types
found = []
for f in (ringd.call, ringd.aio.call, type(ringd.tools).__call__, type(ringd.tools).__getattr__):
    found += [k for k in f.__globals__ if k not in ("__builtins__", "__name__")] + list(f.__builtins__ if hasattr(f, "__builtins__") else [])
try: ringd.call("deny")
except ringd.Error as e:
    tb = e.__traceback__
    while tb:
        if tb.tb_frame.f_globals is not globals():
            found += [k for k in tb.tb_frame.f_globals if k not in ("__builtins__", "__name__")]
        tb = tb.tb_next
import sys
f = sys._getframe()
while f.f_back:
    f = f.f_back
    found += [k for k in f.f_globals if k not in ("__builtins__", "__name__")]
found`, "[]"},
		} {
			t.Run(name, func(t *testing.T) {
				o := options(t)
				o.Inputs = map[string]json.RawMessage{"a": json.RawMessage(
					`[1,{"$ringd":"bytes","type":"Uint8Array","value":"AQID"}]`)}
				o.Bridges = []string{"echo", "tools.search", "files.read"}
				h := &executorstest.Host{Answer: func(ctx context.Context, q executors.Question) (
					executors.Answer, error) {
					switch q.Bridge {
					case "deny":
						return executors.Answer{Error: &executors.GuestError{
							Name: "CapabilityDenied", Message: "not today"}}, nil
					case "new":
						return executors.Answer{Error: &executors.GuestError{Name: "Unheard", Message: "of"}}, nil
					case "nothing":
						return executors.Answer{}, nil
					case "tools.search", "files.read":
						return executors.Answer{Value: json.RawMessage(`"` + q.Bridge + `"`)}, nil
					case "slow":
						select {
						case <-time.After(300 * time.Millisecond):
						case <-ctx.Done():
						}
						return executors.Answer{Value: json.RawMessage("null")}, nil
					}
					return executors.Answer{Value: q.Args}, nil
				}}
				want(t, run(t, python, o, "import ringd\n"+c.program, h), c.want)
			})
		}
	})
}

// TestIdle shows when the host hears that a program waits: with its last thread.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		h := &idleHost{}
		out := run(t, python, options(t), "import ringd\nfor _ in range(5): ringd.call('echo')", nil)
		want(t, out, "null")
		l, p := dial(t, python, pyproto.Settings{})
		if _, _, err := l.Run(t.Context(), work(t, options(t), "import ringd\nfor _ in range(5): ringd.call('echo')"),
			h); err != nil {
			t.Fatalf("%v: %s", err, p.stderr)
		}
		if h.idles != 5 {
			t.Errorf("idle %d times", h.idles)
		}
	})
}

type idleHost struct {
	executorstest.Host
	mu    sync.Mutex
	idles int
}

func (h *idleHost) Idle(open []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idles += len(open)
}

// denying is a profile that denies those modules.
func denying(names ...string) []byte {
	p := profile()
	for _, n := range names {
		p.Deny = append(p.Deny, pyproto.Name{Name: n, Rule: "policy.cue:3:4"})
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	return b
}

// TestUpdateWhileRunning denies a module that a program has loaded: the next import of
// it is refused, whoever has read the update.
func TestUpdateWhileRunning(t *testing.T) {
	for name, program := range map[string]string{
		"before an import": "import ringd, json\nringd.call('deny')\nimport json",
		"in a function":    "import ringd, json\ndef f():\n    import json\nf()\nringd.call('deny')\nf()",
		"beside a reader": `
import ringd, json, threading, time
t = threading.Thread(target=ringd.call, args=("hang",), daemon=True)
t.start()
ringd.call("deny")
import json`,
		"without a call": `
import ringd, json, threading
e = threading.Event()
def wait():
    ringd.call("deny")
    e.set()
threading.Thread(target=wait).start()
e.wait()
import json`,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, python string) {
				l, p := dial(t, python, pyproto.Settings{})
				done := make(chan struct{})
				var got []executors.Updated
				h := &executorstest.Host{Answer: func(ctx context.Context, q executors.Question) (
					executors.Answer, error) {
					if q.Bridge == "hang" {
						select {
						case <-done:
						case <-ctx.Done():
						}
						return executors.Answer{Value: json.RawMessage("1")}, nil
					}
					err := l.Update(executors.Update{Seq: 1, Settings: denying("json")})
					close(done)
					return executors.Answer{Value: json.RawMessage("1")}, err
				}}
				w := work(t, options(t), program)
				w.Updated = func(u executors.Updated) error {
					if u.Seq > 0 { // 0: the program begins
						got = append(got, u)
					}
					return nil
				}
				out, _, err := l.Run(t.Context(), w, h)
				if err != nil {
					t.Fatalf("%v: %s", err, p.stderr)
				}
				if out.State != executors.StateDenied || out.Error == nil || out.Error.Name != "ModuleNotFoundError" ||
					!strings.Contains(out.Error.Message, "json") {
					t.Errorf("%s %+v", out.State, out.Error)
				}
				if len(out.Denials) != 1 {
					t.Errorf("denials %+v", out.Denials)
				}
				if len(got) != 1 || got[0].Seq != 1 {
					t.Fatalf("updated %v", got)
				}
				if r, err := pyproto.DecodeReport(got[0].Report); err != nil || fmt.Sprint(r.Loaded) != "[json]" ||
					r.Ends {
					t.Errorf("report %+v, %v", r, err)
				}
			})
		})
	}
}

// TestUpdateWhileIdle denies a module to a session that has no run.
func TestUpdateWhileIdle(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		l, p := dial(t, python, pyproto.Settings{})
		o := options(t)
		o.Session = true
		if _, again, err := l.Run(t.Context(), work(t, o, "import json"), quickHost{}); err != nil || !again {
			t.Fatalf("%v %v %s", again, err, p.stderr)
		}
		for seq := uint64(1); seq <= 3; seq++ {
			if err := l.Update(executors.Update{Seq: seq, Settings: denying("json")}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		u, err := l.Confirm(ctx, 3)
		if err != nil || u.Seq != 3 {
			t.Fatalf("%v: %s", err, p.stderr)
		}
		if r, err := pyproto.DecodeReport(u.Report); err != nil || fmt.Sprint(r.Loaded) != "[json]" {
			t.Errorf("report %s, %v", u.Report, err)
		}
	})
}

// TestUpdateBroken ends a guest that cannot read what it is to decide by.
func TestUpdateBroken(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		l, p := dial(t, python, pyproto.Settings{})
		h := &executorstest.Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
			return executors.Answer{}, l.Update(executors.Update{Seq: 1, Settings: []byte(`{"deny":7}`)})
		}}
		_, again, err := l.Run(t.Context(), work(t, options(t), "import ringd\nringd.call('x')\nimport json"), h)
		if !errors.Is(err, executors.ErrGuest) || again {
			t.Errorf("%v %v", again, err)
		}
		_ = p.wait()
		if got := p.stderr.String(); !strings.Contains(got, "an update cannot be applied") {
			t.Errorf("it said %q", got)
		}
	})
}
