package proxy_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

func limited(limits profiles.EgressLimits) profiles.EgressRule {
	h := host("a.example", 5432)
	h.Limits = limits
	return h
}

func budgetRig(t *testing.T, limits profiles.EgressLimits, settings ...setting) *rig {
	r := newRig(t, []profiles.EgressRule{limited(limits), host("b.example", 5432)}, settings...)
	r.Name("a.example", "93.184.216.34")
	r.Name("b.example", "93.184.216.35")
	r.echo("93.184.216.34:5432")
	r.echo("93.184.216.35:5432")
	return r
}

// What a rule allows to be sent is sent, and not a byte more, over all connections
// of its holder together. Other rules and holders know nothing of it.
func TestBytes(t *testing.T) {
	for name, limits := range map[string]profiles.EgressLimits{"up": {UpBytes: 10}, "down": {DownBytes: 10}} {
		t.Run(name, func(t *testing.T) {
			r := budgetRig(t, limits)
			a, b := r.tunnel("a.example:5432"), r.tunnel("b.example:5432")
			says(t, a, "123456")
			a.Close()
			r.ends(1)
			a = r.tunnel("a.example:5432")
			says(t, a, "7890")
			says(t, b, "much more than the ten bytes of the other rule")
			if _, err := io.WriteString(a, "x"); err != nil {
				t.Fatal(err)
			}
			reset(t, a)
			ev := r.ends(2)[1]
			if ev.End != proxy.EndBudget || ev.Decision.Code != profiles.Code(dest.Budget) || ev.Down != 4 ||
				ev.Up > 5 {
				t.Errorf("%+v", ev)
			}
			if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
				t.Errorf("connected again: %s", res.Status)
			}
			other := r.open()
			defer other.Close()
			c, err := other.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
			if err != nil {
				t.Fatalf("another holder: %v", err)
			}
			says(t, c, "1234567890")
			c.Close()
		})
	}
}

// A connection of fetch is bounded as a tunnel is, and early bytes count.
func TestBytesOfConn(t *testing.T) {
	dial := func(t *testing.T, limits profiles.EgressLimits) (*rig, *proxy.Conn) {
		r := budgetRig(t, limits)
		c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return r, c
	}
	t.Run("up", func(t *testing.T) {
		r, c := dial(t, profiles.EgressLimits{UpBytes: 10})
		says(t, c, "12345")
		if n, err := io.WriteString(c, "6789012"); n != 5 || !errors.Is(err, proxy.ErrCut) ||
			code(err) != profiles.Code(dest.Budget) {
			t.Errorf("wrote %d, %v", n, err)
		}
		if ev := r.ends(1)[0]; ev.End != proxy.EndBudget || ev.Up != 10 {
			t.Errorf("%+v", ev)
		}
	})
	t.Run("down", func(t *testing.T) {
		_, c := dial(t, profiles.EgressLimits{DownBytes: 3})
		if _, err := io.WriteString(c, "12345"); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); string(b) != "123" || !errors.Is(err, proxy.ErrCut) {
			t.Errorf("read %q, %v", b, err)
		}
	})
	t.Run("early", func(t *testing.T) {
		r := budgetRig(t, profiles.EgressLimits{UpBytes: 4})
		if err := gone(t, r.tunnel("a.example:5432", []byte("12345")...)); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
		if ev := r.ends(1)[0]; ev.End != proxy.EndBudget || ev.Up != 4 {
			t.Errorf("%+v", ev)
		}
	})
}

// So many connections at once, and one that ends makes room.
func TestConnectionsOfRule(t *testing.T) {
	r := budgetRig(t, profiles.EgressLimits{Connections: 2})
	a, b := r.tunnel("a.example:5432"), r.tunnel("a.example:5432")
	if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("a third: %s", res.Status)
	}
	says(t, r.tunnel("b.example:5432"), "another rule")
	a.Close()
	r.ends(1)
	says(t, r.tunnel("a.example:5432"), "room")
	says(t, b, "still here")
	// A rule that has to do with a policy that changes keeps its count.
	r.allow(host("b.example", 5432), limited(profiles.EgressLimits{Connections: 2}))
	r.egress.Recheck()
	if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("a third after a reload: %s", res.Status)
	}
	r.allow(limited(profiles.EgressLimits{Connections: 3}))
	r.egress.Recheck()
	says(t, r.tunnel("a.example:5432"), "more room")
	if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("a fourth: %s", res.Status)
	}
	// What was opened before there was a limit counts too.
	r.allow(host("a.example", 5432))
	r.egress.Recheck()
	says(t, r.tunnel("a.example:5432"), "no limit")
	r.allow(limited(profiles.EgressLimits{Connections: 4}))
	r.egress.Recheck()
	if res, _ := r.connect("a.example:5432"); res.Header.Get("X-Ringd-Deny") != string(dest.Budget) {
		t.Errorf("a fifth: %s", res.Status)
	}
}

// A limit that a reload lowers holds for what is open.
func TestLoweredLimit(t *testing.T) {
	r := budgetRig(t, profiles.EgressLimits{UpBytes: 1000})
	a := r.tunnel("a.example:5432")
	says(t, a, "12345678")
	r.allow(limited(profiles.EgressLimits{UpBytes: 10}))
	r.egress.Recheck()
	says(t, a, "90")
	if _, err := io.WriteString(a, "x"); err != nil {
		t.Fatal(err)
	}
	reset(t, a)
}

// So many in a minute, whichever minute it is.
func TestPerMinute(t *testing.T) {
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	r := budgetRig(t, profiles.EgressLimits{PerMinute: 4}, func(c *proxy.Config) {
		c.Now = func() time.Time { return time.Unix(0, clock.Load()) }
	})
	dial := func() profiles.Code {
		c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
		if err != nil {
			return code(err)
		}
		c.Close()
		return ""
	}
	for range 4 {
		if got := dial(); got != "" {
			t.Fatal(got)
		}
	}
	for range 3 {
		if got := dial(); got != profiles.Code(dest.Budget) {
			t.Fatalf("a fifth: %q", got)
		}
	}
	clock.Add(int64(59 * time.Second))
	if got := dial(); got != profiles.Code(dest.Budget) {
		t.Errorf("within the minute: %q", got)
	}
	clock.Add(int64(16 * time.Second)) // a quarter into the next
	if got := dial(); got != "" {
		t.Errorf("in the next minute: %q", got)
	}
	if got := dial(); got != profiles.Code(dest.Budget) {
		t.Errorf("most of the last minute counts still: %q", got)
	}
	clock.Add(int64(3 * time.Minute))
	for range 4 {
		if got := dial(); got != "" {
			t.Errorf("long after: %q", got)
		}
	}
	if got := dial(); got != profiles.Code(dest.Budget) {
		t.Errorf("a fifth again: %q", got)
	}
}

// Where two deciders know the same rule the stricter limit holds; where the rules
// differ both do.
func TestLimitsOfTwo(t *testing.T) {
	r := budgetRig(t, profiles.EgressLimits{})
	wide := host("*.sub.example", 5432)
	wide.Limits.UpBytes = 3
	narrow := host("x.sub.example", 5432)
	narrow.Limits.UpBytes = 5
	r.Name("x.sub.example", "93.184.216.34")
	for _, tt := range []struct {
		a, b profiles.EgressRule
		most int64
	}{
		{limited(profiles.EgressLimits{UpBytes: 8}), limited(profiles.EgressLimits{UpBytes: 6}), 6},
		{limited(profiles.EgressLimits{UpBytes: 6}), limited(profiles.EgressLimits{}), 6},
		{limited(profiles.EgressLimits{}), limited(profiles.EgressLimits{UpBytes: 4}), 4},
		{wide, narrow, 3},
		{narrow, wide, 3},
	} {
		r.deciders.Store(&[]*profiles.Decider{policy("a", tt.a), policy("b", tt.b)})
		g := r.open()
		name := "a.example:5432"
		if tt.a.Host != "a.example" {
			name = "x.sub.example:5432"
		}
		c, err := g.Dial(t.Context(), proxy.ListenerFetch, target(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.WriteString(c, "123456789"); int64(n) != tt.most || code(err) != profiles.Code(dest.Budget) {
			t.Errorf("%s: wrote %d, %v, want %d", name, n, err, tt.most)
		}
		g.Close()
	}
}

// A policy that sets a limit, and whose Recheck goes by after a connection was
// decided on and before it has a tally, bounds it all the same; one that lowers a
// limit is not undone by who decided before.
func TestLimitSetWhileDialing(t *testing.T) {
	for name, before := range map[string]profiles.EgressLimits{"a limit": {}, "a lower limit": {UpBytes: 1000}} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			var until atomic.Int64
			r = budgetRig(t, before, func(c *proxy.Config) {
				c.Now = func() time.Time {
					if until.Add(-1) == 0 {
						r.allow(limited(profiles.EgressLimits{UpBytes: 4}))
						r.egress.Recheck()
					}
					return time.Now()
				}
			})
			until.Store(2) // when it is admitted, and behind what decides
			c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
			if err != nil || until.Load() > 0 {
				t.Fatal(err, until.Load())
			}
			defer c.Close()
			if n, err := io.WriteString(c, "123456789"); n != 4 || code(err) != profiles.Code(dest.Budget) {
				t.Errorf("wrote %d, %v, want 4", n, err)
			}
		})
	}
}

// The same of a request, which has its tally already.
func TestLimitLoweredWhileAsking(t *testing.T) {
	var r *rig
	var armed atomic.Bool
	r = budgetRig(t, profiles.EgressLimits{UpBytes: 1000}, func(c *proxy.Config) {
		c.Now = func() time.Time {
			if armed.CompareAndSwap(true, false) {
				r.allow(limited(profiles.EgressLimits{UpBytes: 4}))
				r.egress.Recheck()
			}
			return time.Now()
		}
	})
	c, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
		Listener: proxy.ListenerFetch, Dest: target(t, "a.example:5432"), Method: "GET", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	armed.Store(true)
	if err := r.guest.Ask(httpproxy.Request{Listener: proxy.ListenerFetch, Dest: target(t, "a.example:5432"),
		Method: "GET", Path: "/"}); err != nil || armed.Load() {
		t.Fatal(err, armed.Load())
	}
	if n, err := io.WriteString(c, "123456789"); n != 4 || code(err) != profiles.Code(dest.Budget) {
		t.Errorf("wrote %d, %v, want 4", n, err)
	}
}

// Two names below one entry of a layer above have its limits together: connections,
// bytes and what is begun. Who is refused is told whose they are. Without what they
// share each has its own.
func TestSharedLimits(t *testing.T) {
	org := profiles.Rule{File: "org.yaml", Line: 7, Path: "spec.network.egress[0]", Layer: "OrgPolicy acme"}
	names := func(above, own profiles.EgressLimits) (out []profiles.EgressRule) {
		for _, name := range []string{"a.example", "b.example"} {
			h := host(name, 5432)
			h.Limits = own
			if above != (profiles.EgressLimits{}) {
				h.Under = []profiles.Budget{{Host: "*.example", Ports: []int{5432}, Limits: above, Rule: org}}
			}
			out = append(out, h)
		}
		return out
	}
	refused := func(t *testing.T, r *rig, to string) {
		t.Helper()
		_, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, to))
		var d *profiles.Denial
		if !errors.As(err, &d) || d.Decision.Code != profiles.Code(dest.Budget) {
			t.Fatalf("%s: %v", to, err)
		}
		if d.Decision.Rule == nil || *d.Decision.Rule != org ||
			!strings.Contains(d.Decision.Reason, "OrgPolicy acme (org.yaml:7)") {
			t.Errorf("whose it is is not told: %+v", d.Decision)
		}
	}
	two := profiles.EgressLimits{Connections: 2}
	t.Run("connections", func(t *testing.T) {
		r := budgetRig(t, profiles.EgressLimits{})
		r.allow(names(two, two)...)
		a, b := r.tunnel("a.example:5432"), r.tunnel("b.example:5432")
		refused(t, r, "a.example:5432")
		refused(t, r, "b.example:5432")
		a.Close()
		r.ends(1)
		a = r.tunnel("a.example:5432")
		// A policy that changes elsewhere, or puts a layer between, keeps the count.
		r.allow(append(names(two, profiles.EgressLimits{Connections: 1}), host("c.example", 5432))...)
		r.egress.Recheck()
		refused(t, r, "b.example:5432")
		r.allow(names(profiles.EgressLimits{Connections: 3}, profiles.EgressLimits{})...)
		r.egress.Recheck()
		says(t, r.tunnel("b.example:5432"), "more room")
		refused(t, r, "a.example:5432")
		says(t, a, "still here")
		says(t, b, "still here")
	})
	t.Run("twin", func(t *testing.T) {
		r := budgetRig(t, profiles.EgressLimits{})
		r.allow(names(profiles.EgressLimits{}, two)...)
		for range 2 {
			says(t, r.tunnel("a.example:5432"), "its own")
			says(t, r.tunnel("b.example:5432"), "its own")
		}
		// What is open when a ceiling comes counts.
		r.allow(names(profiles.EgressLimits{Connections: 4}, profiles.EgressLimits{Connections: 4})...)
		r.egress.Recheck()
		refused(t, r, "b.example:5432")
	})
	t.Run("bytes", func(t *testing.T) {
		r := budgetRig(t, profiles.EgressLimits{})
		r.allow(names(profiles.EgressLimits{UpBytes: 10}, profiles.EgressLimits{UpBytes: 8})...)
		says(t, r.tunnel("a.example:5432"), "123456")
		c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "b.example:5432"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n, err := io.WriteString(c, "78901234"); n != 4 || code(err) != profiles.Code(dest.Budget) {
			t.Errorf("wrote %d, %v, want 4", n, err)
		}
		ends := r.wait("ends by a limit", 1, func(ev proxy.Event) bool { return ev.End == proxy.EndBudget })
		if got := ends[0].Decision.Rule; got == nil || *got != org {
			t.Errorf("on record: %+v", ends[0].Decision)
		}
		refused(t, r, "a.example:5432")
	})
	t.Run("rate", func(t *testing.T) {
		now := time.Now()
		r := budgetRig(t, profiles.EgressLimits{}, func(c *proxy.Config) { c.Now = func() time.Time { return now } })
		list := names(profiles.EgressLimits{PerMinute: 2}, profiles.EgressLimits{})
		list[0].Limits.PerMinute = 1
		r.allow(list...)
		dial := func(to string) profiles.Code {
			c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, to))
			if err != nil {
				return code(err)
			}
			c.Close()
			return ""
		}
		if got := dial("a.example:5432"); got != "" {
			t.Fatal(got)
		}
		for range 3 { // refused by its own limit, it takes nothing of what is shared
			if got := dial("a.example:5432"); got != profiles.Code(dest.Budget) {
				t.Fatalf("again: %q", got)
			}
		}
		if got := dial("b.example:5432"); got != "" {
			t.Fatalf("the second of two: %s", got)
		}
		refused(t, r, "b.example:5432")
	})
}
