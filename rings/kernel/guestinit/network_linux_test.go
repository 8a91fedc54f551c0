package guestinit_test

import (
	"bufio"
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// listeningOrder is that of a guest with bash, whose network leads to its ring.
func listeningOrder(t *testing.T, stays bool) initproto.Order {
	t.Helper()
	o := orderOf(t, profiles.Kernel{Network: profiles.NetworkOwn, TempBytes: 1 << 20, Exec: rules("/usr/bin/sleep")},
		"/usr/bin/bash")
	o.Listen, o.Reap = &initproto.Listen{Proxy: 3128, Ports: []uint16{443, 80}}, stays
	return o
}

// handed takes the report of listeners, and these.
func (l *launched) handed() (r initproto.Report, by map[initproto.Listener]*os.File) {
	l.t.Helper()
	fds, err := l.receive(&r)
	if err != nil || r.Failed != "" {
		l.t.Fatalf("no listeners: %+v, %v", r, err)
	}
	return r, l.files(r.Listeners, fds)
}

func (l *launched) files(list []initproto.Listener, fds []int) map[initproto.Listener]*os.File {
	l.t.Helper()
	if len(fds) != len(list) {
		l.t.Fatalf("%d descriptors for %v", len(fds), list)
	}
	by := map[initproto.Listener]*os.File{}
	for i, fd := range fds {
		by[list[i]] = os.NewFile(uintptr(fd), "listener")
		l.t.Cleanup(func() { by[list[i]].Close() })
	}
	return by
}

// accept takes one connection, reads a line of it and returns where it went.
func accept(t *testing.T, f *os.File) (to, line string) {
	t.Helper()
	n, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	c, err := n.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	line, err = bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c.LocalAddr().String(), line
}

// TestListeners: what is sent to a port of any address arrives at the ring, which
// learns the address; what goes to the proxy arrives there; no other port does.
func TestListeners(t *testing.T) {
	for name, stays := range map[string]bool{"an init that stays": true, "one that becomes the program": false} {
		t.Run(name, func(t *testing.T) {
			l := launch(t, initOf(t, stays)...)
			l.send(listeningOrder(t, stays))
			r, by := l.handed()
			want := []initproto.Listener{
				{Kind: initproto.ListenProxy, Port: 3128}, {Kind: initproto.ListenPort, Port: 443}, {Kind: initproto.ListenPort, Port: 80},
				{Kind: initproto.ListenDNS, Port: 53}, {Kind: initproto.ListenDNS2, Port: 53},
			}
			if diff := cmp.Diff(want, r.Listeners); diff != "" {
				t.Errorf("listeners: %s", diff)
			}
			if state := l.stands().Layers[initproto.LayerEgress]; state != "enforced" {
				t.Errorf("the layer is %q", state)
			}
			script := `for to in 93.184.216.34/443 169.254.169.254/80 127.0.0.1/3128 10.0.0.1/53 2606:2800:220:1::1/443; do
				(echo $to >/dev/tcp/$to) 2>/dev/null; done
			for to in 93.184.216.34/3128 93.184.216.34/22 127.0.0.1/22; do (echo $to >/dev/tcp/$to) 2>/dev/null && echo reached $to; done; true`
			done := make(chan outcome, 1)
			go func() { done <- l.run("/usr/bin/bash", "--norc", "-c", script) }()
			for _, a := range []struct {
				by       initproto.Listener
				to, line string
			}{
				{want[1], "93.184.216.34:443", "93.184.216.34/443\n"}, {want[2], "169.254.169.254:80", "169.254.169.254/80\n"},
				{want[0], "127.0.0.1:3128", "127.0.0.1/3128\n"}, {want[4], "10.0.0.1:53", "10.0.0.1/53\n"},
				{want[1], "[2606:2800:220:1::1]:443", "2606:2800:220:1::1/443\n"},
			} {
				if a.to[0] == '[' && !r.IPv6 {
					continue
				}
				if to, line := accept(t, by[a.by]); to != a.to || line != a.line {
					t.Errorf("%s says %q, want %s and %q", to, line, a.to, a.line)
				}
			}
			if o := <-done; o.out != "" {
				t.Errorf("it says %q", o.out)
			}
		})
	}
}

// TestListensLater: an init that stays listens on more ports when it is asked, low
// ones too; one that the program has is left to it.
func TestListensLater(t *testing.T) {
	l := launch(t, initOf(t, true)...)
	o := listeningOrder(t, true)
	l.send(o)
	l.handed()
	l.stands()
	go l.run("/usr/bin/bash", "--norc", "-c",
		`until (echo later >/dev/tcp/192.0.2.1/88) 2>/dev/null; do sleep 0.01; done; exec sleep 60`)
	if !l.told().Started {
		t.Fatal("it does not start")
	}
	l.send(initproto.Ask{What: initproto.AskListen, Ports: []uint16{88, 443, 8443}})
	var told initproto.Told
	fds, err := l.receive(&told)
	if err != nil {
		t.Fatal(err)
	}
	by := l.files(told.Listeners, fds)
	// 443 is taken
	want := []initproto.Listener{{Kind: initproto.ListenPort, Port: 88}, {Kind: initproto.ListenPort, Port: 8443}}
	if diff := cmp.Diff(want, told.Listeners); diff != "" {
		t.Fatalf("listeners: %s", diff)
	}
	if to, line := accept(t, by[want[0]]); to != "192.0.2.1:88" || line != "later\n" {
		t.Errorf("%s says %q", to, line)
	}
	l.kill()
}

// TestNoListenersWithoutAnOrder: an init that was told of none makes none later,
// and ends over the question.
func TestNoListenersWithoutAnOrder(t *testing.T) {
	l, out := shell(t, "exec sleep 60", func(o *initproto.Order) { o.Network = initproto.NetworkOff })
	defer out.Close()
	l.send(initproto.Ask{What: initproto.AskListen, Ports: []uint16{88}})
	if code := l.wait(); code != 125 {
		t.Errorf("init ends with %d, want 125", code)
	}
}
