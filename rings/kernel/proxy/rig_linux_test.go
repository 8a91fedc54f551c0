package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

func TestMain(m *testing.M) {
	if code, over := proxytest.Enter(); over {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// rig is an Egress with one guest, whose policy a test changes, on an internet of
// its own.
type rig struct {
	*proxytest.Internet
	t        testing.TB
	egress   *proxy.Egress
	guest    *proxy.Guest
	proxy    string // its address
	deciders atomic.Pointer[[]*profiles.Decider]
	number   atomic.Int64 // generation

	mu      sync.Mutex
	events  []proxy.Event
	changed chan struct{}
	refuse  error // what Record says
}

// setting changes the Config of a rig.
type setting func(*proxy.Config)

func newRig(t testing.TB, rules []profiles.EgressRule, settings ...setting) *rig {
	t.Helper()
	r := &rig{Internet: proxytest.New(t), t: t, changed: make(chan struct{})}
	r.allow(rules...)
	var work sync.WaitGroup
	cfg := proxy.Config{Go: work.Go, Now: time.Now, Resolve: r.Resolve, Record: r.record}
	for _, s := range settings {
		s(&cfg)
	}
	var err error
	if r.egress, err = proxy.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.egress.Close()
		work.Wait()
		if n := len(r.log()); n > 0 && r.guest.Open() != 0 {
			t.Errorf("%d connections outlive the egress", r.guest.Open())
		}
	})
	r.guest = r.open()
	l := r.Listen("127.0.0.1:0")
	r.proxy = l.Addr().String()
	if err := r.guest.ServeProxy(l); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) open() *proxy.Guest {
	return r.egress.Open(proxy.Holder{
		Agent: "a", Executor: "python", Run: func() string { return "run" },
		Deciders:   func() []*profiles.Decider { return *r.deciders.Load() },
		Generation: r.number.Load,
	})
}

// policy is an agent that may reach what the rules say.
func policy(revision string, rules ...profiles.EgressRule) *profiles.Decider {
	a := profiles.Agent{Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: rules}}
	return profiles.NewDecider(a, revision, profiles.Environment{})
}

// allow puts another policy in force, and does not say so.
func (r *rig) allow(rules ...profiles.EgressRule) {
	n := r.number.Add(1)
	r.deciders.Store(&[]*profiles.Decider{policy(fmt.Sprint("r", n), rules...)})
}

// host is a rule for ports of a host; none: 443.
func host(name string, ports ...int) profiles.EgressRule {
	if len(ports) == 0 {
		ports = []int{443}
	}
	return profiles.EgressRule{Host: name, Ports: ports, Rule: profiles.Rule{
		File: "policy.cue", Line: 7, Path: "network.egress[0]"}}
}

func (r *rig) record(ev proxy.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return r.refuse
	}
	r.events = append(r.events, ev)
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

// log lists the events so far.
func (r *rig) log() []proxy.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// ends waits for n ends of connections, and lists them.
func (r *rig) ends(n int) []proxy.Event {
	r.t.Helper()
	return r.wait("ends", n, func(ev proxy.Event) bool { return ev.End != "" })
}

func (r *rig) wait(what string, n int, wanted func(proxy.Event) bool) []proxy.Event {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	for {
		r.mu.Lock()
		changed, all := r.changed, slices.Clone(r.events)
		r.mu.Unlock()
		got := slices.DeleteFunc(slices.Clone(all), func(ev proxy.Event) bool { return !wanted(ev) })
		if len(got) >= n {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.t.Fatalf("%d of %d %s came; on record: %+v", len(got), n, what, all)
		}
	}
}

// dial opens a connection to the proxy.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	c, err := (&net.Dialer{}).DialContext(r.t.Context(), "tcp", r.proxy)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// connect asks for a tunnel, with early bytes behind the request, and gives the
// answer and the connection behind it.
func (r *rig) connect(target string, early ...byte) (*http.Response, *tunnel) {
	r.t.Helper()
	c := r.dial()
	if _, err := c.Write(append([]byte("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"),
		early...)); err != nil {
		r.t.Fatal(err)
	}
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		r.t.Fatalf("connect %s: %v", target, err)
	}
	return res, &tunnel{Conn: c, in: in}
}

// tunnel is connect for a target that is allowed.
func (r *rig) tunnel(target string, early ...byte) *tunnel {
	r.t.Helper()
	res, c := r.connect(target, early...)
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		r.t.Fatalf("connect %s: %s: %s", target, res.Status, b)
	}
	return c
}

type tunnel struct {
	net.Conn
	in *bufio.Reader
}

func (c *tunnel) Read(b []byte) (int, error) { return c.in.Read(b) }

// CloseWrite is that of the connection.
func (c *tunnel) CloseWrite() error {
	h, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("no half of it closes")
	}
	return h.CloseWrite()
}

// full listens on address with the shortest queue there is, and accepts nothing.
func (r *rig) full(address string) {
	r.t.Helper()
	at := netip.MustParseAddrPort(address)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		r.t.Fatal(err)
	}
}

// echo makes address answer with what it is sent.
func (r *rig) echo(address string) {
	l := r.Listen(address)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
}

// says writes text and wants it back.
func says(t testing.TB, c io.ReadWriter, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	hears(t, c, text)
}

func hears(t testing.TB, c io.Reader, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v, want %q", b, err, text)
	}
}

// gone waits until a connection is reset or closed.
func gone(t testing.TB, c net.Conn) error {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatal("the connection lives on")
	}
	return err
}

// clientHello is one of crypto/tls, for a server.
func clientHello(t testing.TB, server string) []byte {
	t.Helper()
	var out bytes.Buffer
	c := tls.Client(hearing{&out}, &tls.Config{ServerName: server, InsecureSkipVerify: server == ""})
	if err := c.HandshakeContext(t.Context()); !errors.Is(err, errHeard) {
		t.Fatal(err)
	}
	return out.Bytes()
}

var errHeard = errors.New("heard enough")

// hearing is a connection that keeps what is written to it.
type hearing struct{ out *bytes.Buffer }

func (h hearing) Write(b []byte) (int, error)      { return h.out.Write(b) }
func (h hearing) Read([]byte) (int, error)         { return 0, errHeard }
func (h hearing) Close() error                     { return nil }
func (h hearing) LocalAddr() net.Addr              { return nil }
func (h hearing) RemoteAddr() net.Addr             { return nil }
func (h hearing) SetDeadline(time.Time) error      { return nil }
func (h hearing) SetReadDeadline(time.Time) error  { return nil }
func (h hearing) SetWriteDeadline(time.Time) error { return nil }

func target(t testing.TB, text string) dest.Dest {
	t.Helper()
	d, r := dest.ParseAuthority(text)
	if r != nil {
		t.Fatal(r)
	}
	return d
}

func addrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(list))
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func code(err error) profiles.Code {
	var d *profiles.Denial
	if errors.As(err, &d) {
		return d.Decision.Code
	}
	return profiles.Code(fmt.Sprint("no denial: ", err))
}
