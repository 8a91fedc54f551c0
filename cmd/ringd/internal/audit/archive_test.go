package audit_test

import (
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// archived is a log of small segments, and a folder beside it.
type archived struct {
	cfg audit.Config
	to  string
	n   int
}

func newArchived(t testing.TB) *archived {
	t.Helper()
	a := &archived{cfg: config(logDir(t)), to: t.TempDir()}
	a.cfg.SegmentBytes = 4 << 10
	check(t, os.Chmod(a.to, 0o700))
	return a
}

// fill appends n records.
func (a *archived) fill(t testing.TB, l *audit.Log, n int) {
	t.Helper()
	for range n {
		a.n++
		mustAppend(t, l, callRecord(a.n), audit.Written)
	}
}

func (a *archived) order(before int64) audit.Order {
	return audit.Order{To: a.to, Before: before, Actor: "uid:0"}
}

func (a *archived) archive(t testing.TB, l *audit.Log, o audit.Order) []audit.ArchivedFile {
	t.Helper()
	done, err := l.Archive(t.Context(), o)
	check(t, err)
	return done
}

// sequences are those of what Query, or with folders Whole, finds.
func sequences(t testing.TB, dir string, f audit.Filter, folders ...string) (out []int64) {
	t.Helper()
	records := audit.Query(t.Context(), dir, f)
	if folders != nil {
		records = audit.Whole(t.Context(), dir, folders, f)
	}
	for e, err := range records {
		check(t, err)
		out = append(out, e.Seq)
	}
	return out
}

func contiguous(from, to int64) (out []int64) {
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func files(t testing.TB, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	for _, d := range list {
		if d.Name() != "audit.lock" {
			out = append(out, d.Name())
		}
	}
	return out
}

// TestArchive: what is wanted goes to the archive, and nothing else; the log goes on, is
// opened again, holds, and is held together with its archive from record 1.
func TestArchive(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 100)
	before, err := os.ReadFile(filepath.Join(a.cfg.Dir, audit.SegmentName(1)))
	check(t, err)
	if done := a.archive(t, l, a.order(1)); len(done) != 0 {
		t.Errorf("archived %+v, nothing was wanted", done)
	}
	done := a.archive(t, l, a.order(60))
	if len(done) < 2 || done[0].First != 1 || done[len(done)-1].Last >= 60 || done[len(done)-1].Last < 40 {
		t.Fatalf("archived: %+v", done)
	}
	last := done[len(done)-1].Last
	end := l.Head()
	if got := sequences(t, a.cfg.Dir, audit.Filter{}); !slices.Equal(got, contiguous(last+1, end.Seq)) {
		t.Errorf("left in the log: %d", got)
	}
	if got := sequences(t, a.cfg.Dir, audit.Filter{}, t.TempDir(), a.to); !slices.Equal(got, contiguous(1, end.Seq)) {
		t.Errorf("with the archive: %d", got)
	}
	if got := sequences(t, a.cfg.Dir, audit.Filter{Kinds: []audit.Kind{audit.AuditArchived}}); len(got) != len(done) {
		t.Errorf("%d records of %d archived segments", len(got), len(done))
	}
	f, err := os.Open(filepath.Join(a.to, done[0].Name))
	check(t, err)
	zip, err := gzip.NewReader(f)
	check(t, err)
	if text, err := io.ReadAll(zip); err != nil || string(text) != string(before) {
		t.Errorf("the archived segment is not the one that was there: %v", err)
	}
	check(t, f.Close())
	mustClose(t, l)
	a.holds(t, end)

	a.cfg.Least = end
	l = mustOpen(t, a.cfg)
	a.fill(t, l, 100)
	if more := a.archive(t, l, a.order(150)); more[0].First != last+1 {
		t.Errorf("the second archive begins at %d, want %d", more[0].First, last+1)
	}
	a.fill(t, l, 1)
	end = l.Head()
	mustClose(t, l)
	a.holds(t, end)
	if got := sequences(t, a.cfg.Dir, audit.Filter{}, a.to); !slices.Equal(got, contiguous(1, end.Seq)) {
		t.Errorf("with the archive: %d", got)
	}
}

// holds verifies a closed log with and without its archive.
func (a *archived) holds(t testing.TB, end audit.Head) {
	t.Helper()
	r := mustVerify(t, a.cfg.Dir, audit.Check{Key: publicKey(), Least: end})
	if r.Head != end || r.Archived == nil || r.Archived.Read || r.Records != end.Seq-r.Archived.Seq ||
		r.Signed != end.Seq {
		t.Errorf("verified alone: %+v %+v, want the head %d", r, r.Archived, end.Seq)
	}
	for _, least := range []audit.Head{{}, end} {
		r = mustVerify(t, a.cfg.Dir, audit.Check{Key: publicKey(), Least: least, Archive: []string{a.to}})
		if r.Head != end || r.Archived == nil || !r.Archived.Read || r.Records != end.Seq {
			t.Errorf("verified with the archive: %+v %+v, want the head %d", r, r.Archived, end.Seq)
		}
	}
	r = mustVerify(t, a.cfg.Dir, audit.Check{})
	if r.Head != end {
		t.Errorf("verified by the key that the log names: %+v", r)
	}
}

// TestArchiveAll: a bound behind the newest record closes the segment that is written;
// doing it again archives what came since, and no segment twice.
func TestArchiveAll(t *testing.T) {
	a := newArchived(t)
	clock := newClock()
	a.cfg.Now = clock.Now
	l := mustOpen(t, a.cfg)
	if done := a.archive(t, l, a.order(1000)); len(done) != 0 {
		t.Errorf("archived %+v of an empty log", done)
	}
	a.fill(t, l, 3)
	clock.Add(time.Hour)
	if done := a.archive(t, l, audit.Order{To: a.to, Until: clock.Now()}); len(done) != 1 || done[0].First != 1 ||
		done[0].Last != 3 ||
		!done[0].Until.Equal(clock.Now().Add(-time.Hour)) {
		t.Fatalf("archived: %+v", done)
	}
	if done := a.archive(t, l, audit.Order{To: a.to, Until: clock.Now()}); len(done) != 0 {
		t.Errorf("archived again: %+v", done)
	}
	end := l.Head()
	mustClose(t, l)
	a.holds(t, end)
}

// TestArchiveBytes: by size alone the oldest closed segments go until the rest fits, and
// the one that is written never does.
func TestArchiveBytes(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 200)
	was, _ := l.Size()
	a.archive(t, l, audit.Order{To: a.to, Bytes: was / 2})
	if is, _ := l.Size(); is > was/2 || is < was/2-3*a.cfg.SegmentBytes {
		t.Errorf("%d bytes of %d are left, want half", is, was)
	}
	a.archive(t, l, audit.Order{To: a.to, Bytes: 1})
	if _, n := l.Size(); n != 1 {
		t.Errorf("%d segments are left", n)
	}
	end := l.Head()
	mustClose(t, l)
	a.holds(t, end)
}

// TestArchiveCrash stops an archive between any two of its steps, as a crash would: the
// log opens, holds, has every record once, and is archived to the end.
func TestArchiveCrash(t *testing.T) {
	a := newArchived(t)
	type crash struct{ label, dir, to string }
	var crashes []crash
	a.cfg.Point = func(label string) {
		c := crash{label, logDir(t), t.TempDir()}
		check(t, os.CopyFS(c.dir, os.DirFS(a.cfg.Dir)))
		check(t, os.CopyFS(c.to, os.DirFS(a.to)))
		check(t, errors.Join(os.Chmod(c.dir, 0o700), os.Chmod(c.to, 0o700)))
		crashes = append(crashes, c)
	}
	l := mustOpen(t, a.cfg)
	mustAppend(t, l, audit.Record{Kind: audit.LockdownBegun}, audit.Synced)
	a.fill(t, l, 60)
	end := l.SyncedHead()
	wanted := len(a.archive(t, l, a.order(45)))
	mustClose(t, l)
	seen := map[string]int{}
	for i, c := range crashes {
		t.Run(fmt.Sprint(i, c.label), func(t *testing.T) {
			seen[c.label]++
			b := &archived{cfg: a.cfg, to: c.to}
			b.cfg.Dir, b.cfg.Point, b.cfg.Least = c.dir, nil, end
			mustVerify(t, c.dir, audit.Check{Key: publicKey()}) // as the crash left it
			l := mustOpen(t, b.cfg)
			b.fill(t, l, 1)
			b.archive(t, l, b.order(45))
			last := l.Head()
			mustClose(t, l)
			b.holds(t, last)
			if got := sequences(t, c.dir, audit.Filter{}, c.to); !slices.Equal(got, contiguous(1, last.Seq)) {
				t.Errorf("records: %d", got)
			}
			if got := files(t, c.to); len(got) != wanted+1 {
				t.Errorf("the archive has %v, want %d segments and the head", got, wanted)
			}
			head, err := audit.ReadArchived(c.dir, publicKey())
			if err != nil || head.Kinds[audit.LockdownBegun] != 1 || head.Kinds[audit.LockdownLifted] != 0 {
				t.Errorf("the head has %+v, %v", head, err)
			}
		})
	}
	for _, label := range audit.ArchivePoints {
		if seen[label] != wanted {
			t.Errorf("%d crashes at %s, want %d", seen[label], label, wanted)
		}
	}
}

// TestArchiveTampered: a head that is missing, changed, older or of another key, and an
// archive that is not what was archived, are found; Open refuses what concerns the log.
func TestArchiveTampered(t *testing.T) {
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
	change := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			check(t, err)
			if !strings.Contains(string(b), from) {
				t.Fatalf("%s has no %s", path, from)
			}
			write(t, path, []byte(strings.Replace(string(b), from, to, 1)))
		}
	}
	for _, tt := range []struct {
		name, file string // in the log's folder, or the archive's
		do         func(t *testing.T, path string)
		cause      error
		says       string
		opens      bool
	}{
		{"head removed", "archived.json", func(t *testing.T, path string) { check(t, os.Remove(path)) }, audit.ErrTampered, "archived.json is missing", false},
		{"head emptied", "archived.json", func(t *testing.T, path string) { write(t, path, nil) }, audit.ErrTampered, "not in the form that ringd writes", false},
		{"head changed", "archived.json", change(`"segment":2`, `"segment":1`), audit.ErrTampered, "the signature is not valid", false},
		{"lockdown forgotten", "archived.json", change(`"lockdown_begun":1`, `"lockdown_lifted":1`), audit.ErrTampered, "the signature is not valid", false},
		{"head of another key", "archived.json", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			check(t, err)
			named := fmt.Sprintf("%x", publicKey())
			text, ok := strings.CutPrefix(string(b), `{"v":1,"key":"`+named)
			if !ok {
				t.Fatalf("%s", b)
			}
			line, _, _ := strings.Cut(text, "\n")
			line = fmt.Sprintf(`{"v":1,"key":"%x`, other.Public()) + line
			write(t, path, audit.SignArchived([]byte(line), other))
		}, audit.ErrKey, "another key", false},
		{"head of another format", "archived.json", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			check(t, err)
			line, _, _ := strings.Cut(string(b), "\n")
			write(t, path, audit.SignArchived([]byte(strings.Replace(line, `"v":1`, `"v":2`, 1)), testKey()))
		}, audit.ErrFormat, "format 2", false},
		{"next segment removed", "audit-00000003.jsonl", func(t *testing.T, path string) { check(t, os.Remove(path)) }, audit.ErrTampered, "the segment is missing", false},
		{"archive missing", "audit-00000001.jsonl.gz", func(t *testing.T, path string) { check(t, os.Remove(path)) }, audit.ErrTampered, "in none of the given", true},
		{"archive cut", "audit-00000002.jsonl.gz", func(t *testing.T, path string) { check(t, os.Truncate(path, 200)) }, audit.ErrTampered, "damaged", true},
		{"archive with more behind", "audit-00000002.jsonl.gz", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			check(t, err)
			write(t, path, append(b, 0))
		}, audit.ErrTampered, "audit-00000002.jsonl.gz", true},
		{"archive of the same records, packed again", "audit-00000002.jsonl.gz", func(t *testing.T, path string) { repack(t, path, "", "") }, audit.ErrTampered, "its digest is not", true},
		{"archived record changed", "audit-00000001.jsonl.gz", func(t *testing.T, path string) { repack(t, path, "uid:1000", "uid:1001") }, audit.ErrTampered, "changed", true},
		{"archives swapped", "audit-00000001.jsonl.gz", func(t *testing.T, path string) {
			check(t, os.Rename(filepath.Join(filepath.Dir(path), "audit-00000002.jsonl.gz"), path))
		}, audit.ErrTampered, "segment 2", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newArchived(t)
			l := mustOpen(t, a.cfg)
			mustAppend(t, l, audit.Record{Kind: audit.LockdownBegun}, audit.Synced)
			a.fill(t, l, 40)
			for segment := 0; segment < 2; segment++ {
				first, err := os.ReadFile(filepath.Join(a.cfg.Dir, audit.SegmentName(int64(segment+2))))
				check(t, err)
				var v, n, s int64
				if _, err := fmt.Sscanf(string(first), `{"v":%d,"n":%d,"s":%d`, &v, &n, &s); err != nil {
					t.Fatal(err)
				}
				if done := a.archive(t, l, a.order(s)); len(done) != 1 {
					t.Fatalf("archived %+v", done)
				}
			}
			mustClose(t, l)
			path := filepath.Join(a.cfg.Dir, tt.file)
			if strings.HasSuffix(tt.file, ".gz") {
				path = filepath.Join(a.to, tt.file)
			}
			tt.do(t, path)
			r, err := audit.Verify(t.Context(), a.cfg.Dir, audit.Check{Key: publicKey(), Archive: []string{a.to}})
			if !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.says) || r.Tampered == nil {
				t.Errorf("verify with the archive: %v, want %v and %q", err, tt.cause, tt.says)
			}
			if _, err = audit.Verify(t.Context(), a.cfg.Dir, audit.Check{Key: publicKey()}); tt.opens != (err == nil) {
				t.Errorf("verify alone: %v", err)
			}
			l, err = audit.Open(t.Context(), a.cfg)
			if tt.opens {
				check(t, err)
				mustClose(t, l)
			} else if !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("open: %v, want %v and %q", err, tt.cause, tt.says)
			}
		})
	}
}

// repack writes an archived segment again, with one text replaced by another.
func repack(t *testing.T, path, from, to string) {
	t.Helper()
	in, err := os.Open(path)
	check(t, err)
	zip, err := gzip.NewReader(in)
	check(t, err)
	text, err := io.ReadAll(zip)
	check(t, err)
	check(t, in.Close())
	out, err := os.Create(path)
	check(t, err)
	again, err := gzip.NewWriterLevel(out, gzip.NoCompression)
	check(t, err)
	_, err = io.WriteString(again, strings.Replace(string(text), from, to, 1))
	check(t, errors.Join(err, again.Close(), out.Close()))
}

// TestArchiveOlderHead: a head that was true once does not hide that segments went.
func TestArchiveOlderHead(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 60)
	a.archive(t, l, a.order(20))
	old, err := os.ReadFile(filepath.Join(a.cfg.Dir, "archived.json"))
	check(t, err)
	a.archive(t, l, a.order(50))
	mustClose(t, l)
	write(t, filepath.Join(a.cfg.Dir, "archived.json"), old)
	if _, err := audit.Open(t.Context(), a.cfg); !errors.Is(err, audit.ErrTampered) ||
		!strings.Contains(err.Error(), "the segment is missing") {
		t.Errorf("open: %v", err)
	}
	// The archive has the newer one, which is the cure.
	newer, err := os.ReadFile(filepath.Join(a.to, "archived.json"))
	check(t, err)
	write(t, filepath.Join(a.cfg.Dir, "archived.json"), newer)
	mustClose(t, mustOpen(t, a.cfg))
}

// TestArchiveLeast: a record that is known to have been written may be archived; the
// last archived one has to be it.
func TestArchiveLeast(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 40)
	done := a.archive(t, l, a.order(30))
	mustClose(t, l)
	head, err := audit.ReadArchived(a.cfg.Dir, publicKey())
	check(t, err)
	last := done[len(done)-1].Last
	if head.Seq != last {
		t.Fatalf("the head is at %d, want %d", head.Seq, last)
	}
	for _, tt := range []struct {
		least audit.Head
		holds bool
	}{
		{audit.Head{Seq: last, Hash: head.Hash}, true},
		{audit.Head{Seq: last - 1}, true},
		{audit.Head{Seq: last}, false},
		{audit.Head{Seq: 1 << 40}, false},
	} {
		if _, err := audit.Verify(t.Context(), a.cfg.Dir, audit.Check{Key: publicKey(), Least: tt.least}); (err == nil) != tt.holds {
			t.Errorf("least %d: %v", tt.least.Seq, err)
		}
	}
}

// TestArchiveRefused: a folder that cannot take a segment leaves the log as it is, and
// the log goes on.
func TestArchiveRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, a *archived)
		says string
	}{
		{"missing", func(t *testing.T, a *archived) { a.to += "/none" }, "no such file"},
		{"a file", func(t *testing.T, a *archived) { a.to += "/f"; write(t, a.to, nil) }, "not a folder"},
		{"relative", func(_ *testing.T, a *archived) { a.to = "archive" }, "absolute"},
		{"others write it", func(t *testing.T, a *archived) { check(t, os.Chmod(a.to, 0o777)) }, "others can write"},
		{"in the state folder", func(t *testing.T, a *archived) {
			a.to = filepath.Join(filepath.Dir(a.cfg.Dir), "archive")
			check(t, os.Mkdir(a.to, 0o700))
		}, "is in the state folder"},
		{"in the state folder by a link", func(t *testing.T, a *archived) {
			a.to += "/link"
			check(t, os.Symlink(a.cfg.Dir, a.to))
		}, "is in the state folder"},
		{"of another log", func(t *testing.T, a *archived) {
			b := &archived{cfg: a.cfg, to: a.to}
			b.cfg.Dir = logDir(t)
			l := mustOpen(t, b.cfg)
			mustAppend(t, l, callRecord(77), audit.Written)
			b.archive(t, l, b.order(2))
			mustClose(t, l)
		}, "has other content"},
		{"of another host", func(t *testing.T, a *archived) {
			b := &archived{cfg: a.cfg, to: a.to}
			b.cfg.Dir, b.cfg.Key = logDir(t), ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
			l := mustOpen(t, b.cfg)
			mustAppend(t, l, callRecord(77), audit.Written)
			b.archive(t, l, b.order(2))
			mustClose(t, l)
			check(t, os.Remove(filepath.Join(a.to, "audit-00000001.jsonl.gz"))) // moved on to another place
		}, "the archive of another host"},
		{"no file can be made", func(t *testing.T, a *archived) {
			check(t, os.Mkdir(filepath.Join(a.to, ".audit-00000001.jsonl.gz.new"), 0o700))
			write(t, filepath.Join(a.to, ".audit-00000001.jsonl.gz.new", "x"), nil)
		}, "not empty"},
		{"the head cannot be written", func(t *testing.T, a *archived) { check(t, os.Mkdir(filepath.Join(a.to, "archived.json"), 0o700)) }, "not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newArchived(t)
			tt.do(t, a)
			l := mustOpen(t, a.cfg)
			a.fill(t, l, 40)
			was := files(t, a.cfg.Dir)
			done, err := l.Archive(t.Context(), a.order(30))
			if !errors.Is(err, audit.ErrArchive) || !strings.Contains(err.Error(), tt.says) || len(done) != 0 {
				t.Errorf("archived %+v, %v, want ErrArchive and %q", done, err, tt.says)
			}
			if is := files(t, a.cfg.Dir); !slices.Equal(is, was) {
				t.Errorf("the log has %v, had %v", is, was)
			}
			a.fill(t, l, 1)
			end := l.Head()
			mustClose(t, l)
			mustVerify(t, a.cfg.Dir, audit.Check{Key: publicKey(), Least: end})
		})
	}
}

// TestArchiveHeadTooLarge: a head that Open would not read again is not written; one that
// just fits is, and is read.
func TestArchiveHeadTooLarge(t *testing.T) {
	const most = 64 << 20
	head := func(padding int) audit.Archived {
		return audit.Archived{Version: 1, Key: hex.EncodeToString(publicKey()), Segment: 1, Head: audit.Head{Seq: 1},
			Files: []audit.ArchivedFile{
				{Name: audit.SegmentName(1) + ".gz", First: 1, Last: 1, Digest: strings.Repeat("x", padding)}}}
	}
	bare, err := audit.HeadText(head(0), testKey())
	check(t, err)
	room := most - len(bare)
	if text, err := audit.HeadText(head(room), testKey()); err != nil || len(text) != most ||
		audit.RedecodeArchived(text, testKey()) == nil {
		t.Errorf("a head of %d bytes: %v, or it cannot be read", len(text), err)
	}
	if _, err := audit.HeadText(head(room+1), testKey()); !errors.Is(err, audit.ErrArchive) {
		t.Errorf("a head of one byte more: %v, want ErrArchive", err)
	}
}

// TestArchiveChangedSegment: a closed segment that was changed under an open log is not
// archived, and stays as evidence.
func TestArchiveChangedSegment(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	a.fill(t, l, 40)
	path := filepath.Join(a.cfg.Dir, audit.SegmentName(1))
	write(t, path, []byte(strings.Replace(read(t, a.cfg.Dir, 1), "uid:1000", "uid:1001", 1)))
	if done, err := l.Archive(t.Context(), a.order(30)); !errors.Is(err, audit.ErrTampered) || len(done) != 0 {
		t.Errorf("archived %+v, %v", done, err)
	}
	if got := files(t, a.to); len(got) != 0 {
		t.Errorf("the archive has %v", got)
	}
	mustClose(t, l)
}

// whole reads records, of which none may be missing between two. It may end with one error.
func whole(t testing.TB, what string, records iter.Seq2[audit.Entry, error], may error) {
	t.Helper()
	last := int64(0)
	for e, err := range records {
		switch {
		case err != nil && (may == nil || !errors.Is(err, may)):
			t.Errorf("%s: %v", what, err)
		case err == nil && last > 0 && e.Seq != last+1:
			t.Errorf("%s: record %d after %d", what, e.Seq, last)
		}
		last = e.Seq
	}
}

// TestArchiveWhileRead: who reads a log while it goes to its archive misses nothing: the
// records come from there, or the reader is told.
func TestArchiveWhileRead(t *testing.T) {
	for _, tc := range []struct {
		name    string
		folders bool
		before  int64 // what is archived after the first record was read
		after   int64
		want    error
	}{
		{"with the archive", true, 60, 0, nil},
		{"without it", false, 60, 0, audit.ErrGap},
		{"nothing is archived", false, 0, 0, nil},
		{"only what was left out", false, 60, 60, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newArchived(t)
			l := mustOpen(t, a.cfg)
			a.fill(t, l, 100)
			records := audit.Query(t.Context(), a.cfg.Dir, audit.Filter{After: tc.after})
			if tc.folders {
				a.archive(t, l, a.order(20)) // the reader begins in the archive
				records = audit.Whole(t.Context(), a.cfg.Dir, []string{a.to}, audit.Filter{After: tc.after})
			}
			var got []int64
			var failed error
			for e, err := range records {
				if failed = err; err != nil {
					break
				}
				if got = append(got, e.Seq); len(got) == 1 && tc.before > 0 {
					a.archive(t, l, a.order(tc.before))
				}
			}
			end := l.Head().Seq
			if !errors.Is(failed, tc.want) {
				t.Errorf("error %v, want %v", failed, tc.want)
			}
			if tc.want != nil {
				end = got[len(got)-1]
				if first := fmt.Sprintf("records %d to", end+1); !strings.Contains(fmt.Sprint(failed), first) {
					t.Errorf("%v does not name %s", failed, first)
				}
			}
			if !slices.Equal(got, contiguous(tc.after+1, end)) {
				t.Errorf("read %d, want %d to %d", got, tc.after+1, end)
			}
			mustClose(t, l)
		})
	}
}

// TestArchiveHammer archives while others append, query and verify.
func TestArchiveHammer(t *testing.T) {
	a := newArchived(t)
	a.cfg.SegmentBytes = 32 << 10
	l := mustOpen(t, a.cfg)
	ctx, stop := context.WithCancel(t.Context())
	var wg, writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 300 {
				if _, err := l.Append(t.Context(), callRecord(i), audit.Durability((w+i)%2)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := audit.Verify(t.Context(), a.cfg.Dir, audit.Check{Key: publicKey()}); err != nil {
				t.Errorf("verify meanwhile: %v", err)
			}
			whole(t, "query", audit.Query(t.Context(), a.cfg.Dir, audit.Filter{}), audit.ErrGap)
			whole(t, "query with the archive", audit.Whole(t.Context(), a.cfg.Dir, []string{a.to}, audit.Filter{}), nil)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := l.Archive(t.Context(), a.order(l.Head().Seq)); err != nil {
				t.Errorf("archive meanwhile: %v", err)
			}
		}
	})
	writers.Wait()
	stop()
	wg.Wait()
	end := l.Head()
	mustClose(t, l)
	a.holds(t, end)
	if got := sequences(t, a.cfg.Dir, audit.Filter{Kinds: []audit.Kind{audit.CallDecided}}, a.to); len(got) != 1200 {
		t.Errorf("%d of 1200 records", len(got))
	}
}

// TestArchiveWaits: a log that is closed archives nothing.
func TestArchiveClosed(t *testing.T) {
	a := newArchived(t)
	l := mustOpen(t, a.cfg)
	mustClose(t, l)
	if _, err := l.Archive(t.Context(), a.order(30)); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("archive: %v", err)
	}
}

func FuzzArchived(f *testing.F) {
	a := newArchived(f)
	l := mustOpen(f, a.cfg)
	a.fill(f, l, 40)
	a.archive(f, l, a.order(30))
	mustClose(f, l)
	text, err := os.ReadFile(filepath.Join(a.cfg.Dir, "archived.json"))
	check(f, err)
	f.Add(text)
	line, _, _ := strings.Cut(string(text), "\n")
	f.Add([]byte(line))
	f.Add([]byte(`{"v":1,"key":"","segment":0}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// What is between the signature and the parser can be anything by a host's own key.
		line, _, _ := strings.Cut(string(data), "\n")
		for _, text := range [][]byte{data, audit.SignArchived([]byte(line), testKey())} {
			again := audit.RedecodeArchived(text, testKey())
			if again == nil {
				continue
			}
			if twice := audit.RedecodeArchived(again, testKey()); string(twice) != string(again) {
				t.Errorf("%s\nis written as\n%s", again, twice)
			}
		}
	})
}
