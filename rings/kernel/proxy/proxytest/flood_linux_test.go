package proxytest_test

import (
	"io"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// floods fills every listener of its own with what nobody answers well.
const floods = `
import os, random, socket, struct
random.seed(7)
def query(name, kind=1):
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0)
    for l in name.split("."): q += bytes([len(l)]) + l.encode()
    return q + b"\0" + struct.pack(">HH", kind, 1)
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); names.settimeout(20)
names.connect(("127.0.0.1", 53))
def lookup(name):
    names.send(query(name))
    a = names.recv(2048)
    return a[-4:] if a[7] else b""
seen = {}
for n in range(100000):
    a = lookup("%d.%s.wild.example" % (n, "x" * 40))
    assert a not in seen and a[0] == 198, (n, a)
    seen[a] = n
print("names", len(seen), flush=True)
good = query("a.wild.example")
for n in range(20000):
    b = bytearray(good)
    for _ in range(random.randrange(1, 6)): b[random.randrange(len(b))] = random.randrange(256)
    names.send(b[:random.randrange(1, len(b) + 1)] + os.urandom(random.randrange(9)))
names.settimeout(0.2)
try:
    while True: names.recv(4096)
except OSError: pass
names.settimeout(20)
def held(count, to, say):
    """opens connections until no more are kept, and keeps them"""
    out = []
    for _ in range(count):
        s = socket.socket(); s.settimeout(5)
        try:
            s.connect(to); s.send(say); out.append(s)
        except OSError: s.close()
    return out
keep = held(60, ("127.0.0.1", 3128), b"CONNECT api.exa") + held(60, ("203.0.113.9", 443), b"\x16\x03\x01") + held(60, ("8.8.8.8", 53), b"\0\x20half")
print("held", len(keep), flush=True)
for n in range(3000):
    s = socket.socket(); s.settimeout(5)
    try:
        s.connect((("127.0.0.1", 3128), ("203.0.113.9", 443), ("198.18.200.1", 80), ("1.1.1.1", 53))[n % 4])
        s.send(os.urandom(random.randrange(1, 64)))
        if n % 3: s.setsockopt(1, 13, struct.pack("ii", 1, 0))
    except OSError: pass
    s.close()
for s in keep: s.close()
print("answer", len(lookup("b.wild.example")), flush=True)
`

// TestFlood: a guest that asks for very many names, sends what is no query, and
// opens what it never uses, is served afterwards as before, and so are others
// beside it.
func TestFlood(t *testing.T) {
	need(t, "/usr/bin/python3", "/usr/bin/curl")
	w := newWorld(t, host("api.example"), host("*.wild.example"))
	w.Name("api.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	w.file("floods.py", floods)
	const reach = `curl -sS --max-time 20 https://api.example/; echo; curl -sS --max-time 20 --noproxy '*' https://api.example/; echo`
	g := w.launch(w.spec(`python3 -S "$D/../floods.py"; `+reach, true))
	beside := w.run(reach, true)
	if n := strings.Count(beside, "secure GET api.example"); n != 2 {
		t.Errorf("beside it the host is reached %d times: %s", n, clip(beside))
	}
	b, err := io.ReadAll(g.(executors.Streamer).Stdout())
	if err != nil {
		t.Fatal(err)
	}
	out := string(b)
	has(t, out, "names 100000", "held ", "answer 4")
	if n := strings.Count(out, "secure GET api.example"); n != 2 {
		t.Errorf("afterwards the host is reached %d times: %s", n, clip(out))
	}
	alone := 0
	for _, ev := range w.log() {
		if ev.Decision.Verdict == profiles.Allow && ev.Dest.Name != "api.example" {
			t.Errorf("on record: %+v", ev)
		}
		if ev.Decision.Verdict != profiles.Allow && ev.End == "" {
			alone++
		}
	}
	if alone > 1000 {
		t.Errorf("%d refusals are on record one by one", alone)
	}
	if all := w.Lookups(); strings.Contains(strings.Join(all, " "), "wild") {
		t.Errorf("looked up: %q", all)
	}
}

// TestOfAnotherAgent: a guest that was prepared while one agent used it reaches what
// the agent may that it is given to, and is on record as that one's.
func TestOfAnotherAgent(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t)
	w.Name("api.example", "93.184.216.34")
	w.Name("git.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	one, two := w.profile(host("api.example")), w.profile(host("git.example"))
	two.Name = "b"
	w.put(one, two)
	const script = `for h in api git; do curl -fsS --max-time 20 https://$h.example/; curl -fsS --max-time 20 --noproxy '*' https://$h.example/; done`
	for range 3 {
		for name, hosts := range map[string][2]string{agent: {"api.example", "git.example"},
			"b": {"git.example", "api.example"}} {
			s := w.spec(script, true)
			s.Agent = name
			before := len(w.log())
			b, _ := io.ReadAll(w.launch(s).(executors.Streamer).Stdout())
			if n := strings.Count(string(b), "secure GET "+hosts[0]); n != 2 {
				t.Errorf("%s reaches %s %d times: %s", name, hosts[0], n, clip(string(b)))
			}
			hasNot(t, string(b), "secure GET "+hosts[1])
			for _, ev := range w.log()[before:] {
				if ev.Decision.Verdict == profiles.Allow && ev.End == "" && ev.Agent != name {
					t.Errorf("on record for %s: %+v", name, ev)
				}
			}
		}
	}
}

// TestNetworkComes: a policy that gives a network does not give one to a guest that
// runs without.
func TestNetworkComes(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t)
	w.Name("api.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	off := w.profile()
	off.Egress = profiles.Egress{Mode: profiles.EgressOff}
	w.put(off)
	s := w.spec(`until [ -e "$D/go" ]; do sleep 0.02; done; echo "<$HTTPS_PROXY>"; curl -sS --max-time 20 https://api.example/; curl -sS --max-time 20 -x http://127.0.0.1:3128 https://api.example/; echo over`, true)
	s.Kernel.Network = profiles.NetworkOff
	g := w.launch(s)
	w.allow(host("api.example"))
	w.file("work/go", "")
	b, _ := io.ReadAll(g.(executors.Streamer).Stdout())
	has(t, string(b), "<>", "over")
	hasNot(t, string(b), "secure GET")
	if state := g.Attestation().Layers["egress"]; state != "unavailable" {
		t.Errorf("egress is %q", state)
	}
	if out := w.run(`curl -sS --max-time 20 https://api.example/`, true); !strings.Contains(
		out, "secure GET api.example") {
		t.Errorf("a new guest: %s", clip(out))
	}
}
