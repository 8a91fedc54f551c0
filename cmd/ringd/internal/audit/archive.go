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

// ErrArchive: the archive cannot take a segment, or an archived segment cannot be removed from the log. No
// record is lost, and the log still takes records.
var ErrArchive = errors.New("archive of the audit log")

// Order selects the segments of a log that are moved to an archive: the oldest ones, in order, while Before,
// Until or Bytes selects the next. The zero value selects none.
type Order struct {
	To     string    // existing folder that no other user may write
	Before int64     // segments whose records all have a lower sequence
	Until  time.Time // segments whose records are all older
	Bytes  int64     // while the log in its folder is larger; zero means no limit
	Actor  string    // for the record
}

// selects reports whether a record with this sequence and time is to be archived.
func (o Order) selects(seq int64, at time.Time) bool {
	return seq < o.Before || !o.Until.IsZero() && at.Before(o.Until)
}

// Archive moves closed segments to a folder, and returns the moved ones, also with an error. If the first
// record of the current segment is selected, that segment is closed first. Each segment is verified while it
// is read. The order is: an AuditArchived record, the segment on disk in the archive, the signed head that
// names it, and then the removal of the segment. After a crash between any two of these, Open accepts the
// log, and it can be archived again.
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
		err = base.removeArchived(l.cfg.Dir)
	}
	if err == nil {
		err = l.closeSelected(o)
	}
	for err == nil {
		var due bool
		if due, err = l.selected(o, base.Segment+1); err != nil || !due {
			break
		}
		if base, err = l.archiveOne(ctx, o, base); err == nil {
			done = append(done, base.Files[len(base.Files)-1])
		}
	}
	return done, err
}

// checkArchive returns an error if the folder is missing. It may be on a disk that is not mounted, and
// creating it would fill another disk.
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

// closeSelected closes the current segment if its first record is selected.
func (l *Log) closeSelected(o Order) error {
	l.mu.Lock()
	newest := l.segment
	l.mu.Unlock()
	first, err := l.edgeRecord(newest, false)
	if err != nil || first.Seq == 0 || !o.selects(first.Seq, first.Record.Time) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.segment == newest {
		l.turning = true
	}
	return l.admitLocked()
}

// selected reports whether segment n is closed and selected.
func (l *Log) selected(o Order, n int64) (bool, error) {
	l.mu.Lock()
	closed := n < l.segment
	l.mu.Unlock()
	if !closed {
		return false, nil
	}
	if size, _ := l.Size(); o.Bytes > 0 && size > o.Bytes {
		return true, nil
	}
	last, err := l.edgeRecord(n, true)
	return err == nil && o.selects(last.Seq, last.Record.Time), err
}

// edgeRecord returns the first or the last whole record of a segment. It returns the zero Entry if there is none
// yet.
func (l *Log) edgeRecord(n int64, last bool) (e Entry, err error) {
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
	if last { // the last part of a segment has a record and the commit line after it
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

// archiveOne moves the segment after base to the archive, and returns the new head.
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
		return base, withSpaceRemedy(o.To, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	l.point("archive_copied")
	if err := atomicfile.Replace(filepath.Join(l.cfg.Dir, archivedName), text, 0o600); err != nil {
		return base, withSpaceRemedy(l.cfg.Dir, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	l.setPacked(next)
	l.point("archive_headed")
	if err := next.removeArchived(l.cfg.Dir); err != nil {
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

// pack writes the segment after base to the archive, synced, and returns the head that includes it.
func (l *Log) pack(ctx context.Context, to string, base Archived) (next Archived, err error) {
	n := base.Segment + 1
	name := segmentName(n) + archiveSuffix
	aside := filepath.Join(to, "."+name+".new")
	if err := removeIfPresent(aside); err != nil { // left by a crash
		return base, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	out, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return base, withSpaceRemedy(to, fmt.Errorf("%w: %w", ErrArchive, err))
	}
	sum, file := sha256.New(), ArchivedFile{Name: name}
	w, err := l.compress(ctx, io.MultiWriter(out, sum), base, &file)
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
		err = l.renamePacked(ctx, aside, filepath.Join(to, name), base, w)
	}
	if err != nil {
		return base, errors.Join(withSpaceRemedy(to, err), removeIfPresent(aside))
	}
	return l.nextHead(base, w, file), nil
}

// withSpaceRemedy adds a remedy to err if the disk of a folder is full.
func withSpaceRemedy(dir string, err error) error {
	if !noRoom(err) {
		return err
	}
	return fmt.Errorf("%w; the log still has all records: make room on the disk of %s, and archive again", err, dir)
}

// removeIfPresent removes a file that may be missing.
func removeIfPresent(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// compress writes the segment after base, compressed, and verifies it while reading.
func (l *Log) compress(ctx context.Context, to io.Writer, base Archived, file *ArchivedFile) (*walk, error) {
	w := base.newWalk(l.cfg.publicKey())
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

// tee is a reader that also writes all bytes that it reads. Its errors distinguish a failed write from a failed
// read.
type tee struct {
	from   io.Reader
	to     io.Writer
	failed error
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		if _, t.failed = t.to.Write(p[:n]); t.failed != nil {
			return 0, t.failed
		}
	}
	return n, err
}

// renamePacked renames the packed segment. A file with that name is accepted if a crash left it, and then it has the
// same content. Otherwise it is from the archive of another log, or of an older copy of this one, which is an
// error.
func (l *Log) renamePacked(ctx context.Context, aside, path string, base Archived, w *walk) error {
	switch f, err := openRegular(path); {
	case err == nil:
		there := base.newWalk(l.cfg.publicKey())
		err := errors.Join(there.walkArchived(ctx, f, ""), f.Close())
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

// nextHead returns base with the segment that w has verified.
func (l *Log) nextHead(base Archived, w *walk, file ArchivedFile) Archived {
	next := Archived{Version: archivedVersion, Key: hex.EncodeToString(l.cfg.publicKey()), Segment: base.Segment + 1,
		Head: w.head(), Line: w.last, Kinds: maps.Clone(base.Kinds), Files: append(slices.Clone(base.Files), file)}
	if next.Kinds == nil {
		next.Kinds = map[Kind]int64{}
	}
	maps.Copy(next.Kinds, w.kinds)
	return next
}
