package proxytest_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// hostile tries to take, close, turn or go around what leads out of its network.
// What it writes behind "!" is an error's name, behind "=" what it got.
const hostile = `
import errno, os, socket, struct
def bind(host, port, kind=socket.SOCK_STREAM, family=socket.AF_INET, *options):
    def f():
        s = socket.socket(family, kind)
        for o in options: s.setsockopt(*o)
        s.bind((host, port))
        if kind == socket.SOCK_STREAM: s.listen(9)
        return "bound"
    return f
REUSE = [(1, 2, 1), (1, 15, 1)]                # SO_REUSEADDR, SO_REUSEPORT
FREE, FREE6 = (0, 15, 1), (41, 78, 1)          # IP_FREEBIND, IPV6_FREEBIND
DEVICE, ONLY6 = (1, 25, b"lo\0"), (41, 26, 1)  # SO_BINDTODEVICE, IPV6_V6ONLY
S, D, V4, V6 = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET, socket.AF_INET6
def made(family, kind, proto=0):
    def f():
        socket.socket(family, kind, proto)
        return "made"
    return f
def option(level, name, value, family=V4, kind=S):
    def f():
        socket.socket(family, kind).setsockopt(level, name, value)
        return "set"
    return f
def netlink(kind, body, flags=0):
    def f():
        s = socket.socket(16, 3, 0); s.settimeout(5)
        s.send(struct.pack("=IHHII", 16 + len(body), kind, 5 | flags, 1, 0) + body)
        e = struct.unpack_from("=i", s.recv(4096), 16)[0]
        if e: raise OSError(-e, "")
        return "done"
    return f
def ask(req, data):
    def f():
        import fcntl
        fcntl.ioctl(socket.socket(V4, D), req, data)
        return "done"
    return f
def write(path, text=b"0"):
    def f():
        fd = os.open(path, os.O_WRONLY); os.write(fd, text)
        return "written"
    return f
def said(family, to, port, data=b"leak", *options):
    def f():
        s = socket.socket(family, S); s.settimeout(5)
        for o in options: s.setsockopt(*o)
        s.connect((to, port)); s.sendall(data)
        return s.recv(9)
    return f
def fast():
    s = socket.socket(V4, S); s.settimeout(5)
    s.sendto(b"leak", 0x20000000, ("93.184.216.34", 443))
    return s.recv(9)
def original():
    s = socket.socket(V4, S); s.settimeout(5)
    s.connect(("93.184.216.34", 443))
    return s.getsockopt(0, 80, 16)
rt = struct.pack("=8BI", 2, 0, 0, 0, 254, 3, 253, 2, 0) + struct.pack("=HHI", 8, 4, 1)
addr = struct.pack("=4BI", 2, 24, 0, 0, 1) + struct.pack("=HH4s", 8, 2, bytes([10, 9, 8, 7]))
ifi = struct.pack("=BxHiII", 0, 0, 1, 0, 1)
lsrr = bytes([131, 7, 4, 10, 0, 0, 1, 0])
tries = {
  "bind 443": bind("0.0.0.0", 443), "bind 443 lo": bind("127.0.0.1", 443), "bind 443 reuse": bind("93.184.216.34", 443, S, V4, FREE, *REUSE),
  "bind 443 six": bind("::", 443, S, V6, ONLY6), "bind 443 six reuse": bind("2606::1", 443, S, V6, FREE6, *REUSE), "bind 443 device": bind("127.0.0.1", 443, S, V4, DEVICE, *REUSE),
  "bind 80": bind("10.0.0.1", 80), "bind proxy": bind("127.0.0.1", 3128), "bind proxy all": bind("0.0.0.0", 3128, S, V4, *REUSE), "bind proxy dual": bind("::", 3128, S, V6, *REUSE),
  "bind names": bind("127.0.0.1", 53, D), "bind names reuse": bind("8.8.8.8", 53, D, V4, FREE, *REUSE), "bind names six": bind("::1", 53, D, V6, *REUSE), "bind names device": bind("8.8.8.8", 53, D, V4, DEVICE, *REUSE),
  "bind names tcp": bind("127.0.0.1", 53), "transparent": option(0, 19, 1), "transparent six": option(41, 75, 1, V6), "mark": option(1, 36, 1),
  "source route": option(0, 4, lsrr), "repair": option(6, 19, 1), "fast open": option(6, 23, 5), "fast open connect": option(6, 30, 1), "layer": option(6, 31, b"tls"), "reuse by program": option(1, 51, b"\0" * 16),
  "table of a firewall": option(0, 64, b"\0" * 96), "fast": fast, "original": original,
  "route": netlink(24, rt, 0x600), "no route": netlink(25, rt), "address": netlink(20, addr, 0x600), "no address": netlink(21, addr), "down": netlink(16, ifi), "device": netlink(16, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + struct.pack("=HH4sHHHH8s", 8, 3, b"x0\0\0", 16, 18, 12, 1, b"dummy\0\0\0"), 0x600), "rule": netlink(32, rt, 0x600),
  "ioctl address": ask(0x8916, b"lo".ljust(16, b"\0") + struct.pack("=HH4s8x", 2, 0, bytes([10, 9, 8, 7])) + b"\0" * 8), "ioctl flags": ask(0x8914, b"lo".ljust(40, b"\0")), "ioctl route": ask(0x890B, b"\0" * 120),
  "sysctl ports": write("/proc/sys/net/ipv4/ip_unprivileged_port_start", b"1024"), "sysctl local": write("/proc/sys/net/ipv4/conf/all/route_localnet", b"1"), "sysctl pings": write("/proc/sys/net/ipv4/ping_group_range", b"0 9"),
  "raw": made(2, 3, 6), "ping": made(2, 2, 1), "ping six": made(10, 2, 58), "sctp": made(2, 1, 132), "sctp packets": made(2, 5, 132), "mptcp": made(2, 1, 262), "udplite": made(2, 2, 136), "dccp": made(2, 6, 33), "l2tp": made(2, 2, 115),
  "packet": made(17, 3, 3), "packet cooked": made(17, 2, 3), "netlink diag": made(16, 3, 4), "netlink generic": made(16, 3, 16), "netlink netfilter": made(16, 3, 12), "netlink xfrm": made(16, 3, 6),
  "zero": said(V4, "0.0.0.0", 443), "zero six": said(V6, "::", 443), "own": said(V4, "127.0.0.1", 443), "own six": said(V6, "::1", 443), "own mapped": said(V6, "::ffff:127.0.0.1", 80, b"GET / HTTP/1.1\r\nHost: api.example\r\n\r\n"),
  "class e": said(V4, "240.0.0.1", 443), "all": said(V4, "255.255.255.255", 443), "many": said(V4, "224.0.0.1", 443), "many six": said(V6, "ff02::1", 443), "fake": said(V4, "198.18.0.1", 80), "fake six": said(V6, "fd72:696e:6764::1", 80),
}
for n in (1, 3, 4, 5, 9, 15, 21, 29, 30, 31, 37, 38, 39, 40, 41, 42, 43, 44, 45): tries["family %d" % n] = made(n, S)
for what, f in tries.items():
    try:
        print(what, "=", f(), flush=True)
    except OSError as e:
        print(what, "!", errno.errorcode.get(e.errno, e), flush=True)
print("descriptors", sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1], flush=True)
try:
    print("init has", os.listdir("/proc/1/fd"), flush=True)
except OSError as e:
    print("init shows nothing", flush=True)
`

// TestHostile: what leads out of a guest's network cannot be taken, turned or
// gone around by its program, and works for it afterwards as before.
func TestHostile(t *testing.T) {
	need(t, "/usr/bin/python3", "/usr/bin/curl")
	w := newWorld(t, host("api.example", 80, 443))
	w.Name("api.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	w.file("hostile.py", hostile)
	out := w.run(`python3 -S "$D/../hostile.py"; curl -sS --max-time 20 https://api.example/; echo; curl -sS --max-time 20 --noproxy '*' https://api.example/`, true)
	t.Log(out)
	for line := range strings.Lines(out) {
		what, got, ok := strings.Cut(strings.TrimSpace(line), " = ")
		switch what {
		case "fast open", "fast open connect", "reuse by program", "source route": // of its own sockets alone
		case "original": // of its own end, where nothing is translated
		default:
			if ok {
				t.Errorf("%s: %s", what, got)
			}
		}
	}
	has(t, out, "init shows nothing", "bind 443 ! EADDRINUSE", "bind proxy ! EADDRINUSE", "bind names ! EADDRINUSE",
		"route ! EPERM", "down ! EPERM", "descriptors [0, 1, 2, 3, 4]")
	if n := strings.Count(out, "secure GET api.example"); n != 2 {
		t.Errorf("afterwards the host is reached %d times, want 2", n)
	}
	for _, ev := range w.log() {
		if ev.Decision.Verdict == profiles.Allow && ev.Dest.Name != "api.example" {
			t.Errorf("on record: %+v", ev)
		}
	}
}

// TestPortOfTheProgram: a port that a policy adds while the program has it is the
// program's: what it sends there stays in its guest. When it has given it up, the
// next policy has the ring listen there.
func TestPortOfTheProgram(t *testing.T) {
	need(t, "/usr/bin/python3", "/usr/bin/curl")
	w := newWorld(t, host("api.example"))
	w.Name("new.example", "93.184.216.40")
	w.serve("93.184.216.40:8443", says("new"))
	w.file("holds.py", `
import os, socket, sys
s = socket.socket(); s.bind(("10.1.2.3", 8443)); s.listen(9)
print("holds", flush=True)
c, _ = s.accept()
print("has", c.recv(4), flush=True)
c.close(); s.close()
print("gives up", flush=True)
`)
	g := w.launch(w.spec(`
		python3 -S "$D/../holds.py" & holder=$!
		until [ -e "$D/asked" ]; do sleep 0.02; done
		curl -sS --max-time 20 http://new.example:8443/ && echo
		exec 9<>/dev/tcp/10.1.2.3/8443 && echo mine >&9; exec 9>&-
		wait $holder
		until curl -fs --max-time 20 --noproxy '*' http://new.example:8443/; do sleep 0.05; done; echo; echo over`, true))
	out := bufio.NewReader(g.(executors.Streamer).Stdout())
	next := func(want string) {
		t.Helper()
		line, err := out.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("it says %q, %v, want %q", line, err, want)
		}
	}
	rules := []profiles.EgressRule{host("api.example"), host("new.example", 8443)}
	next("holds")
	w.allow(rules...)
	w.file("work/asked", "")
	next("new GET new.example:8443") // by the proxy
	next("has b'mine'")
	next("gives up")
	w.allow(rules...)
	next("new GET new.example:8443")
	next("over")
}

// TestTimeAfterPorts: what an init says of new ports is not taken for the
// processor time that somebody asks for later.
func TestTimeAfterPorts(t *testing.T) {
	w := newWorld(t, host("api.example"))
	g := w.launch(w.spec(`until [ -e "$D/go" ]; do sleep 0.02; done
		until (: </dev/tcp/192.0.2.1/8443) 2>/dev/null; do :; done
		read -r _ _ _ _ _ _ _ _ _ _ _ _ _ before _ </proc/self/stat; at=$before
		while [ $((at - before)) -lt 30 ]; do read -r _ _ _ _ _ _ _ _ _ _ _ _ _ at _ </proc/self/stat; done
		echo used; sleep 100`, true))
	w.allow(host("api.example"), host("new.example", 8443))
	w.file("work/go", "")
	out := bufio.NewReader(g.(executors.Streamer).Stdout())
	if line, err := out.ReadString('\n'); err != nil || line != "used\n" {
		t.Fatalf("%q, %v", line, err)
	}
	used, err := g.CPU()
	if err != nil || used.Milliseconds() < 250 {
		t.Errorf("it has used %s, %v: the figure is an old one", used, err)
	}
}

// TestKilledInMidConnection: with a guest end its connections, on both sides and on
// record, whoever ended it.
func TestKilledInMidConnection(t *testing.T) {
	need(t, "/usr/bin/curl")
	for name, kill := range map[string]func(*testing.T, executors.Guest){
		"by its executor": func(t *testing.T, g executors.Guest) {
			if err := g.Kill(); err != nil {
				t.Error(err)
			}
		},
		"its init": func(t *testing.T, _ executors.Guest) {
			if err := unix.Kill(initOf(t, "/usr/bin/curl"), unix.SIGKILL); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, host("api.example"))
			w.Name("api.example", "93.184.216.34")
			h := &held{begun: make(chan string), over: make(chan string, 9), end: make(chan struct{})}
			w.serve("93.184.216.34:443", h)
			g := w.launch(w.spec("curl -sSN --max-time 50 https://api.example/", false))
			<-h.begun
			kill(t, g)
			if gone := <-h.over; gone != "api.example" {
				t.Errorf("%s ends", gone)
			}
			if _, err := io.ReadAll(g.(executors.Streamer).Stdout()); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

// initOf is the child of this process below which a program runs.
func initOf(t *testing.T, program string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range all {
		if to, err := os.Readlink(exe); err != nil || to != program {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(exe, "/")[2])
		for pid > 1 {
			parent := parentOf(pid)
			if parent == os.Getpid() {
				return pid
			}
			pid = parent
		}
	}
	t.Fatalf("no guest runs %s", program)
	return 0
}

func parentOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	parent, _ := strconv.Atoi(f[1])
	return parent
}
