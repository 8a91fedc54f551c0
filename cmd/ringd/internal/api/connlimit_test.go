package api_test

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
)

// pipeConn is a connection that counts how often it was closed.
type pipeConn struct {
	net.Conn
	closed int
	err    error
}

func (l *pipeConn) Close() error { l.closed++; return l.err }

func TestRoom(t *testing.T) {
	r := api.NewRoom[string](2, 3)
	admit := func(from string, want bool) net.Conn {
		t.Helper()
		l := &pipeConn{err: errors.New("cut")}
		c, ok := r.Admit(l, from)
		if ok != want || (c != nil) != want || (l.closed == 0) != want {
			t.Errorf("%s: admitted %v, closed %d times", from, ok, l.closed)
		}
		return c
	}
	a := admit("a", true)
	b := admit("a", true)
	admit("a", false) // of one
	prove(a, b, admit("b", true))
	admit("c", false) // of all
	for range 2 {     // the second close gives nothing back
		if err := a.Close(); err == nil {
			t.Error("what closing says was lost")
		}
	}
	prove(admit("c", true))
	admit("a", false)
}

// prove says of connections that their callers are known.
func prove(all ...net.Conn) {
	for _, c := range all {
		c.(interface{ Prove() }).Prove()
	}
}

// TestStrangersMakeRoom: when all places are taken, the oldest connection of whoever
// has the most without a known caller is closed for one that has fewer.
func TestStrangersMakeRoom(t *testing.T) {
	r := api.NewRoom[string](3, 4)
	lines := map[string]*pipeConn{}
	admit := func(name string, want bool) net.Conn {
		t.Helper()
		lines[name] = &pipeConn{}
		c, ok := r.Admit(lines[name], name[:1])
		if ok != want {
			t.Errorf("%s: admitted %v", name, ok)
		}
		return c
	}
	closed := func(want ...string) {
		t.Helper()
		for name, l := range lines {
			if (l.closed > 0) != slices.Contains(want, name) {
				t.Errorf("%s was closed %d times; want closed: %v", name, l.closed, want)
			}
		}
	}
	prove(admit("a1", true))
	admit("a2", true)
	a3 := admit("a3", true)
	admit("b1", true)
	closed()
	prove(admit("c1", true))
	closed("a2")
	admit("d1", true) // a and b have one each: the older goes
	closed("a2", "a3")
	admit("d2", false) // it has as many as b
	closed("a2", "a3", "d2")
	if err := a3.Close(); err != nil { // gives nothing back again
		t.Error(err)
	}
	admit("d3", false)
	closed("a2", "a3", "d2", "d3")
}
