package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// A segment that somebody removes, replaces or cuts under a log that is open
// closes the log with the next record that must be on disk: nothing runs on
// records that are kept nowhere.
func TestSegmentTakenAway(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(t *testing.T, segment string)
	}{
		{"removed", func(t *testing.T, segment string) { check(t, os.Remove(segment)) }},
		{"moved", func(t *testing.T, segment string) { check(t, os.Rename(segment, segment+".old")) }},
		{"replaced by a copy", func(t *testing.T, segment string) {
			b, err := os.ReadFile(segment)
			check(t, err)
			check(t, os.WriteFile(segment+".new", b, 0o600))
			check(t, os.Rename(segment+".new", segment))
		}},
		{"replaced by a link", func(t *testing.T, segment string) {
			check(t, os.Rename(segment, segment+".old"))
			check(t, os.Symlink(segment+".old", segment))
		}},
		{"emptied", func(t *testing.T, segment string) { check(t, os.Truncate(segment, 0)) }},
		{"the folder moved", func(t *testing.T, segment string) {
			check(t, os.Rename(filepath.Dir(segment), filepath.Dir(segment)+".old"))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := logDir(t)
			l := mustOpen(t, config(dir))
			mustAppend(t, l, callRecord(1), audit.Synced)
			test.do(t, filepath.Join(dir, "audit-00000001.jsonl"))
			_, err := l.Append(t.Context(), callRecord(2), audit.Synced)
			if !errors.Is(err, audit.ErrClosed) || !errors.Is(err, audit.ErrTampered) {
				t.Errorf("append: %v, want ErrClosed and ErrTampered", err)
			}
			if !errors.Is(l.Err(), audit.ErrClosed) {
				t.Errorf("Err: %v", l.Err())
			}
			_ = l.Close()
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
