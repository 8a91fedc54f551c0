package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// reset waits until both ends of a tunnel see that it was cut.
func reset(t *testing.T, c net.Conn) {
	t.Helper()
	if err := gone(t, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it ended with %v, and not with a reset", err)
	}
}

// A policy that changes cuts what it no longer allows, on both sides, and says so
// with both generations. What it allows lives on.
func TestRecheck(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432), host("b.example", 5432)})
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.35")
	server := r.Listen("93.184.216.34:5432")
	r.echo("93.184.216.35:5432")
	a := r.tunnel("a.example:5432")
	far, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	b := r.tunnel("b.example:5432")
	says(t, b, "before")
	r.allow(host("b.example", 5432), host("c.example"))
	r.egress.Recheck()
	reset(t, a)
	reset(t, far)
	says(t, b, "after")
	ev := r.ends(1)[0]
	if ev.End != proxy.EndCut || ev.Before != 1 || ev.Generation != 2 || ev.Decision.Verdict != profiles.Deny ||
		ev.Decision.Code != profiles.Code(dest.NotGranted) || ev.Decision.Revision != "r2" ||
		ev.Dest.Name != "a.example" {
		t.Errorf("%+v", ev)
	}
	if res, _ := r.connect("a.example:5432"); res.StatusCode != 403 {
		t.Errorf("connected again: %s", res.Status)
	}
	b.Close()
	if ends := r.ends(2); ends[1].End != proxy.EndEOF || ends[1].Generation != 1 || ends[1].Before != 0 {
		t.Errorf("%+v", ends[1])
	}
}

// Everything that was found out about a connection is part of what a new policy
// has to allow: the address that it uses, the name in its ClientHello, whether its
// requests are read.
func TestRecheckContext(t *testing.T) {
	private := host("10.0.0.0/8", 443, 5432)
	methods := host("a.example", 80)
	methods.Methods = []string{"GET"}
	ech := host("a.example", 443)
	ech.ECH = true
	for _, tt := range []struct {
		name          string
		before, after []profiles.EgressRule
		target, sni   string
		cut           dest.Code // "": kept
	}{
		{"another order", []profiles.EgressRule{host("x.example"), host("a.example", 5432)}, []profiles.EgressRule{host("a.example", 5432), host("x.example")}, "a.example:5432", "", ""},
		{"a wider rule", []profiles.EgressRule{host("w.a.example", 5432)}, []profiles.EgressRule{host("*.a.example", 5432, 1)}, "w.a.example:5432", "", ""},
		{"another port", []profiles.EgressRule{host("a.example", 5432)}, []profiles.EgressRule{host("a.example", 5433)}, "a.example:5432", "", dest.Port},
		{"the address is listed no more", []profiles.EgressRule{host("p.example", 5432), private}, []profiles.EgressRule{host("p.example", 5432)}, "p.example:5432", "", dest.Address},
		{"the address is listed still", []profiles.EgressRule{host("p.example", 5432), private}, []profiles.EgressRule{host("p.example", 5432), host("10.0.0.7", 5432)}, "p.example:5432", "", ""},
		{"a literal", []profiles.EgressRule{private}, []profiles.EgressRule{host("10.0.0.8", 5432)}, "10.0.0.7:5432", "", dest.NotGranted},
		{"its requests are read now", []profiles.EgressRule{host("a.example", 80)}, []profiles.EgressRule{methods}, "a.example:80", "", dest.Opaque},
		{"TLS, kept with its name", []profiles.EgressRule{host("a.example")}, []profiles.EgressRule{host("a.example"), host("b.example")}, "a.example:443", "a.example", ""},
		{"TLS, another name that is listed no more", []profiles.EgressRule{host("a.example"), host("b.example")}, []profiles.EgressRule{host("a.example")}, "a.example:443", "b.example", dest.SNI},
		{"TLS, another name that is listed still", []profiles.EgressRule{host("a.example"), host("b.example")}, []profiles.EgressRule{host("b.example"), host("a.example")}, "a.example:443", "b.example", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.before)
			r.Name("a.example", "93.184.216.34")
			r.Name("w.a.example", "93.184.216.34")
			r.Name("p.example", "10.0.0.7")
			for _, a := range []string{"93.184.216.34", "10.0.0.7"} {
				for _, p := range []int{80, 443, 5432} {
					r.echo(fmt.Sprintf("%s:%d", a, p))
				}
			}
			c := r.tunnel(tt.target)
			first := "plain"
			if tt.sni != "" {
				first = string(clientHello(t, tt.sni))
			}
			says(t, c, first)
			r.allow(tt.after...)
			r.egress.Recheck()
			if tt.cut == "" {
				says(t, c, "after")
				return
			}
			reset(t, c)
			if ev := r.ends(1)[0]; ev.End != proxy.EndCut || ev.Decision.Code != profiles.Code(tt.cut) {
				t.Errorf("%s %s, want %s", ev.End, ev.Decision.Code, tt.cut)
			}
		})
	}
}

// A rule that expires cuts what stands on it, without anybody asking.
func TestExpiry(t *testing.T) {
	soon := host("a.example", 5432)
	at := time.Now().Add(2 * time.Second)
	soon.Expires = &at
	r := newRig(t, []profiles.EgressRule{soon, host("b.example", 5432)})
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.35")
	r.echo("93.184.216.34:5432")
	r.echo("93.184.216.35:5432")
	a, b := r.tunnel("a.example:5432"), r.tunnel("b.example:5432")
	says(t, a, "before")
	reset(t, a)
	if ev := r.ends(1)[0]; ev.End != proxy.EndCut || ev.Decision.Code != profiles.Code(dest.Expired) ||
		ev.Before != 1 || ev.Generation != 1 {
		t.Errorf("%+v", ev)
	}
	if time.Now().Before(at) {
		t.Error("it was cut before its time")
	}
	says(t, b, "after")
	if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Expired) {
		t.Errorf("connected again: %s %v", res.Status, res.Header)
	}
}

// A connection that fetch holds is cut as well, and says why.
func TestRecheckConn(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)})
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
	if err != nil {
		t.Fatal(err)
	}
	says(t, c, "before")
	r.allow()
	r.egress.Recheck()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, proxy.ErrCut) || code(err) != profiles.Code(dest.NotGranted) {
		t.Errorf("Read: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, proxy.ErrCut) {
		t.Errorf("Write: %v", err)
	}
	ev := r.ends(1)[0]
	if ev.End != proxy.EndCut || ev.Up != 6 || ev.Down != 6 {
		t.Errorf("%+v", ev)
	}
	c.Close()
	if n := len(r.ends(1)); n != 1 {
		t.Errorf("%d ends of one connection", n)
	}
}

// A request in flight is held against a policy that changes.
func TestRecheckRequest(t *testing.T) {
	rule := func(paths ...string) profiles.EgressRule {
		h := host("a.example", 80)
		h.Paths = paths
		return h
	}
	r := newRig(t, []profiles.EgressRule{rule("/a", "/b")})
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:80")
	c, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
		Listener: proxy.ListenerFetch, Dest: target(t, "a.example:80"), Method: "GET", Path: "/a/1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.Use(httpproxy.Request{}) {
		t.Fatal("it is cut")
	}
	r.allow(rule("/b"))
	r.egress.Recheck()
	says(t, c, "between two requests it is kept")
	if !c.Use(httpproxy.Request{Method: "GET", Path: "/b"}) {
		t.Fatal("it is cut")
	}
	r.allow(rule("/a"))
	r.egress.Recheck()
	if c.Use(httpproxy.Request{Method: "GET", Path: "/a"}) {
		t.Error("it is kept")
	}
}

// Of 1,000 tunnels a reload cuts exactly those of the host that went.
func TestRecheckThousand(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432), host("b.example", 5432)},
		func(c *proxy.Config) { c.Connections = 2000 })
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.35")
	r.echo("93.184.216.34:5432")
	r.echo("93.184.216.35:5432")
	var a, b []*tunnel
	for i := range 1000 {
		if i%4 == 0 {
			a = append(a, r.tunnel("a.example:5432"))
		} else {
			b = append(b, r.tunnel("b.example:5432"))
		}
	}
	r.allow(host("b.example", 5432), host("a.example", 5432))
	r.egress.Recheck()
	r.allow(host("b.example", 5432))
	r.egress.Recheck()
	for _, c := range a {
		reset(t, c)
	}
	for _, c := range b {
		says(t, c, "x")
	}
	ends := r.ends(len(a))
	if len(ends) != len(a) || slices.ContainsFunc(ends, func(ev proxy.Event) bool {
		return ev.End != proxy.EndCut || ev.Dest.Name != "a.example" || ev.Before != 1 || ev.Generation != 3
	}) {
		t.Errorf("%d ends, want %d of a.example", len(ends), len(a))
	}
}

// hammer is policies that change under load. Each is an epoch: from its Recheck on
// until the next begins, epoch has its number and which hosts it allows.
type hammer struct {
	*rig
	t                    *testing.T
	epoch                atomic.Int64           // number<<8 | mask; 0 while it changes
	refused              [hammered]atomic.Int64 // the last number that refused a host
	tunnels, bytes, cuts atomic.Int64
}

const hammered = 4

func hammeredName(i int) string { return fmt.Sprintf("h%d.example", i) }

// change puts the policy of a mask in force.
func (h *hammer) change(number int64, mask int) {
	var rules []profiles.EgressRule
	for i := range hammered {
		if mask&(1<<i) != 0 {
			rules = append(rules, host(hammeredName(i), 5432))
		}
	}
	h.epoch.Store(0)
	for i := range hammered {
		if mask&(1<<i) == 0 {
			h.refused[i].Store(number)
		}
	}
	h.allow(rules...)
	h.egress.Recheck()
	h.epoch.Store(number<<8 | int64(mask))
}

// during runs f, which says whether something passed to a host, and holds that
// against the policies: nothing passes in an epoch that refuses it.
func (h *hammer) during(i int, what string, f func() bool) bool {
	before := h.epoch.Load()
	passed := f()
	if passed && before != 0 && before == h.epoch.Load() && before&(1<<i) == 0 {
		h.t.Errorf("%s passed to %s, which the policy refuses", what, hammeredName(i))
	}
	return passed
}

// tunnelTo opens one tunnel and says a few bytes by it.
func (h *hammer) tunnelTo(i, count int) {
	since := h.refused[i].Load()
	opening := h.epoch.Load()
	whole := func() bool { // nothing has refused the host since
		return opening != 0 && since < opening>>8 && opening&(1<<i) != 0 && h.refused[i].Load() == since
	}
	c, err := net.Dial("tcp", h.proxy)
	if err != nil {
		h.t.Error(err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 39)
	if !h.during(i, "a tunnel", func() bool {
		_, _ = io.WriteString(c, "CONNECT "+hammeredName(i)+":5432 HTTP/1.0\r\n\r\n")
		_, err = io.ReadFull(c, b)
		return err == nil && strings.HasPrefix(string(b), "HTTP/1.1 200")
	}) {
		if whole() {
			h.t.Errorf("%s was refused: %q, %v", hammeredName(i), b, err)
		}
		return
	}
	h.tunnels.Add(1)
	for range count {
		if !h.during(i, "a byte", func() bool {
			if _, err = c.Write([]byte("x")); err == nil {
				_, err = io.ReadFull(c, b[:1])
			}
			return err == nil
		}) {
			if h.cuts.Add(1); whole() {
				h.t.Errorf("a tunnel to %s was cut, which every policy allowed: %v", hammeredName(i), err)
			}
			return
		}
		h.bytes.Add(1)
	}
}

// After Recheck has returned, nothing passes on a connection that the policy in
// force refuses, and none is cut that every policy since its start has allowed.
func TestHammer(t *testing.T) {
	h := &hammer{rig: newRig(t, nil), t: t}
	for i := range hammered {
		at := netip.AddrFrom4([4]byte{93, 184, 216, byte(100 + i)})
		h.Name(hammeredName(i), at.String())
		h.echo(netip.AddrPortFrom(at, 5432).String())
	}
	h.change(1, 1<<hammered-1)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for w := range 12 {
		work.Go(func() {
			pick := rand.New(rand.NewPCG(uint64(w), 1))
			for {
				select {
				case <-stop:
					return
				default:
					h.tunnelTo(pick.IntN(hammered), pick.IntN(100))
				}
			}
		})
	}
	pick := rand.New(rand.NewPCG(7, 7))
	number := int64(1)
	// Until there was enough of everything, on a machine that has other work too.
	for number < 500 && (number < 40 || h.tunnels.Load() < 200 || h.bytes.Load() < 2000 || h.cuts.Load() < 20) {
		for range pick.IntN(30) { // an epoch lasts some round trips
			h.tunnelTo(0, 1)
		}
		number++
		h.change(number, pick.IntN(1<<hammered)|1) // one host is always allowed
	}
	close(stop)
	work.Wait()
	if number >= 500 {
		t.Errorf("%d tunnels, %d bytes, %d cuts, %d policies: nothing was tested", h.tunnels.Load(), h.bytes.Load(),
			h.cuts.Load(), number)
	}
	t.Logf("%d tunnels, %d bytes, %d cuts, %d policies", h.tunnels.Load(), h.bytes.Load(), h.cuts.Load(), number)
}

// 1,000 tunnels that a reload keeps.
func BenchmarkRecheck(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rules := make([]profiles.EgressRule, 0, 50)
			for i := range 50 {
				rules = append(rules, host(fmt.Sprintf("h%d.example", i), 5432))
			}
			r := newRig(b, rules, func(c *proxy.Config) { c.Connections = n + 10 })
			for i := range 50 {
				r.Name(fmt.Sprintf("h%d.example", i), "93.184.216.34")
			}
			l := r.Listen("93.184.216.34:5432")
			go func() {
				for {
					if _, err := l.Accept(); err != nil {
						return
					}
				}
			}()
			for i := range n {
				if _, err := r.guest.Dial(b.Context(), proxy.ListenerFetch,
					target(b, fmt.Sprintf("h%d.example:5432", i%50))); err != nil {
					b.Fatal(err)
				}
			}
			two := []*[]*profiles.Decider{{policy("x", rules...)}, {policy("y", append(rules, host("z.example"))...)}}
			for i := 0; b.Loop(); i++ {
				r.deciders.Store(two[i%2])
				r.egress.Recheck()
			}
			if r.guest.Open() != n {
				b.Fatalf("%d of %d are left", r.guest.Open(), n)
			}
		})
	}
}

// 1,000 tunnels that a reload cuts, all of them: recheck-ms is the time of the reload. The whole of a round is timed as
// well, so that there are few: each takes 2,000 ports of the host, which stay taken for a minute.
func BenchmarkCut(b *testing.B) {
	const n = 1000
	r := newRig(b, nil, func(c *proxy.Config) { c.Connections = n })
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	rounds, took := 0, time.Duration(0)
	for b.Loop() {
		r.mu.Lock()
		r.events = nil
		r.mu.Unlock()
		r.allow(host("a.example", 5432))
		for range n {
			r.tunnel("a.example:5432")
		}
		r.allow()
		from := time.Now()
		r.egress.Recheck()
		took += time.Since(from)
		rounds++
		r.wait("ends", n, func(ev proxy.Event) bool { return ev.End == proxy.EndCut })
	}
	b.ReportMetric(float64(took.Microseconds())/1e3/float64(rounds), "recheck-ms")
}
