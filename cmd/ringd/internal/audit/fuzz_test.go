package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

func seedLines(f *testing.F) [][]byte {
	dir := logDir(f)
	cfg := config(dir)
	l := mustOpen(f, cfg)
	r := callRecord(1)
	r.Full = json.RawMessage(`{"a":1}`)
	mustAppend(f, l, r, audit.Synced)
	mustAppend(f, l, audit.Record{Kind: audit.HostError, Fault: &audit.Fault{ID: "e1", Text: "x"}}, audit.Synced)
	mustClose(f, l)
	lines := bytes.Split([]byte(read(f, dir, 1)), []byte("\n"))
	return append(lines, []byte(`{"s":00,"p":"","r":{}}`), []byte(`{"c":9223372036854775808}`), []byte(`{"s":1`))
}

// FuzzLine: a line is of one kind at most, and encodes to the bytes it was
// decoded from.
func FuzzLine(f *testing.F) {
	for _, line := range seedLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kinds := 0
		for _, again := range [][]byte{first(audit.Redecode(line)), second(audit.Redecode(line)),
			third(audit.Redecode(line))} {
			if again == nil {
				continue
			}
			kinds++
			if !bytes.Equal(again, line) {
				t.Errorf("%q came back as %q", line, again)
			}
		}
		if kinds > 1 {
			t.Errorf("%q is of %d kinds", line, kinds)
		}
		e, ok, err := audit.DecodeEntry(line)
		if err != nil && !errors.Is(err, audit.ErrTampered) {
			t.Errorf("error %v", err)
		}
		if !ok && e.Seq != 0 {
			t.Errorf("no entry, but sequence %d", e.Seq)
		}
	})
}

func first(a, _, _ []byte) []byte  { return a }
func second(_, b, _ []byte) []byte { return b }
func third(_, _, c []byte) []byte  { return c }

// FuzzOpen: whatever is in the folder, Open either refuses it or makes a log
// that verifies and takes records.
func FuzzOpen(f *testing.F) {
	lines := seedLines(f)
	whole := bytes.Join(lines[:5], []byte("\n"))
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add(append(bytes.Clone(whole), make([]byte, 100)...))
	f.Add([]byte(strings.Repeat("\x00", 50)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, image []byte) {
		dir := logDir(t)
		write(t, filepath.Join(dir, audit.SegmentName(1)), image)
		l, err := audit.Open(t.Context(), config(dir))
		if err != nil {
			if !errors.Is(err, audit.ErrTampered) && !errors.Is(err, audit.ErrKey) && !errors.Is(err, audit.ErrFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		h := mustAppend(t, l, audit.Record{Kind: audit.RunAsked}, audit.Written)
		mustClose(t, l)
		mustVerify(t, dir, audit.Check{Key: publicKey(), Least: h})
	})
}
