package executors // patience is not exported: what it saves is only seen in counts

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestPatience(t *testing.T) {
	tests := []struct {
		name    string
		reads   int
		pays    func(read int) bool
		watches int // bounds, both inclusive
		most    int
	}{
		{"always quick", 1000, func(int) bool { return true }, 1000, 1000},
		{"never quick", 1000, func(int) bool { return false }, 7, 30},
		{"slow at first", 1000, func(read int) bool { return read >= 100 }, 800, 960},
		{"every tenth is slow", 1000, func(read int) bool { return read%10 != 0 }, 800, 950},
		{"turns slow", 1000, func(read int) bool { return read < 500 }, 500, 530},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p patience
			watches := 0
			for read := range tt.reads {
				if p.shouldPoll() {
					watches++
					p.record(tt.pays(read))
				}
			}
			if watches < tt.watches || watches > tt.most {
				t.Errorf("%d watches in %d reads, want %d to %d", watches, tt.reads, tt.watches, tt.most)
			}
		})
	}
}

// quick is a connection whose Watch gives what is in it, or nothing.
type quick struct {
	watch   bytes.Buffer
	sleep   bytes.Buffer
	watches int
	broken  error
}

func (q *quick) Write(p []byte) (int, error) { return len(p), nil }
func (q *quick) Read(p []byte) (int, error)  { return q.sleep.Read(p) }

func (q *quick) Watch(p []byte) (int, bool, error) {
	q.watches++
	if q.broken != nil {
		return 0, true, q.broken
	}
	if q.watch.Len() == 0 {
		return 0, false, nil
	}
	n, err := q.watch.Read(p)
	return n, true, err
}

func TestStreamReadsWhatWasWatched(t *testing.T) {
	var frame bytes.Buffer
	if err := NewStream(&frame, HostSide).Send(Reply{Call: 7, Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	q := &quick{}
	s := NewStream(q, GuestSide)
	q.watch.Write(frame.Bytes()[:3]) // a frame in two parts, the second one late
	q.sleep.Write(frame.Bytes()[3:])
	m, err := s.Read()
	if r, ok := m.(Reply); err != nil || !ok || r.Call != 7 {
		t.Fatalf("%+v %v", m, err)
	}
	if q.watches != 2 {
		t.Errorf("%d watches, want 2", q.watches)
	}
}

func TestWatchedFailureIsTheReaders(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct{ give, want error }{{io.EOF, io.EOF}, {broken, broken}} {
		s := NewStream(&quick{broken: tt.give}, GuestSide)
		if m, err := s.Read(); !errors.Is(err, tt.want) {
			t.Errorf("%v %v, want %v", m, err, tt.want)
		}
	}
}
