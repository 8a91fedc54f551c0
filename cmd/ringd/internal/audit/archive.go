package audit

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// ErrArchive: the archive cannot take a segment, or one that it has taken cannot be
// removed from the log. No record was lost, and the log goes on.
var ErrArchive = errors.New("archive of the audit log")

// Order says which segments of a log are moved to an archive: the oldest ones, one
// after another, while any of Before, Until and Bytes asks for it. The zero value asks
// for none.
type Order struct {
	To     string    // folder, which is there and which nobody else may write
	Before int64     // segments all of whose records have a sequence below it
	Until  time.Time // segments all of whose records are older
	Bytes  int64     // while the log is larger in its folder; 0: whatever its size
	Actor  string    // who asks for it, for the record
}

// wants reports whether the record at this place of the log is to be archived.
func (o Order) wants(seq int64, at time.Time) bool {
	return seq < o.Before || !o.Until.IsZero() && at.Before(o.Until)
}

// Archive moves closed segments to a folder and returns those that it moved, also with
// an error. A segment whose first record is wanted is closed first, if it is the one
// that is written. Each segment is verified as it is read, and is in the archive and on
// disk there before the head that names it is, and the head is before the segment is
// removed. An AuditArchived record comes before the head. A crash between any two of
// these leaves a log that Open takes up, and that can be archived again.
//
// Errors: ErrArchive, ErrTampered, ErrKey, ErrClosed, that of ctx.
func (l *Log) Archive(ctx context.Context, o Order) (done []ArchivedFile, err error) {
	l.archiving.Lock()
	defer l.archiving.Unlock()
	if err := l.Err(); err != nil {
		return nil, err
	}
	if err := checkArchive(o.To, l.cfg.Dir); err != nil {
		return nil, err
	}
	if _, err := ReadArchived(o.To, l.cfg.publicKey()); errors.Is(err, ErrKey) {
		return nil, fmt.Errorf("%w: %s is the archive of another host, with its head: %w; use another folder",
			ErrArchive, o.To, err)
	}
	base, err := ReadArchived(l.cfg.Dir, l.cfg.publicKey())
	if err == nil {
		err = base.sweep(l.cfg.Dir)
	}
	if err == nil {
		err = l.turnOver(o)
	}
	for err == nil {
		var due bool
		if due, err = l.due(o, base.Segment+1); err != nil || !due {
			break
		}
		if base, err = l.archiveOne(ctx, o, base); err == nil {
			done = append(done, base.Files[len(base.Files)-1])
		}
	}
	return done, err
}

// checkArchive refuses a folder that is not there: it may be on a disk that is not
// mounted, and making it would fill another one.
func checkArchive(to, dir string) error {
	info, err := os.Stat(to)
	switch {
	case !filepath.IsAbs(to):
		return fmt.Errorf("%w: %q is not an absolute path of a folder", ErrArchive, to)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrArchive, err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder", ErrArchive, to)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: %s has mode %04o: others can write to it; run chmod go-w on it", ErrArchive, to,
			info.Mode().Perm())
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	state, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if rel, err := filepath.Rel(state, real); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%w: %s is in the state folder: use one outside it", ErrArchive, to)
	}
	return nil
}

// turnOver closes the segment that is written when its first record is wanted.
func (l *Log) turnOver(o Order) error {
	l.mu.Lock()
	newest := l.segment
	l.mu.Unlock()
	first, err := l.edge(newest, false)
	if err != nil || first.Seq == 0 || !o.wants(first.Seq, first.Record.Time) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.segment == newest {
		l.turning = true
	}
	return l.admitLocked()
}

// due reports whether segment n is closed and o asks for it.
func (l *Log) due(o Order, n int64) (bool, error) {
	l.mu.Lock()
	closed := n < l.segment
	l.mu.Unlock()
	if !closed {
		return false, nil
	}
	if size, _ := l.Size(); o.Bytes > 0 && size > o.Bytes {
		return true, nil
	}
	last, err := l.edge(n, true)
	return err == nil && o.wants(last.Seq, last.Record.Time), err
}

// edge is the first record of a segment, or its last whole one; the zero Entry: it has
// none yet.
func (l *Log) edge(n int64, last bool) (e Entry, err error) {
	f, err := os.Open(filepath.Join(l.cfg.Dir, segmentName(n)))
	if err != nil {
		return e, fmt.Errorf("read audit log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return e, fmt.Errorf("read audit log: %w", err)
	}
	at := int64(0)
	if last { // a record and the commit line behind it are in the last part
		at = max(0, info.Size()-2*maxLine)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, at, info.Size()-at), maxLine+1)
	var found []byte
	for found == nil || last {
		line, whole, err := readLine(in)
		if err != nil {
			return e, fmt.Errorf("read %s: %w", segmentName(n), err)
		}
		if line == nil {
			break
		}
		if _, ok := parseEntry(line); ok && whole {
			found = append(found[:0], line...)
		}
	}
	if found != nil {
		e, _, err = decodeEntry(found)
	}
	return e, err
}

// archiveOne moves the segment behind base to the archive, and returns what the head
// is then.
func (l *Log) archiveOne(ctx context.Context, o Order, base Archived) (Archived, error) {
	next, err := l.pack(ctx, o.To, base)
	if err != nil {
		return base, err
	}
	text, err := next.text(l.cfg.Key)
	if err != nil {
		return base, err
	}
	file := next.Files[len(next.Files)-1]
	l.point("archive_packed")
	if _, err := l.Append(ctx, Record{Kind: AuditArchived, Actor: o.Actor, Digest: file.Digest,
		Detail: map[string]string{
			"file": filepath.Join(o.To, file.Name), "bytes": strconv.FormatInt(file.Bytes, 10),
			"first": strconv.FormatInt(file.First, 10), "last": strconv.FormatInt(file.Last, 10),
		}}, Synced); err != nil {
		return base, err
	}
	l.point("archive_recorded")
	if err := atomicfile.Replace(filepath.Join(o.To, archivedName), text, 0o600); err != nil {
		return base, roomFor(o.To, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	l.point("archive_copied")
	if err := atomicfile.Replace(filepath.Join(l.cfg.Dir, archivedName), text, 0o600); err != nil {
		return base, roomFor(l.cfg.Dir, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	l.note(next)
	l.point("archive_headed")
	if err := next.sweep(l.cfg.Dir); err != nil {
		return next, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	l.point("archive_removed")
	return next, nil
}

func (l *Log) point(label string) {
	if l.cfg.Point != nil {
		l.cfg.Point(label)
	}
}

// pack writes the segment behind base to the archive, so that it is on disk there, and
// returns what the head is with it.
func (l *Log) pack(ctx context.Context, to string, base Archived) (next Archived, err error) {
	n := base.Segment + 1
	name := segmentName(n) + archiveSuffix
	aside := filepath.Join(to, "."+name+".new")
	if err := gone(aside); err != nil { // a crash left it
		return base, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	out, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return base, roomFor(to, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	sum, file := sha256.New(), ArchivedFile{Name: name}
	w, err := l.squeeze(ctx, io.MultiWriter(out, sum), base, &file)
	if err == nil {
		if file.Bytes, err = out.Seek(0, io.SeekEnd); err == nil {
			err = out.Sync()
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrArchive, err)
		}
	}
	err = errors.Join(err, out.Close())
	file.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		l.point("archive_written")
		err = l.place(ctx, aside, filepath.Join(to, name), base, w)
	}
	if err != nil {
		return base, errors.Join(roomFor(to, err), gone(aside))
	}
	return l.headed(base, w, file), nil
}

// roomFor is err, with the remedy where the disk of a folder is full.
func roomFor(dir string, err error) error {
	if !noRoom(err) {
		return err
	}
	return fmt.Errorf("%w; the log still has all records: make room on the disk of %s, and archive again", err, dir)
}

// gone removes a file that need not be there.
func gone(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// squeeze writes the segment behind base, compressed, and verifies what it reads.
func (l *Log) squeeze(ctx context.Context, to io.Writer, base Archived, file *ArchivedFile) (*walk, error) {
	w := base.walk(l.cfg.publicKey())
	w.visit = func(e Entry) {
		if file.First == 0 {
			file.First, file.From = e.Seq, e.Record.Time
		}
		file.Last, file.Until = e.Seq, e.Record.Time
	}
	in, err := os.Open(filepath.Join(l.cfg.Dir, segmentName(base.Segment+1)))
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer in.Close()
	zip := gzip.NewWriter(to)
	read := &tee{from: in, to: zip}
	if err := w.oneSegment(ctx, read, base.Segment+1, false); err != nil {
		if read.failed != nil {
			err = fmt.Errorf("%w: %w", ErrArchive, read.failed)
		}
		return nil, err
	}
	if w.tampered != nil {
		return nil, w.refusal()
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return w, nil
}

// tee is a reader that writes what is read, and tells a failed write from a failed read.
type tee struct {
	from   io.Reader
	to     io.Writer
	failed error
}

// Read reads, and writes.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		if _, t.failed = t.to.Write(p[:n]); t.failed != nil {
			return 0, t.failed
		}
	}
	return n, err
}

// place gives the packed segment its name. A file of that name is what a crash left, and
// then the same; else it is the archive of another log, or of another life of this one.
func (l *Log) place(ctx context.Context, aside, path string, base Archived, w *walk) error {
	switch f, err := regular(path); {
	case err == nil:
		there := base.walk(l.cfg.publicKey())
		err := errors.Join(there.archived(ctx, f, ""), f.Close())
		if err != nil || there.tampered != nil || there.mark != w.mark {
			return fmt.Errorf("%w: %s exists and has other content: use another folder", ErrArchive, path)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if err := errors.Join(os.Rename(aside, path), atomicfile.Sync(filepath.Dir(path))); err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return nil
}

// headed is base with one more segment, which w has walked over.
func (l *Log) headed(base Archived, w *walk, file ArchivedFile) Archived {
	next := Archived{Version: archivedVersion, Key: hex.EncodeToString(l.cfg.publicKey()), Segment: base.Segment + 1,
		Head: w.head(), Line: w.last, Kinds: maps.Clone(base.Kinds), Files: append(slices.Clone(base.Files), file)}
	if next.Kinds == nil {
		next.Kinds = map[Kind]int64{}
	}
	maps.Copy(next.Kinds, w.kinds)
	return next
}
