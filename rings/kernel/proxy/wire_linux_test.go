package proxy_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/proxytest"
)

// reached is what every server of this internet answers.
const reached = "HTTP/1.1 200 OK\r\nX-Reached: 1\r\nContent-Length: 0\r\n\r\n"

// patience is how long anything may take.
const patience = 30 * time.Second

// stage is a guest with the policy of one row of a corpus. The row is sent to the listeners of the guest as a
// client would send it, on an internet of the test's own. What is allowed reaches its target there, at the
// address that the row names. No byte of what is denied arrives anywhere, and of most rows not even a lookup is
// made. The outcome equals that of Decider.Egress.
type stage struct {
	*row
	t        *testing.T
	internet *proxytest.Internet
	guest    *proxy.Guest
	end      func()
	from     int // arrivals before

	silent     bool // nothing was said in the tunnel
	unfinished bool // what was said ends in the middle: nothing is to be decided

	mu      sync.Mutex
	lookups []string
	events  []proxy.Event
}

func newStage(t *testing.T, internet *proxytest.Internet, r *row) (*stage, *profiles.Decider) {
	t.Helper()
	s := &stage{row: r, t: t, internet: internet, from: len(internet.Arrivals())}
	d := profiles.NewDecider(r.agent(), "r", profiles.Environment{Now: time.Now()})
	var work sync.WaitGroup
	e, err := proxy.New(proxy.Config{Go: work.Go, Now: time.Now, Resolve: s.resolve, Record: s.record})
	if err != nil {
		t.Fatal(err)
	}
	s.guest = e.Open(proxy.Holder{
		Agent: "a", Executor: "python", Run: func() string { return "" },
		Deciders: func() []*profiles.Decider { return []*profiles.Decider{d} }, Generation: func() int64 { return 1 },
	})
	s.end = sync.OnceFunc(func() { e.Close(); work.Wait() })
	t.Cleanup(s.end)
	return s, d
}

func (s *stage) record(ev proxy.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ev)
	return nil
}

// resolve answers as the row says.
func (s *stage) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.lookups)
	s.lookups = append(s.lookups, name)
	texts := s.Request.ResolvesTo
	switch {
	case s.Request.NoDNS:
		texts = nil
	case texts == nil:
		texts = []string{public}
	case s.Request.ResolveMode == "" && len(texts) > 0:
		texts = texts[min(n, len(texts)-1):][:1]
	}
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return out, nil
}

// proxy opens a connection to the proxy of the guest.
func (s *stage) proxy() net.Conn {
	s.t.Helper()
	l := s.internet.Listen("127.0.0.1:0")
	if err := s.guest.ServeProxy(l); err != nil {
		s.t.Fatal(err)
	}
	return s.dial(l.Addr().String())
}

func (s *stage) dial(address string) net.Conn {
	s.t.Helper()
	c, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// answered reports whether c has the answer of a server. A connection that stays
// without one is a fault: whoever is refused is told, or reset.
func (s *stage) answered(c net.Conn, in *bufio.Reader) bool {
	s.t.Helper()
	b := make([]byte, len(reached))
	_, err := io.ReadFull(in, b)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		s.t.Error("neither reached nor refused")
	}
	c.Close()
	return err == nil && string(b) == reached
}

// play sends the row through the proxy; played is false of what no client can send.
func (s *stage) play() (allowed, played bool) {
	s.t.Helper()
	raw := s.raw(s.t)
	switch q := s.Request; {
	case raw != "" && q.Kind != "socks5" && strings.HasPrefix(raw, "CONNECT ") != (q.Kind == "connect"):
		return false, false // one listener for both tells them apart by that
	case slices.ContainsFunc(q.Headers, func(h [2]string) bool { return strings.ContainsAny(h[0]+h[1], "\r\n") }):
		return false, false // it is another message
	}
	switch s.Request.Kind {
	case "connect":
		return s.connect(), true
	case "http":
		return s.http(), true
	case "socks5":
		return s.socks()
	}
	return false, false
}

// head writes the head of a request out of the parts of a row.
func (s *stage) head(method, target, host string) string {
	q := s.Request
	if q.HostHeader != nil {
		host = *q.HostHeader
	}
	named := slices.ContainsFunc(q.Headers, func(h [2]string) bool { return strings.EqualFold(h[0], "Host") })
	out := method + " " + target + " HTTP/1.1\r\n"
	if !named || q.HostHeader != nil {
		out += "Host: " + host + "\r\n"
	}
	for _, h := range q.Headers {
		out += h[0] + ": " + h[1] + "\r\n"
	}
	return out + "\r\n"
}

func (s *stage) connect() bool {
	c := s.proxy()
	wire := s.raw(s.t)
	if wire == "" {
		wire = s.head(or(s.Request.Method, "CONNECT"), s.Request.Target, s.Request.Target)
	}
	s.sendHead(c, wire)
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil || res.StatusCode != http.StatusOK {
		s.explained(res)
		return false
	}
	host, port, _ := split(s.Request.Target)
	if asked, _, err := parseRequest([]byte(wire)); err == nil {
		host, port, _ = split(string(asked.Authority))
	}
	return s.speak(c, in, host, port)
}

// sendHead sends what begins with a head.
func (s *stage) sendHead(c net.Conn, wire string) {
	s.t.Helper()
	if _, err := io.WriteString(c, wire); err != nil {
		s.t.Log(err) // it may be refused before its end
	}
	if _, _, err := parseRequest([]byte(wire)); errors.Is(err, httphead.ErrMore) {
		s.finish(c)
	}
}

// speak sends what comes first in a tunnel. What says nothing is over at once; it
// is allowed where nothing has to be said.
func (s *stage) speak(c net.Conn, in *bufio.Reader, host string, port uint16) bool {
	first := s.first(host, port)
	if _, err := io.WriteString(c, first); err != nil {
		return false
	}
	_, err := clienthello.Parse([]byte(first))
	if s.silent = first == ""; s.silent || port == 443 && errors.Is(err, clienthello.ErrMore) {
		s.finish(c)
	}
	reached := s.answered(c, in)
	return reached || s.silent && port != 443
}

// finish says that nothing more comes, so that nobody waits for it.
func (s *stage) finish(c net.Conn) {
	s.t.Helper()
	s.unfinished = true
	if half, ok := c.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		s.t.Log("it is over already")
	}
}

// explained holds that an answer of a proxy says why.
func (s *stage) explained(res *http.Response) {
	s.t.Helper()
	if res == nil {
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	code, status := res.Header.Get("X-Ringd-Deny"), http.StatusForbidden
	if code == string(profiles.CodeEgressNoAddress) {
		status = http.StatusBadGateway
	}
	if err != nil || res.StatusCode != status || code == "" || !strings.Contains(string(body), code) {
		s.t.Errorf("refused with %s, %q, %v", res.Status, body, err)
	}
	for _, secret := range s.Request.ResolvesTo {
		if strings.Contains(string(body), secret) && !strings.Contains(s.Request.Target, secret) &&
			!slices.ContainsFunc(s.Allow, func(e string) bool { return strings.Contains(e, secret) }) {
			s.t.Errorf("the answer tells an address: %s", body)
		}
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (s *stage) http() bool {
	c := s.proxy()
	wire := s.raw(s.t)
	if wire == "" {
		_, rest, _ := strings.Cut(s.Request.Target, "://")
		host := rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			host = rest[:i]
		}
		wire = s.head(or(s.Request.Method, "GET"), s.Request.Target, host) + s.body()
	}
	s.sendHead(c, wire)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	switch {
	case err == nil && res.Header.Get("X-Reached") != "":
		res.Body.Close()
		return true
	case err == nil:
		s.explained(res)
	default:
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			s.t.Error("neither reached nor refused")
		}
	}
	return false
}

// body is one for the framing that a row gives.
func (s *stage) body() string {
	for _, h := range s.Request.Headers {
		var n int
		switch {
		case strings.EqualFold(h[0], "Transfer-Encoding"):
			return "0\r\n\r\n"
		case strings.EqualFold(h[0], "Content-Length"):
			if _, err := fmt.Sscan(h[1], &n); err == nil && n > 0 && n < 1<<16 {
				return strings.Repeat("b", n)
			}
		}
	}
	return ""
}

func (s *stage) socks() (allowed, played bool) {
	wire := s.raw(s.t)
	host, port, ok := split(s.Request.Target)
	if wire == "" {
		if wire = socksRequest(s.Request.Cmd, s.Request.Atyp, host, port); !ok || wire == "" {
			return false, false
		}
		wire = "\x05\x01\x00" + wire
	}
	c := s.proxy()
	if _, err := io.WriteString(c, wire); err != nil {
		return false, true
	}
	if n, err := socks.ReadGreeting([]byte(wire)); err == nil {
		if _, _, err = socks.ReadRequest([]byte(wire)[n:]); errors.Is(err, socks.ErrMore) {
			s.finish(c)
		}
	}
	in := bufio.NewReader(c)
	b := make([]byte, 12)
	if _, err := io.ReadFull(in, b); err != nil || b[1] != 0 || b[3] != 0 {
		return false, true
	}
	return s.speak(c, in, host, port), true
}

// socksRequest is empty where a client cannot send it.
func socksRequest(cmd, atyp, host string, port uint16) string {
	a, is := literal(host)
	out := "\x05" + string(rune(map[string]int{"": 1, "connect": 1, "bind": 2, "udp": 3}[cmd])) + "\x00"
	switch {
	case atyp == "domain" || atyp == "" && !is:
		if len(host) > 255 {
			return ""
		}
		out += "\x03" + vector(1, host)
	case !is || atyp == "ipv4" && !a.Is4() || atyp == "ipv6" && !a.Is6():
		return ""
	case a.Is4():
		out += "\x01" + string(a.AsSlice())
	default:
		out += "\x04" + string(a.AsSlice())
	}
	return out + string(binary.BigEndian.AppendUint16(nil, port))
}

// arrived lists what reached a server because of this row: those that were dialed,
// and those that got a byte.
func (s *stage) arrived() (dialed, told []proxytest.Arrival) {
	s.t.Helper()
	s.end()
	// A listener accepts in order: what came before the mark is listed once it is.
	for _, port := range s.ports() {
		mark := fmt.Sprintf("mark %s %d %d", s.t.Name(), port, s.from)
		c := s.dial(netip.AddrPortFrom(netip.MustParseAddr("203.0.113.99"), port).String())
		if _, err := io.WriteString(c, mark); err != nil {
			s.t.Fatal(err)
		}
		s.internet.Await("the mark", func(a proxytest.Arrival) bool { return a.Data == mark })
		c.Close()
	}
	s.internet.Settle(s.from) // s.end has ended all that there was
	for _, a := range s.internet.Arrivals()[s.from:] {
		if strings.HasPrefix(a.Data, "mark ") {
			continue
		}
		if dialed = append(dialed, a); a.Data != "" {
			told = append(told, a)
		}
	}
	return dialed, told
}

// late says of codes that they come after a connection was made, or a name was
// looked up.
func late(code profiles.Code) (dialed, lookedUp bool) {
	switch code {
	case profiles.CodeEgressSNI, profiles.CodeEgressECH, profiles.CodeEgressNotTLS:
		return true, true
	case profiles.CodeEgressAddress, profiles.CodeEgressNoAddress:
		return false, true
	}
	return false, false
}

// judge holds what happened against the row and what is decided of it.
func (s *stage) judge(allowed bool, decided profiles.Decision) {
	s.t.Helper()
	dialed, told := s.arrived()
	verdict := profiles.Deny
	if allowed && (len(told) > 0 || s.silent && len(dialed) > 0) {
		verdict = profiles.Allow
	}
	if verdict.String() != s.Expect || decided.Verdict != verdict {
		s.t.Errorf("%s: %s over the wire, %s (%s: %s) when asked, want %s; arrived %v", s.Why, verdict, decided.Verdict,
			decided.Code, decided.Reason, s.Expect, told)
	}
	if verdict == profiles.Allow {
		s.pinned(dialed, decided)
		return
	}
	mayDial, mayLook := late(decided.Code)
	if len(told) > 0 || len(dialed) > 0 && !mayDial {
		s.t.Errorf("denied, and this arrived: %v", dialed)
	}
	if len(s.lookups) > 0 && !mayLook || len(s.lookups) > 1 {
		s.t.Errorf("denied, and looked up %q", s.lookups)
	}
	// A target that breaks out of its line is another message on the wire.
	broken := strings.ContainsFunc(s.Request.Target, func(c rune) bool { return c <= ' ' || c == 0x7f }) &&
		s.Request.Kind != "socks5"
	if code := s.code(); code != decided.Code && !broken && !s.unfinished {
		s.t.Errorf("on record is %q, decided is %q", code, decided.Code)
	}
}

// pinned holds that nothing but the address that was decided on was dialed.
func (s *stage) pinned(dialed []proxytest.Arrival, decided profiles.Decision) {
	s.t.Helper()
	want := or(s.MustDial, or(decided.Dial, public))
	host, _, _ := split(s.Request.Target)
	if a, ok := literal(host); ok && s.MustDial == "" && decided.Dial == "" {
		want = a.Unmap().String()
	}
	for _, a := range dialed {
		if a.To.Addr().String() != want {
			s.t.Errorf("dialed %s, want %s", a.To, want)
		}
	}
	if len(dialed) != 1 || len(s.lookups) > 1 {
		s.t.Errorf("dialed %v after %q", dialed, s.lookups)
	}
}

// code is that of the last refusal on record.
func (s *stage) code() profiles.Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range slices.Backward(s.events) {
		if ev.Decision.Verdict != profiles.Allow {
			return ev.Decision.Code
		}
	}
	return ""
}

// newInternet has a server on every port that a row could lead to.
func newInternet(t *testing.T, all []row) *proxytest.Internet {
	t.Helper()
	internet := proxytest.New(t)
	var ports []uint16
	for i := range all {
		ports = append(ports, all[i].ports()...)
	}
	slices.Sort(ports)
	internet.Sink(reached, slices.Compact(ports)...)
	return internet
}

// TestProxy plays every row that a client of a proxy can send.
func TestProxy(t *testing.T) {
	all := rows(t)
	internet := newInternet(t, all)
	played := 0
	for i := range all {
		r := &all[i]
		if r.Request.Kind == "fetch" || r.Request.Kind == "dns" {
			continue
		}
		t.Run(r.ID+" "+r.Category, func(t *testing.T) {
			s, d := newStage(t, internet, r)
			allowed, ok := s.play()
			if !ok {
				if r.Expect != "deny" && d.Egress(r.Request.Action).Verdict != profiles.Deny {
					t.Error("no client can send what is allowed")
				}
				return
			}
			played++
			s.judge(allowed, d.Egress(r.Request.Action))
		})
	}
	if played < 400 {
		t.Errorf("%d rows were played", played)
	}
}

// TestSinksSee: what is denied for want of an entry arrives once there is one, so
// that a listener which let it out would be seen to.
func TestSinksSee(t *testing.T) {
	all := rows(t)
	internet := newInternet(t, all)
	seen := 0
	for i := range all {
		r := all[i]
		host, port, ok := split(r.Request.Target)
		if r.Request.Kind != "connect" && r.Request.Kind != "socks5" || !ok || port == 0 {
			continue
		}
		d := profiles.NewDecider(r.agent(), "r", profiles.Environment{Now: time.Now()})
		if code := d.Egress(r.Request.Action).Code; code != profiles.CodeEgressNotGranted &&
			code != profiles.CodeEgressPort {
			continue
		}
		r.Allow = append(slices.Clone(r.Allow), fmt.Sprintf("%s:%d", strings.TrimSuffix(host, "."), port))
		r.Expect, r.Why = "allow", "listed for once: "+r.Why
		d = profiles.NewDecider(r.agent(), "r", profiles.Environment{Now: time.Now()})
		if d.Egress(r.Request.Action).Verdict != profiles.Allow {
			continue // for another reason as well
		}
		seen++
		t.Run(r.ID, func(t *testing.T) {
			s, d := newStage(t, internet, &r)
			allowed, _ := s.play()
			s.judge(allowed, d.Egress(r.Request.Action))
		})
	}
	if seen < 10 {
		t.Errorf("%d rows", seen)
	}
}

// TestSecond plays what is refused of plain HTTP behind a request that is not, on
// one connection: what was decided of the first one is of no use to it.
func TestSecond(t *testing.T) {
	const ordinary = "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	all := rows(t)
	internet := newInternet(t, all)
	played := 0
	for i := range all {
		r := &all[i]
		if raw := r.raw(t); r.Request.Kind != "http" || r.Expect != "deny" || r.Request.ResolvesTo != nil ||
			!slices.Contains(r.Allow, "api.example.com:80") ||
			raw == "" || strings.HasPrefix(raw, "CONNECT ") || strings.HasPrefix(raw, ordinary) {
			continue
		}
		played++
		t.Run(r.ID+" "+r.Category, func(t *testing.T) {
			s, _ := newStage(t, internet, r)
			c := s.proxy()
			s.sendHead(c, ordinary)
			in := bufio.NewReader(c)
			res, err := http.ReadResponse(in, nil)
			if err != nil || res.Header.Get("X-Reached") == "" {
				t.Fatalf("the first request: %v, %v", res, err)
			}
			s.sendHead(c, r.raw(t))
			if res, err = http.ReadResponse(in, nil); err == nil {
				s.explained(res)
			}
			_, told := s.arrived()
			if len(told) != 1 {
				t.Fatalf("%s: arrived %v", r.Why, told)
			}
			if _, n, err := parseRequest([]byte(told[0].Data)); err != nil || n != len(told[0].Data) {
				t.Errorf("%s: arrived %q, %v", r.Why, told[0].Data, err)
			}
		})
	}
	if played < 250 {
		t.Errorf("%d rows were played", played)
	}
}

// parseRequest reads one head.
func parseRequest(wire []byte) (httphead.Request, int, error) {
	var r httphead.Request
	n, err := r.Read(wire)
	return r, n, err
}
