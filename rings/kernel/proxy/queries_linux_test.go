package proxy

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

func echo(query []byte) []byte {
	if string(query) == "nothing nothing" {
		return nil
	}
	return append([]byte("to "), query...)
}

// TestPackets: a program takes an answer from the address alone that it has asked,
// and it may ask any.
func TestPackets(t *testing.T) {
	for _, network := range []struct{ name, listen string }{{"udp", "[::]:53"}, {"udp4", "0.0.0.0:53"}} {
		t.Run(network.name, func(t *testing.T) {
			c, err := (&net.ListenConfig{}).ListenPacket(t.Context(), network.name, network.listen)
			if err != nil {
				t.Fatal(err)
			}
			p, err := newQueryPackets(c)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { defer close(done); p.Serve(echo, func() bool { return false }) }()
			for _, to := range []string{"127.0.0.1:53", "8.8.8.8:53", "10.0.0.2:53", "[2001:4860:4860::8888]:53"} {
				if to[0] == '[' && network.name == "udp4" {
					continue
				}
				c, err := (&net.Dialer{}).DialContext(t.Context(), "udp", to) // connected: of others it takes nothing
				if err != nil {
					t.Fatal(err)
				}
				if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
					t.Fatal(err)
				}
				io.WriteString(c, "nothing nothing")
				io.WriteString(c, to)
				b := make([]byte, 100)
				if n, err := c.Read(b); err != nil || string(b[:n]) != "to "+to {
					t.Errorf("%s answers %q, %v", to, b[:n], err)
				}
				c.Close()
			}
			p.Close()
			<-done
		})
	}
}

func TestNoPackets(t *testing.T) {
	c, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "unixgram", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newQueryPackets(c); err == nil {
		t.Error("a socket of another kind is served")
	}
}

// TestStream: queries follow each other, in pieces or together; one too long, or
// without an answer, ends it.
func TestStream(t *testing.T) {
	frame := func(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }
	for _, tt := range []struct{ name, sent, want string }{
		{"two at once", frame("the first query") + frame("the second query"), frame("to the first query") + frame("to the second query")},
		{"nothing", "", ""},
		{"half a query", frame("the first query")[:9], ""},
		{"shorter than a query", frame("x"), ""},
		{"longer than a query", "\xff\xff" + string(make([]byte, 100)), ""},
		{"one without an answer", frame("nothing nothing") + frame("the second query"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				serveStream(there, echo)
				there.Close()
			}()
			go func() {
				for i := range tt.sent {
					if _, err := io.WriteString(here, tt.sent[i:i+1]); err != nil {
						return
					}
				}
				if tt.want == "" {
					here.Close()
				}
			}()
			got := make([]byte, len(tt.want))
			if _, err := io.ReadFull(here, got); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			here.Close()
		})
	}
}
