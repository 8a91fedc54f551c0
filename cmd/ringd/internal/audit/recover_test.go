package audit_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// lastBatch makes a log whose last write is a batch of three records and a
// commit line, and returns the segment's bytes, where that batch starts and the
// last synced head before it. The log is abandoned as a crash would leave it.
func lastBatch(t *testing.T, commit bool) (image []byte, start int, before audit.Head) {
	t.Helper()
	cfg := config(logDir(t))
	ticks := make(chan time.Time)
	cfg.Ticks = ticks
	l := mustOpen(t, cfg)
	small := audit.Record{Kind: audit.CallDecided, Run: "r1"}
	before = mustAppend(t, l, small, audit.Synced)
	start = len(strings.TrimRight(read(t, cfg.Dir, 1), "\x00"))
	for range 3 {
		mustAppend(t, l, small, audit.Written)
	}
	if commit {
		ticks <- time.Time{}
		ticks <- time.Time{}
	}
	image = []byte(read(t, cfg.Dir, 1))
	mustClose(t, l)
	return image, start, before
}

// recovered opens a log that has image as its only segment, and returns what is
// left of it.
func recovered(t *testing.T, image []byte, least audit.Head) (int, bool, error) {
	t.Helper()
	dir := logDir(t)
	write(t, filepath.Join(dir, audit.SegmentName(1)), image)
	cfg := config(dir)
	cfg.Least = least
	l, err := audit.Open(t.Context(), cfg)
	if err != nil {
		return 0, false, err
	}
	// What was only written is durable and signed before anything is added.
	if r := mustVerify(t, dir, audit.Check{Key: publicKey()}); r.Signed != r.Head.Seq || l.SyncedHead() != r.Head ||
		l.Head() != r.Head {
		t.Errorf("opened with %+v, synced up to %v", r, l.SyncedHead())
	}
	mustAppend(t, l, audit.Record{Kind: audit.RunEnded}, audit.Written)
	mustClose(t, l)
	mustVerify(t, dir, audit.Check{Key: publicKey(), Least: least})
	calls := all(t, dir, audit.Filter{Kinds: []audit.Kind{audit.CallDecided}})
	cuts := all(t, dir, audit.Filter{Kinds: []audit.Kind{audit.LogCut}})
	if len(cuts) > 0 && cuts[0].Record.Detail["offset"] == "" {
		t.Errorf("the note does not say where: %+v", cuts[0].Record)
	}
	return len(calls), len(cuts) > 0, nil
}

// TestTornTail cuts the log at every byte of its last batch: whole records stay,
// the rest goes, and a note says so when something went.
func TestTornTail(t *testing.T) {
	for _, commit := range []bool{true, false} {
		image, start, before := lastBatch(t, commit)
		step := 1
		if testing.Short() {
			step = 7
		}
		for cut := start; cut <= len(image); cut += step {
			whole := bytes.Count(image[:cut], []byte("\n{\"s\":"))
			if image[cut-1] != '\n' && lineIsRecord(image[:cut]) {
				whole-- // the last one has no end
			}
			got, noted, err := recovered(t, image[:cut], before)
			if err != nil {
				t.Fatalf("commit %v, cut at %d: %v", commit, cut, err)
			}
			if got != whole || noted != (image[cut-1] != '\n') {
				t.Errorf("commit %v, cut at %d: %d records, noted %v; want %d, %v", commit, cut, got, noted, whole,
					image[cut-1] != '\n')
			}
		}
	}
}

func lineIsRecord(b []byte) bool {
	return bytes.HasPrefix(b[bytes.LastIndexByte(b, '\n')+1:], []byte(`{"s":`))
}

// TestLostBlocks zeroes each run of 32 bytes of the last batch: what a crash
// leaves when one block did not reach the disk and later ones did.
func TestLostBlocks(t *testing.T) {
	image, start, before := lastBatch(t, true)
	for at := start; at < len(image); at += 32 {
		lost := bytes.Clone(image)
		clear(lost[at:min(at+32, len(lost))])
		got, noted, err := recovered(t, lost, before)
		if err != nil || !noted || got > 4 || got < 1 {
			t.Errorf("lost at %d: %d records, noted %v, error %v", at, got, noted, err)
		}
	}
}

// TestTornIsNotAnExcuse: the same damage where a crash cannot have made it.
func TestTornIsNotAnExcuse(t *testing.T) {
	image, start, before := lastBatch(t, true)
	line := bytes.IndexByte(image, '\n') + 1 // the first record
	tests := []struct {
		name string
		edit func(b []byte) []byte
	}{
		{"zero bytes before the last commit but one", func(b []byte) []byte { clear(b[line+8 : line+12]); return b }},
		{"a line that is changed, not torn", func(b []byte) []byte { b[start+80] ^= 1; return b }},
		{"text behind the end", func(b []byte) []byte { return append(b, "{}\n"...) }},
		{"a record gone from the last batch", func(b []byte) []byte {
			end := start + bytes.IndexByte(b[start:], '\n') + 1
			return append(b[:start:start], b[end:]...)
		}},
		{"an endless line", func(b []byte) []byte { return append(b, bytes.Repeat([]byte("x"), 3<<20)...) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := recovered(t, tt.edit(bytes.Clone(image)), audit.Head{}); !errors.Is(
				err, audit.ErrTampered) {
				t.Errorf("error %v, want ErrTampered", err)
			}
		})
	}
	t.Run("a cut below the head kept elsewhere", func(t *testing.T) {
		if _, _, err := recovered(t, image[:line+40], before); !errors.Is(err, audit.ErrTampered) {
			t.Errorf("error %v, want ErrTampered", err)
		}
	})
}

// TestCrashAtRotation: the next segment has nothing, a part of its header, or
// its header; each opens without a hand.
func TestCrashAtRotation(t *testing.T) {
	dir := logDir(t)
	cfg := config(dir)
	cfg.SegmentBytes = 4 << 10
	l := mustOpen(t, cfg)
	var last audit.Head
	for i := 0; ; i++ {
		last = mustAppend(t, l, callRecord(i), audit.Synced)
		if _, err := os.Stat(filepath.Join(dir, audit.SegmentName(2))); err == nil {
			break
		}
	}
	mustClose(t, l)
	one, two := read(t, dir, 1), read(t, dir, 2)
	header := strings.IndexByte(two, '\n') + 1
	for cut := range header + 1 {
		dir := logDir(t)
		write(t, filepath.Join(dir, audit.SegmentName(1)), []byte(one))
		write(t, filepath.Join(dir, audit.SegmentName(2)), []byte(two[:cut]))
		cfg := config(dir)
		l, err := audit.Open(t.Context(), cfg)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if h := mustAppend(t, l, callRecord(0), audit.Synced); h.Seq < last.Seq {
			t.Errorf("cut at %d: sequence %d, want at least %d", cut, h.Seq, last.Seq)
		}
		mustClose(t, l)
		if r := mustVerify(t, dir, audit.Check{Key: publicKey()}); r.Segments != 2 {
			t.Errorf("cut at %d: report %+v", cut, r)
		}
	}
}

// tape records what a log does to its one segment, to make from it the files a
// power cut can leave.
type tape struct {
	mu  sync.Mutex
	ops []op
}

type op struct {
	off   int64
	data  []byte // a write, or nil
	began bool   // a sync began; else, without data, a sync ended
	ack   audit.Head
}

func (tp *tape) add(o op) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.ops = append(tp.ops, o)
}

type tapedFile struct {
	audit.File
	tape *tape
}

func (f tapedFile) WriteAt(p []byte, off int64) (int, error) {
	f.tape.add(op{off: off, data: bytes.Clone(p)})
	return f.File.WriteAt(p, off)
}

func (f tapedFile) Sync() error {
	f.tape.add(op{began: true})
	err := f.File.Sync()
	f.tape.add(op{})
	return err
}

// record runs concurrent writers over a taped segment.
func record(t *testing.T) []op {
	t.Helper()
	var tp tape
	cfg := config(logDir(t))
	l, err := audit.OpenWith(t.Context(), cfg, func(path string, create bool) (audit.File, error) {
		f, err := audit.OpenSegment(path, create)
		return tapedFile{f, &tp}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 12 {
				d := audit.Written
				if (w+i)%3 == 0 {
					d = audit.Synced
				}
				h, err := l.Append(context.WithoutCancel(t.Context()), callRecord(i), d)
				if err != nil {
					t.Error(err)
				}
				if d == audit.Synced {
					tp.add(op{ack: h})
				}
			}
		})
	}
	wg.Wait()
	mustClose(t, l)
	return tp.ops
}

// TestPowerCut builds, for random moments, the files that a disk may show after
// a power cut: all that a finished sync covers, and of the rest any choice of
// sectors, the others zero. Each must open, and hold what was acknowledged as
// synced.
func TestPowerCut(t *testing.T) {
	ops := record(t)
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	for round := range rounds {
		image, least := cutImage(ops[:1+random.IntN(len(ops))], random)
		dir := logDir(t)
		write(t, filepath.Join(dir, audit.SegmentName(1)), image)
		cfg := config(dir)
		cfg.Least = least
		l, err := audit.Open(t.Context(), cfg)
		if err != nil {
			t.Fatalf("round %d, acknowledged %d: %v", round, least.Seq, err)
		}
		mustClose(t, l)
		mustVerify(t, dir, audit.Check{Key: publicKey(), Least: least})
	}
}

func cutImage(ops []op, random *rand.Rand) ([]byte, audit.Head) {
	const sector = 512
	var durable, volatile []byte
	var least audit.Head
	var covered []byte // what the sync under way covers
	for _, o := range ops {
		switch {
		case o.ack.Seq > 0:
			if o.ack.Seq > least.Seq {
				least = o.ack
			}
		case o.data != nil:
			end := int(o.off) + len(o.data)
			if end > len(volatile) {
				volatile = append(volatile, make([]byte, end-len(volatile))...)
			}
			copy(volatile[o.off:], o.data)
		case o.began:
			covered = bytes.Clone(volatile)
		default:
			durable = covered
		}
	}
	image := bytes.Clone(durable)
	if random.IntN(4) > 0 { // the new size reached the disk
		image = append(image, make([]byte, len(volatile)-len(durable))...)
		for at := len(durable) / sector * sector; at < len(image); at += sector {
			if random.IntN(2) == 0 {
				from, to := max(at, len(durable)), min(at+sector, len(image))
				copy(image[from:to], volatile[from:to])
			}
		}
	}
	return image, least
}

func TestPowerCutModelCanFail(t *testing.T) {
	// The proof that the model sees a log that acknowledges too early: the same
	// tape with the syncs taken out.
	var lying []op
	for _, o := range record(t) {
		if o.data != nil || o.ack.Seq > 0 {
			lying = append(lying, o)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		image, least := cutImage(lying, random)
		dir := logDir(t)
		write(t, filepath.Join(dir, audit.SegmentName(1)), image)
		cfg := config(dir)
		cfg.Least = least
		l, err := audit.Open(t.Context(), cfg)
		if err == nil {
			l.Close()
			continue
		}
		if errors.Is(err, audit.ErrTampered) {
			return
		}
		t.Fatal(err)
	}
	t.Error("a log without syncs lost nothing in 20 cuts")
}
