package port_test

import (
	"errors"
	"net"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api/port"
)

// line is a connection that counts how often it was closed.
type line struct {
	net.Conn
	closed int
	err    error
}

func (l *line) Close() error { l.closed++; return l.err }

func TestRoom(t *testing.T) {
	r := port.NewRoom[string](2, 3)
	admit := func(from string, want bool) net.Conn {
		t.Helper()
		l := &line{err: errors.New("cut")}
		c, ok := r.Admit(l, from)
		if ok != want || (c != nil) != want || (l.closed == 0) != want {
			t.Errorf("%s: admitted %v, closed %d times", from, ok, l.closed)
		}
		return c
	}
	a := admit("a", true)
	admit("a", true)
	admit("a", false) // of one
	admit("b", true)
	admit("c", false) // of all
	for range 2 {     // the second close gives nothing back
		if err := a.Close(); err == nil {
			t.Error("what closing says was lost")
		}
	}
	admit("c", true)
	admit("a", false)
}
