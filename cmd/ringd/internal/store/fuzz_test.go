package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// row is a row with the values given, as the driver would hand them over.
type row []any

func (r row) Scan(dst ...any) error {
	if len(r) != len(dst) {
		return fmt.Errorf("%d values for %d places", len(r), len(dst))
	}
	for i, d := range dst {
		if err := assign(d, r[i]); err != nil {
			return err
		}
	}
	return nil
}

func assign(dst, v any) error {
	if n, ok := dst.(sql.Scanner); ok {
		return n.Scan(v)
	}
	to := reflect.ValueOf(dst).Elem()
	if v == nil {
		if to.Kind() == reflect.Slice {
			return nil
		}
		return errors.New("null")
	}
	from := reflect.ValueOf(v)
	if from.Kind() != to.Kind() {
		return fmt.Errorf("%v into %v", from.Kind(), to.Kind())
	}
	to.Set(from.Convert(to.Type()))
	return nil
}

// FuzzRow: what stands in a row is read back as it is, or refused as a format
// that is not known; never guessed.
func FuzzRow(f *testing.F) {
	f.Add(int64(1), "r1", "started", "host", []byte("{}"), int64(5), "closed")
	f.Add(int64(2), "r1", "done", "approver", []byte(nil), int64(-1), "open")
	f.Add(int64(1), "allow", "allow", "harness", []byte("x"), int64(7), "open")
	f.Add(int64(1), `["a"]`, "paused", "approver", []byte("x"), int64(3), "executing")
	f.Add(int64(1), "", "", "", []byte{0}, int64(1)<<62, "")
	f.Fuzz(func(t *testing.T, v int64, text, state, who string, blob []byte, n int64, callState string) {
		r, err := store.ScanRun(row{v, text, text, text, text, state, text, n, text, blob, n, text, n, n, n, text})
		switch {
		case err == nil && (v != 1 || !r.State.Known() || string(r.State) != state || r.Generation != n ||
			r.Created.UnixMicro() != n):
			t.Errorf("run %+v of version %d in state %q", r, v, state)
		case err != nil && !errors.Is(err, store.ErrFormat):
			t.Errorf("run: error %v", err)
		}
		c, err := store.ScanCall(row{v, text, text, n, text, who, callState, text, text, blob, blob, blob, text, n, n,
			text, n, n,
			who, text, n, n, text, text, n, n, n, n, blob})
		switch {
		case err == nil && (v != 1 || !c.State.Known() || !c.For.Known() || string(c.State) != callState ||
			string(c.Verdict) != text ||
			(c.For == store.ByApprover || text != "") && (!c.Acts.Known() || c.Acts == store.ByApprover ||
				c.Needs < 1)):
			t.Errorf("call %+v of version %d in state %q", c, v, callState)
		case err != nil && !errors.Is(err, store.ErrFormat):
			t.Errorf("call: error %v", err)
		}
		p, err := store.ScanPause(row{v, text, n, text, text, text, n, text, n, n, text, text, n, n, text, text, text,
			state})
		switch {
		case err == nil && (v != 1 || p.Seq != n || p.Seq < 1 || p.Size > store.MaxSealed || !p.State.Known() ||
			p.Expires.IsZero() != (n == 0)):
			t.Errorf("pause %+v of version %d", p, v)
		case err != nil && !errors.Is(err, store.ErrFormat):
			t.Errorf("pause: error %v", err)
		}
		x, err := store.ScanSession(row{v, text, text, text, text, n, text, text, text, n, text, n, n, n, text})
		switch {
		case err == nil && (v != 1 || x.Seq != n || x.Seq < 1 || x.Size > store.MaxSealed || x.Name != text):
			t.Errorf("session %+v of version %d", x, v)
		case err != nil && !errors.Is(err, store.ErrFormat):
			t.Errorf("session: error %v", err)
		}
		a, err := store.ScanApproval(row{v, text, text, text, text, state, text, text, n, blob})
		switch {
		case err == nil && (v != 1 || a.Verdict != store.Allow && a.Verdict != store.Deny || a.By != text):
			t.Errorf("approval %+v of version %d", a, v)
		case err != nil && !errors.Is(err, store.ErrFormat):
			t.Errorf("approval: error %v", err)
		}
		if g, err := store.ScanGen(row{v, n, text, text, blob, n, n}); err == nil {
			t.Errorf("generation %+v with the digest %q", g, text)
		}
	})
}

// FuzzOpen: a database that was changed anywhere is refused, or read without a
// panic and still written.
func FuzzOpen(f *testing.F) {
	cfg := config(f)
	s := mustOpen(f, cfg)
	for i := range 3 {
		id := fmt.Sprint(i)
		mustStart(f, s, newRun(id))
		mustOpenCall(f, s, executing(id, "c1"))
	}
	mustClose(f, s)
	valid, err := os.ReadFile(filepath.Join(cfg.Dir, store.DBName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte("SQLite format 3\x00"))
	f.Add(uint32(18), []byte{9, 9})
	f.Add(uint32(4096+8), []byte{0xff, 0xff, 0xff})
	f.Add(uint32(100), []byte(strings.Repeat("\x00", 200)))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		image := append([]byte(nil), valid...)
		copy(image[int(at)%len(image):], patch)
		cfg := config(t)
		if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, store.DBName), image, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			return
		}
		defer s.Close()
		_, _ = s.Recover(t.Context())
		if err := s.Start(t.Context(), newRun("new")); err == nil {
			if r, err := s.Run(t.Context(), "new"); err == nil && r.ID != "new" {
				t.Errorf("asked for a run, got %+v", r)
			}
		}
	})
}
