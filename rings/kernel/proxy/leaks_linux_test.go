package proxy_test

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// descriptors counts those of this process, but for the one that counts.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list) - 1
}

// leaves says something, and goes in one of the ways that there are.
func (r *rig) leaves(pick *rand.Rand, what string) {
	c, err := net.Dial("tcp", r.proxy)
	if err != nil {
		return // the listeners are closed
	}
	defer c.Close()
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // and then it goes
	if pick.IntN(3) == 0 {
		what = what[:pick.IntN(len(what))]
	}
	_, _ = io.WriteString(c, what)
	switch pick.IntN(5) {
	case 0: // with a reset, unread
		_ = tcp.SetLinger(0)
	case 1: // by halves, and not before the other
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	case 2: // in the middle of an answer
		_, _ = io.ReadFull(c, make([]byte, 5))
	case 3:
		_ = tcp.CloseRead()
		_, _ = io.WriteString(c, what)
	default:
	}
}

// However clients leave, at whichever stage, and whatever the policy and Close do
// meanwhile: nothing of them is left.
func TestNothingIsLeft(t *testing.T) {
	r := newRig(t, nil, func(c *proxy.Config) { c.FirstBytes = 100 * time.Millisecond })
	r.Name("a.example", "93.184.216.34")
	r.Name("read.example", "93.184.216.35")
	r.echo("93.184.216.34:5432")
	r.Sink("", 443)
	r.Sink("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", 80)
	rules := []profiles.EgressRule{
		{Host: "a.example", Ports: []int{5432, 443}, Limits: profiles.EgressLimits{Connections: 20}},
		{Host: "read.example", Ports: []int{80}, Methods: []string{"GET"}, Limits: profiles.EgressLimits{Connections: 5}},
	}
	r.allow(rules...)
	const get = "GET http://read.example/ HTTP/1.1\r\nHost: read.example\r\n\r\n"
	says := []string{
		"CONNECT a.example:5432 HTTP/1.1\r\nHost: a.example:5432\r\n\r\nearly bytes",
		"CONNECT a.example:443 HTTP/1.1\r\n\r\n" + string(clientHello(t, "a.example")),
		"CONNECT a.example:443 HTTP/1.1\r\n\r\n" + string(clientHello(t, "b.example")),
		"CONNECT read.example:80 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: read.example\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x15\x38early bytes",
		get + get + get, get + "POST http://read.example/ HTTP/1.1\r\nHost: read.example\r\nContent-Length: 9\r\n\r\n" +
			"123456789",
		"CONNECT b.example:5432 HTTP/1.1\r\n\r\n",
	}
	before := descriptors(t)
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			pick := rand.New(rand.NewPCG(uint64(w), 2))
			for i := range 120 {
				if w == 0 && i%5 == 4 {
					r.allow(rules[i/5%2:]...)
					r.egress.Recheck()
				}
				r.leaves(pick, says[pick.IntN(len(says))])
			}
		})
	}
	work.Wait()
	r.egress.Close()
	if n := r.guest.Open(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	began, ended := map[string]int{}, map[string]int{}
	for _, ev := range r.log() {
		switch {
		case ev.Connection != "" && ev.End != "":
			ended[ev.Connection]++
		case ev.Connection != "":
			began[ev.Connection]++
		}
	}
	for name, n := range began {
		if n != 1 || ended[name] != 1 {
			t.Errorf("%s began %d times and ended %d times", name, n, ended[name])
		}
	}
	if len(began) < 10 {
		t.Errorf("%d connections: nothing was tested", len(began))
	}
	// The servers of this internet see the end a little later.
	r.Settle(0)
	for limit := time.Now().Add(10 * time.Second); descriptors(t) >= before && time.Now().Before(limit); {
		continue
	}
	if now := descriptors(t); now >= before { // the listener itself is gone too
		t.Errorf("%d descriptors, of %d before", now, before)
	}
	t.Logf("%d connections", len(began))
}
