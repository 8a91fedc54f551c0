package executors

// In the package, because the form of a snapshot is nobody else's affair.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeptRoundTrip(t *testing.T) {
	for _, k := range []runCounts{
		{guest: []byte("g")},
		{asked: 9, consumed: 100, lines: 3, open: []uint64{1, 8, 9}, guest: []byte("guest bytes")},
	} {
		got, err := decodeKept(k.encode([][]byte{k.guest[:1], k.guest[1:]}))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(k, got, cmp.AllowUnexported(runCounts{})); d != "" {
			t.Error(d)
		}
	}
}

func TestKeptRefuses(t *testing.T) {
	good := runCounts{asked: 3, open: []uint64{1, 3}, guest: []byte("x")}.encode([][]byte{[]byte("x")})
	numbers := func(list ...uint64) []byte {
		b := []byte{snapshotFormat}
		for _, n := range list {
			b = binary.AppendUvarint(b, n)
		}
		return append(b, 'x')
	}
	for name, in := range map[string][]byte{
		"nothing":                 nil,
		"another format":          append([]byte{snapshotFormat + 1}, good[1:]...),
		"no bytes of the guest":   good[:len(good)-1],
		"cut in the numbers":      good[:4],
		"a call from the future":  numbers(3, 0, 0, 1, 4),
		"a call numbered zero":    numbers(3, 0, 0, 1, 0),
		"a call twice":            numbers(3, 0, 0, 2, 1, 1),
		"calls that fall":         numbers(3, 0, 0, 2, 2, 1),
		"more calls than are let": numbers(5000, 0, 0, MaxOpenAsks+1),
		"a count that overflows":  numbers(1<<63, 0, 0, 0),
		"too long":                append(numbers(0, 0, 0, 0), make([]byte, MaxSnapshotBytes)...),
	} {
		if _, err := decodeKept(in); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckResume(t *testing.T) {
	snapshot := runCounts{asked: 3, open: []uint64{1, 3}}.encode([][]byte{[]byte("x")})
	none := runCounts{asked: 3}.encode([][]byte{[]byte("x")})
	open := func(ids ...string) (out []Question) {
		for _, id := range ids {
			out = append(out, Question{Call: id})
		}
		return out
	}
	for _, tt := range []struct {
		name string
		r    Resume
		want string // "": it is taken
	}{
		{"the open calls", Resume{Snapshot: snapshot, Open: open("c3", "c1")}, ""},
		{"one is missing", Resume{Snapshot: snapshot, Open: open("c3")}, "calls [c1] are open"},
		{"one twice", Resume{Snapshot: snapshot, Open: open("c3", "c3")}, "named twice"},
		{"one that is answered", Resume{Snapshot: snapshot, Open: open("c1", "c2", "c3")}, `call "c2" is not open`},
		{"another spelling", Resume{Snapshot: snapshot, Open: open("c1", "c03")}, `call "c03" is not open`},
		{"none", Resume{Snapshot: snapshot}, "calls [c1 c3] are open"},
		{"no call is open", Resume{Snapshot: none}, "no call is open"},
		{"a session", Resume{Snapshot: none, Session: true}, ""},
		{"a pause as a session", Resume{Snapshot: snapshot, Session: true}, "open calls"},
		{"a session that waits", Resume{Snapshot: none, Session: true, Open: open("c1")}, "open calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := checkResume(&tt.r)
			if tt.want == "" && err == nil {
				return
			}
			if !errors.Is(err, ErrSnapshot) || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What is read is what would be written.
func FuzzKept(f *testing.F) {
	f.Add(runCounts{asked: 9, consumed: 100, lines: 3, open: []uint64{1, 8, 9}}.encode([][]byte{[]byte("guest")}))
	f.Add(runCounts{}.encode([][]byte{[]byte("g")}))
	f.Add([]byte{snapshotFormat})
	f.Fuzz(func(t *testing.T, in []byte) {
		k, err := decodeKept(in)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) {
				t.Fatal(err)
			}
			return
		}
		if again := k.encode([][]byte{k.guest}); !bytes.Equal(in, again) {
			t.Fatalf("%x reads back as %x", in, again)
		}
	})
}
