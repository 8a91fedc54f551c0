package conn // connection is not exported, and the guests of the other tests answer when they like

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
)

func TestWatch(t *testing.T) {
	tests := []struct {
		name   string
		busy   bool // another connection is being watched
		begin  func(c Connection, far *os.File) error
		ok     bool
		text   string
		err    error // of Watch
		onward error // of Read, when Watch leaves it to Read
	}{
		{name: "bytes", begin: func(_ Connection, far *os.File) error { _, err := far.WriteString("pid"); return err }, ok: true, text: "pid"},
		{name: "nothing", begin: func(Connection, *os.File) error { return nil }},
		{name: "the guest is gone", begin: func(_ Connection, far *os.File) error { return far.Close() }, ok: true, err: io.EOF},
		{name: "its last words", begin: func(_ Connection, far *os.File) error {
			_, err := far.WriteString("bye")
			return errors.Join(err, far.Close())
		}, ok: true, text: "bye"},
		{name: "closed here", begin: func(c Connection, _ *os.File) error { return c.Close() }, onward: os.ErrClosed},
		{name: "one at a time", busy: true, begin: func(_ Connection, far *os.File) error { _, err := far.WriteString("pid"); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ours, far, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			var watching atomic.Bool
			watching.Store(tt.busy)
			c := New(ours, &watching)
			defer func() { _, _ = c.Close(), far.Close() }()
			if err := tt.begin(c, far); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 16)
			n, ok, err := c.Watch(p)
			if ok != tt.ok || string(p[:n]) != tt.text || !errors.Is(err, tt.err) || watching.Load() != tt.busy {
				t.Errorf("%q %v %v, watching %v", p[:n], ok, err, watching.Load())
			}
			if tt.onward != nil {
				if _, err := c.Read(p); !errors.Is(err, tt.onward) {
					t.Errorf("read: %v, want %v", err, tt.onward)
				}
			}
		})
	}
}
