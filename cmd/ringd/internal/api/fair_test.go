package api // fair has no exported name

import (
	"errors"
	"net"
	"testing"
)

// queue is a listener of connections that are there already.
type queue struct {
	net.Listener
	conns []net.Conn
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

// cut is a connection that the other side has cut: closing it fails.
type cut struct{ net.Conn }

func (cut) Close() error { return errors.New("cut") }

// A connection too many whose closing fails does not end the listener.
func TestFairOutlivesRefused(t *testing.T) {
	q := &queue{conns: []net.Conn{cut{}, cut{}, cut{}, cut{}}}
	f := &fairListener{Listener: q, room: NewRoom[uint32](1, 0)}
	first, err := f.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // its place is free, whatever Close says
	if _, err := f.Accept(); err != nil {
		t.Errorf("after a close that failed: %v", err)
	}
	if c, err := f.Accept(); !errors.Is(err, net.ErrClosed) || c != nil || len(q.conns) != 0 {
		t.Errorf("%d connections left, %v: the refused ended it", len(q.conns), err)
	}
}

// TestNobodyHasOneRoom: peers without a role have the places of one peer together.
func TestNobodyHasOneRoom(t *testing.T) {
	f := &fairListener{
		room:   NewRoom[uint32](2, 0),
		nobody: NewRoom[bool](2, 0),
		known:  func(p peer) bool { return p.uid < 10 },
	}
	for _, tt := range []struct {
		uid  uint32
		want bool
	}{{1, true}, {1, true}, {1, false}, {2, true}, {100, true}, {101, true}, {102, false}, {3, true}} {
		if _, got := f.admit(cut{}, peer{uid: tt.uid, known: true}); got != tt.want {
			t.Errorf("uid %d is admitted: %v", tt.uid, got)
		}
	}
}
