package proxy_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// A record that cannot be written refuses: nothing is dialed.
func TestRecordFails(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("db.example", 5432)})
	r.Name("db.example", "93.184.216.34")
	r.Sink("", 5432)
	full := errors.New("no space left")
	r.refuse = full
	if _, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "db.example:5432")); !errors.Is(err, full) {
		t.Errorf("Dial: %v", err)
	}
	res, _ := r.connect("db.example:5432")
	if res.StatusCode != 502 {
		t.Errorf("connect: %s", res.Status)
	}
	if got := r.Arrivals(); len(got) > 0 {
		t.Errorf("arrived: %+v", got)
	}
	if n := r.guest.Open(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	r.refuse = nil
	c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "db.example:5432"))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.Await("the dial that is on record", func(proxytest.Arrival) bool { return true })
}

// The addresses of a listed name are guarded: what may not be dialed is dropped,
// and what is left is dialed in order.
func TestGuard(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rules   []profiles.EgressRule
		target  string
		answers []string
		code    dest.Code // "": it is reached
		dial    string
	}{
		{"public", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"93.184.216.34"}, "", "93.184.216.34:443"},
		{"loopback", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"127.0.0.1"}, dest.Address, ""},
		{"loopback v6", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"::1"}, dest.Address, ""},
		{"private", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"10.0.0.7"}, dest.Address, ""},
		{"metadata", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"169.254.169.254"}, dest.Address, ""},
		{"mapped", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"::ffff:10.0.0.7"}, dest.Address, ""},
		{"one survives", []profiles.EgressRule{host("a.example")}, "a.example:443", []string{"10.0.0.7", "93.184.216.34", "127.0.0.1"}, "", "93.184.216.34:443"},
		{"private, listed", []profiles.EgressRule{host("a.example"), host("10.0.0.0/8")}, "a.example:443", []string{"10.0.0.7"}, "", "10.0.0.7:443"},
		{"none", []profiles.EgressRule{host("a.example")}, "a.example:443", nil, dest.NoAddress, ""},
		{"a literal", []profiles.EgressRule{host("93.184.216.34")}, "93.184.216.34:443", nil, "", "93.184.216.34:443"},
		{"a literal that is not listed", []profiles.EgressRule{host("a.example")}, "93.184.216.34:443", nil, dest.NotGranted, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.rules)
			r.Name("a.example", tt.answers...)
			r.Sink("", 443)
			c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, tt.target))
			if tt.code != "" {
				if code(err) != profiles.Code(tt.code) {
					t.Errorf("%v, want %s", err, tt.code)
				}
				if got := r.Arrivals(); len(got) > 0 {
					t.Errorf("arrived: %+v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got := c.RemoteAddr().String(); got != tt.dial {
				t.Errorf("dialed %s, want %s", got, tt.dial)
			}
			r.Await("the connection", func(a proxytest.Arrival) bool { return a.To.String() == tt.dial })
		})
	}
}

// Either guard refuses without the other. With neither, what they refuse is
// reached, so it is they that refuse it.
func TestTwoGuards(t *testing.T) {
	for name, without := range map[string]func(*proxy.Egress){
		"both":       func(*proxy.Egress) {},
		"the second": (*proxy.Egress).WithoutFirst,
		"the first":  (*proxy.Egress).WithoutSecond,
		"neither":    func(e *proxy.Egress) { e.WithoutFirst(); e.WithoutSecond() },
	} {
		for _, answer := range []string{"10.0.0.7", "127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254",
			"64:ff9b::a00:7"} {
			t.Run(name+" "+answer, func(t *testing.T) {
				r := newRig(t, []profiles.EgressRule{host("a.example")})
				without(r.egress)
				r.Name("a.example", answer)
				r.Sink("", 443)
				c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:443"))
				if name == "neither" {
					if err != nil {
						t.Fatalf("nothing refuses it, and it is refused: %v", err)
					}
					c.Close()
					return
				}
				if code(err) != profiles.Code(dest.Address) {
					t.Errorf("%v", err)
				}
				if got := r.Arrivals(); len(got) > 0 {
					t.Errorf("arrived: %+v", got)
				}
			})
		}
	}
}

// What the daemon itself listens on is not reached, though it is listed.
func TestOwn(t *testing.T) {
	own := func(list ...string) setting {
		return func(c *proxy.Config) {
			for _, a := range list {
				c.Own = append(c.Own, netip.MustParseAddrPort(a))
			}
		}
	}
	rules := []profiles.EgressRule{host("127.0.0.1", 7443), host("a.example", 7443), host("10.0.0.7", 7443)}
	for _, tt := range []struct {
		name, own, target, answer string
		refused                   bool
	}{
		{"its address", "127.0.0.1:7443", "127.0.0.1:7443", "", true},
		{"another port", "127.0.0.1:7444", "127.0.0.1:7443", "", false},
		{"a name for it", "93.184.216.34:7443", "a.example:7443", "93.184.216.34", true},
		{"all its addresses", "0.0.0.0:7443", "127.0.0.1:7443", "", true},
		{"all its addresses, of both families", "[::]:7443", "127.0.0.1:7443", "", true},
		{"mapped", "[::ffff:10.0.0.7]:7443", "10.0.0.7:7443", "", true},
		{"one of another host", "[::]:7443", "a.example:7443", "93.184.216.34", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, without := range []func(*proxy.Egress){func(*proxy.Egress) {}, (*proxy.Egress).WithoutFirst,
				(*proxy.Egress).WithoutSecond} {
				r := newRig(t, rules, own(tt.own))
				without(r.egress)
				if tt.answer != "" {
					r.Name("a.example", tt.answer)
				}
				l := r.Listen(":7443")
				c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, tt.target))
				if err == nil {
					c.Close()
				}
				if (code(err) == profiles.Code(dest.Address)) != tt.refused {
					t.Errorf("%v, want refused %t", err, tt.refused)
				}
				l.Close()
			}
		})
	}
}

// One lookup for a connection, of the absolute name, and none before the decision
// or for an address.
func TestLookups(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("*.a.example", 80), host("93.184.216.34", 80)})
	r.Name("w.a.example", "93.184.216.34")
	r.Sink("", 80)
	for _, tt := range []struct {
		target string
		want   []string
	}{
		{"evil.example:80", nil},
		{"a.example:80", nil},
		{"w.a.example:443", nil},
		{"93.184.216.34:80", nil},
		{"W.A.example.:80", []string{"w.a.example."}},
	} {
		before := len(r.Lookups())
		c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, tt.target))
		if err == nil {
			c.Close()
		}
		if got := r.Lookups()[before:]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: looked up %q, want %q", tt.target, got, tt.want)
		}
	}
}

// A lookup that fails is a fault, is on record, and leaves nothing behind.
func TestLookupFails(t *testing.T) {
	broken := errors.New("server misbehaving")
	r := newRig(t, []profiles.EgressRule{host("a.example")}, func(c *proxy.Config) {
		c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, broken }
	})
	_, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:443"))
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if log := r.log(); len(log) != 1 || log[0].End != proxy.EndError {
		t.Errorf("on record: %+v", log)
	}
	if n := r.guest.Open(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// Of several addresses those that answer nothing or refuse are passed over; what
// is on record in the end is the one that was reached.
func TestSeveralAddresses(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)})
	r.Name("a.example", "10.0.0.1", "93.184.216.34", "2606:2800:220:1::1", "93.184.216.36")
	r.echo("93.184.216.36:5432") // the first two refuse
	c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
	if err != nil {
		t.Fatal(err)
	}
	says(t, c, "hello")
	c.Close()
	end := r.ends(1)[0]
	log := r.log()
	if got, want := end.Dial.String(), "93.184.216.36:5432"; got != want {
		t.Errorf("reached %s, want %s", got, want)
	}
	if got, want := log[0].Dial.String(), "93.184.216.34:5432"; got != want {
		t.Errorf("decided on %s first, want %s", got, want)
	}
	if want := addrs("10.0.0.1", "93.184.216.34", "2606:2800:220:1::1", "93.184.216.36"); !slices.Equal(
		log[0].Answers, want) {
		t.Errorf("answers %v", log[0].Answers)
	}
}

// A server that takes connections and says nothing counts as reached; one that
// drops everything is dialed beside the next after a while, and forgotten.
func TestDeafAddress(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("a.example", 5432)})
	r.Name("a.example", "93.184.216.34", "93.184.216.36")
	r.deaf("93.184.216.34:5432")
	r.echo("93.184.216.36:5432")
	c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != "93.184.216.36:5432" {
		t.Errorf("reached %s", got)
	}
}

// deaf listens with a queue that is full: what connects then waits.
func (r *rig) deaf(address string) {
	r.t.Helper()
	r.full(address)
	for range 8 {
		ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		cancel()
		if err != nil {
			return
		}
		r.t.Cleanup(func() { _ = c.Close() })
	}
	r.t.Fatal("the queue never fills")
}

// A dial that hangs ends with the time it has, and with its guest.
func TestDialEnds(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		r := newRig(t, []profiles.EgressRule{host("a.example", 5432)},
			func(c *proxy.Config) { c.DialWithin = 200 * time.Millisecond })
		r.Name("a.example", "93.184.216.34")
		r.deaf("93.184.216.34:5432")
		_, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%v", err)
		}
		if end := r.ends(1)[0]; end.End != proxy.EndError {
			t.Errorf("%+v", end)
		}
	})
	for name, end := range map[string]func(*rig){
		"with its guest":  func(r *rig) { r.guest.Close() },
		"with the egress": func(r *rig) { r.egress.Close() },
		"with its rule":   func(r *rig) { r.allow(); r.egress.Recheck() },
	} {
		t.Run(name, func(t *testing.T) {
			looking := make(chan struct{})
			r := newRig(t, []profiles.EgressRule{host("a.example", 5432)}, func(c *proxy.Config) {
				c.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) {
					close(looking)
					<-ctx.Done()
					return nil, ctx.Err()
				}
			})
			var work sync.WaitGroup
			var err error
			work.Go(func() { _, err = r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432")) })
			<-looking
			end(r)
			work.Wait()
			if name == "with its rule" {
				if code(err) != profiles.Code(dest.NotGranted) {
					t.Errorf("%v", err)
				}
				if ev := r.ends(1)[0]; ev.End != proxy.EndCut || ev.Before != 1 || ev.Generation != 2 {
					t.Errorf("%+v", ev)
				}
				return
			}
			if !errors.Is(err, proxy.ErrClosed) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A policy that changes between the decision and the dial, and whose Recheck went
// by before, still has its say: the connection is registered first, and decided
// again when it is open.
func TestSwapWhileDialing(t *testing.T) {
	var r *rig
	var swapped atomic.Bool
	r = newRig(t, []profiles.EgressRule{host("a.example", 5432)}, func(c *proxy.Config) {
		record := c.Record
		c.Record = func(ev proxy.Event) error {
			if ev.End == "" && ev.Decision.Verdict == profiles.Allow && swapped.CompareAndSwap(false, true) {
				r.allow(host("other.example")) // and no Recheck
			}
			return record(ev)
		}
	})
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	_, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
	if code(err) != profiles.Code(dest.NotGranted) {
		t.Errorf("%v", err)
	}
	if ev := r.ends(1)[0]; ev.End != proxy.EndCut || ev.Before != 1 || ev.Generation != 2 ||
		ev.Decision.Verdict != profiles.Deny {
		t.Errorf("%+v", ev)
	}
}

// Each decider has to allow, and none is no permission.
func TestDeciders(t *testing.T) {
	yes, no := policy("yes", host("a.example", 5432)), policy("no", host("b.example", 5432))
	for name, tt := range map[string]struct {
		list []*profiles.Decider
		code profiles.Code // "": allowed
	}{
		"none":          {nil, profiles.CodeClosed},
		"one":           {[]*profiles.Decider{yes}, ""},
		"nil":           {[]*profiles.Decider{nil}, profiles.CodeClosed},
		"both":          {[]*profiles.Decider{yes, yes}, ""},
		"the first not": {[]*profiles.Decider{no, yes}, profiles.Code(dest.NotGranted)},
		"the last not":  {[]*profiles.Decider{yes, no}, profiles.Code(dest.NotGranted)},
		"one is nil":    {[]*profiles.Decider{yes, nil}, profiles.CodeClosed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.deciders.Store(&tt.list)
			r.Name("a.example", "93.184.216.34")
			r.echo("93.184.216.34:5432")
			c, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432"))
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			if code(err) != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
		})
	}
	r := newRig(t, nil)
	g := r.egress.Open(proxy.Holder{Agent: "a"})
	defer g.Close()
	if _, err := g.Dial(t.Context(), proxy.ListenerFetch, target(t, "a.example:5432")); code(
		err) != profiles.CodeClosed {
		t.Errorf("a holder without deciders: %v", err)
	}
}

// A target whose requests are to be read is not reached by who does not read them.
func TestOpaque(t *testing.T) {
	rule := host("a.example", 80)
	rule.Methods, rule.Paths = []string{"GET"}, []string{"/public"}
	r := newRig(t, []profiles.EgressRule{rule})
	r.Name("a.example", "93.184.216.34")
	r.echo("93.184.216.34:80")
	d := target(t, "a.example:80")
	if _, err := r.guest.Dial(t.Context(), proxy.ListenerFetch, d); code(err) != profiles.Code(dest.Opaque) {
		t.Errorf("Dial: %v", err)
	}
	if _, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
		Listener: proxy.ListenerFetch, Dest: d, Method: "POST", Path: "/public"}); code(err) != profiles.Code(dest.Method) {
		t.Errorf("another method: %v", err)
	}
	if _, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
		Listener: proxy.ListenerFetch, Dest: d, Method: "GET", Path: "/secret"}); code(err) != profiles.Code(dest.Path) {
		t.Errorf("another path: %v", err)
	}
	c, err := r.guest.DialRequest(t.Context(), httpproxy.Request{
		Listener: proxy.ListenerFetch, Dest: d, Method: "GET", Path: "/public/x"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
