package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress/dnsmsg"
)

// aimed is a listener as in a guest's network, where the local address of a
// connection is where it was meant to go.
type aimed struct {
	net.Listener
	to netip.AddrPort
}

func (a aimed) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return aimedConn{c.(*net.TCPConn), a.to}, nil
}

type aimedConn struct {
	*net.TCPConn
	to netip.AddrPort
}

func (c aimedConn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.to) }

// query asks for the address of a name; it is nil of what is no name on the wire.
func query(name string, kind dnsmessage.Type) []byte {
	out := []byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 {
			return nil
		}
		out = append(append(out, byte(len(label))), label...)
	}
	if len(out) > 12+254 {
		return nil
	}
	return append(out, 0, byte(kind>>8), byte(kind), 0, 1)
}

// ask asks the resolver of the guest.
func (s *stage) ask(q []byte) dnsmessage.Message {
	s.t.Helper()
	l := s.internet.Listen("127.0.0.1:0")
	if err := s.guest.ServeDNS(l, true); err != nil {
		s.t.Fatal(err)
	}
	c := s.dial(l.Addr().String())
	defer c.Close()
	if _, err := c.Write(dnsmsg.AppendFrame(nil, q)); err != nil {
		s.t.Fatal(err)
	}
	size := make([]byte, 2)
	if _, err := io.ReadFull(c, size); err != nil {
		s.t.Fatal(err)
	}
	raw := make([]byte, int(size[0])<<8|int(size[1]))
	if _, err := io.ReadFull(c, raw); err != nil {
		s.t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// standsFor is the address that the resolver of the guest gives for a name; it is
// not valid of a name that is not there.
func (s *stage) standsFor(q []byte) netip.Addr {
	s.t.Helper()
	m := s.ask(q)
	if (m.RCode == dnsmessage.RCodeSuccess) != (len(m.Answers) == 1) {
		s.t.Fatalf("answered %v, %v", m.RCode, m.Answers)
	}
	for _, a := range m.Answers {
		if body, ok := a.Body.(*dnsmessage.AResource); ok {
			return netip.AddrFrom4(body.A)
		}
	}
	return netip.Addr{}
}

// transparently reports what comes of a connection of a program that knows no
// proxy: it asks for the name, and connects to what it is told. played is false
// of what a program cannot do.
func (s *stage) transparently() (allowed, played bool) {
	s.t.Helper()
	host, port, ok := split(s.Request.Target)
	to, isAddr := literal(host)
	switch {
	case !ok || port == 0 || isAddr && to.Is6() && host[0] != '[', s.Request.Atyp != "" &&
		s.Request.Atyp != kindOf(to, isAddr):
		return false, false
	case isAddr && standIns.Contains(to):
		// The policy lists an address of the range that stands for names in a guest: it
		// is reached through the proxy alone.
		return false, false
	case !isAddr:
		q := query(host, dnsmessage.TypeA)
		if q == nil {
			return false, false
		}
		if to = s.standsFor(q); !to.IsValid() {
			return false, true
		}
	}
	l := s.internet.Listen("127.0.0.1:0")
	if err := s.guest.ServeTransparent(aimed{l, netip.AddrPortFrom(to, port)}); err != nil {
		s.t.Fatal(err)
	}
	c, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", l.Addr().String())
	if errors.Is(err, syscall.ECONNRESET) {
		return false, true
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	return s.speak(c, bufio.NewReader(c), host, port), true
}

// kindOf is the type of a target, as SOCKS has them.
func kindOf(a netip.Addr, isAddr bool) string {
	switch {
	case !isAddr:
		return "domain"
	case a.Is4():
		return "ipv4"
	default:
		return "ipv6"
	}
}

// standIns are the addresses that stand for names.
var standIns = netip.MustParsePrefix("198.18.0.0/15")

// TestTransparent plays the rows of tunnels once more, by programs that know no
// proxy.
func TestTransparent(t *testing.T) {
	all := rows(t)
	internet := newInternet(t, all)
	played := 0
	for i := range all {
		r := &all[i]
		q := r.Request
		if q.Kind != "connect" && q.Kind != "socks5" || q.Raw != "" || q.RawHex != "" || q.HostHeader != nil ||
			len(q.Headers) > 0 || q.Cmd != "" && q.Cmd != "connect" {
			continue
		}
		t.Run(r.ID+" "+r.Category, func(t *testing.T) {
			s, d := newStage(t, internet, r)
			allowed, ok := s.transparently()
			if !ok {
				return
			}
			played++
			decided := d.Egress(r.Request.Action)
			s.end()
			if decided.Verdict == profiles.Deny && !s.unfinished {
				decided.Code = s.code() // that of the resolver, where it says no first
			}
			s.judge(allowed, decided)
		})
	}
	if played < 50 {
		t.Errorf("%d rows were played", played)
	}
}

// TestNames plays the rows of questions for names, of every type: a name that is
// not listed does not exist, one that is has an address of the guest's own, and
// nobody is asked.
func TestNames(t *testing.T) {
	all := rows(t)
	internet := newInternet(t, all)
	for i := range all {
		r := &all[i]
		if r.Request.Kind != "dns" {
			continue
		}
		t.Run(r.ID+" "+r.Category, func(t *testing.T) {
			s, d := newStage(t, internet, r)
			q := query(r.Request.Target, dnsmessage.TypeA)
			verdict := profiles.Deny
			if q != nil && s.standsFor(q).IsValid() {
				verdict = profiles.Allow
			}
			if got := d.Egress(r.Request.Action); verdict.String() != r.Expect || got.Verdict != verdict {
				t.Errorf("%s: %s by the resolver, %s when asked, want %s", r.Why, verdict, got.Verdict, r.Expect)
			}
			if dialed, _ := s.arrived(); len(dialed) > 0 || len(s.lookups) > 0 {
				t.Errorf("a question led to %v and %q", dialed, s.lookups)
			}
		})
	}
}
