package waiting

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/interpreter/contract"
)

// The encoding of sessions is nobody's but this package's, so its test is inside.

func session() contract.SessionState {
	return contract.SessionState{Name: "notes", Agent: "default", Actor: "uid:1000", Executor: "js", Engine: "sha256:0",
		Snapshot: []byte{0, 1, 2, 255}, Run: "r1", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func TestSessionRoundTrip(t *testing.T) {
	b, err := encodeSession(session())
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSession(b)
	if diff := cmp.Diff(session(), got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	for n := range len(b) - len(session().Snapshot) + 1 {
		if _, err := decodeSession(b[:n]); err == nil {
			t.Errorf("cut to %d bytes it is read", n)
		}
	}
	empty := session()
	empty.Snapshot = nil
	if _, err := encodeSession(empty); err == nil {
		t.Error("a session without a state is written")
	}
}

func FuzzDecodeSession(f *testing.F) {
	b, err := encodeSession(session())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(sessionMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSession(b)
		if err != nil {
			return
		}
		again, err := encodeSession(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeSession(again)
		if err != nil || back.Name != s.Name || !bytes.Equal(back.Snapshot, s.Snapshot) {
			t.Errorf("%+v, %v", back, err)
		}
	})
}
