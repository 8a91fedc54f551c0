package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Filter selects records. A zero field selects all. All set fields must match.
type Filter struct {
	Run, Agent, Actor, Call, Capability string
	RunPrefix                           string // prefix of the id of the run
	Kinds                               []Kind
	Verdict                             *profiles.Verdict // only records with this decision
	Since, Until                        time.Time         // Since <= Time < Until
	After                               int64             // only higher sequences
}

func (f Filter) match(e Entry) bool {
	r := e.Record
	switch {
	case e.Seq <= f.After,
		f.Run != "" && r.Run != f.Run,
		!strings.HasPrefix(r.Run, f.RunPrefix),
		f.Agent != "" && r.Agent != f.Agent,
		f.Actor != "" && r.Actor != f.Actor,
		f.Call != "" && r.Call != f.Call,
		f.Capability != "" && r.Capability != f.Capability,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind),
		f.Verdict != nil && (r.Decision == nil || r.Decision.Verdict != *f.Verdict),
		!f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && !r.Time.Before(f.Until):
		return false
	}
	return true
}

// needles returns lists of texts. The encoded text of a record that f selects contains one text of each list.
// A record that contains them all may still not be selected.
func (f Filter) needles() (all [][][]byte) {
	field := func(name, value string) []byte {
		text, err := json.Marshal(value)
		if err != nil { // cannot happen for a string
			return nil
		}
		return append([]byte(`"`+name+`":`), text...)
	}
	for _, w := range [][2]string{{"run", f.Run}, {"agent", f.Agent}, {"actor", f.Actor}, {"call", f.Call},
		{"capability", f.Capability}} {
		if w[1] != "" {
			all = append(all, [][]byte{field(w[0], w[1])})
		}
	}
	if f.RunPrefix != "" {
		all = append(all, [][]byte{bytes.TrimSuffix(field("run", f.RunPrefix), []byte(`"`))})
	}
	var kinds [][]byte
	for _, k := range f.Kinds {
		kinds = append(kinds, field("kind", string(k)))
	}
	if kinds != nil {
		all = append(all, kinds)
	}
	return all
}

// mayMatch reports whether the text of a record contains one of each list. Most records of a long log are skipped
// this way without parsing their JSON.
func mayMatch(body []byte, needles [][][]byte) bool {
	for _, list := range needles {
		if !slices.ContainsFunc(list, func(n []byte) bool { return bytes.Contains(body, n) }) {
			return false
		}
	}
	return true
}

// Query yields the records of the log in dir that f selects, oldest first. It takes no lock, verifies no
// chain (see Verify) and ends at the last whole line. It yields at most one error, as the last item. ErrGap
// is one of them.
func Query(ctx context.Context, dir string, f Filter) iter.Seq2[Entry, error] {
	return tail(ctx, dir, nil, f, nil)
}

// Whole is Query that also reads the archived segments, from the folders of an archive.
func Whole(ctx context.Context, dir string, folders []string, f Filter) iter.Seq2[Entry, error] {
	return tail(ctx, dir, folders, f, nil)
}

// Tail is Query that continues: it reads new records at each wake. It ends without an error when ctx ends or
// wake is closed. With a nil wake it is Query.
func Tail(ctx context.Context, dir string, f Filter, wake <-chan time.Time) iter.Seq2[Entry, error] {
	return tail(ctx, dir, nil, f, wake)
}

func tail(ctx context.Context, dir string, folders []string, f Filter, wake <-chan time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := reader{dir: dir, folders: folders, filter: f, needles: f.needles()}
		defer r.close()
		for {
			more, err := r.readNew(ctx, func(e Entry) bool { return yield(e, nil) })
			if err != nil && (wake == nil || ctx.Err() == nil) {
				yield(Entry{}, err)
				return
			}
			if err != nil || !more || wake == nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case _, ok := <-wake:
				if !ok {
					return
				}
			}
		}
	}
}

// reader reads whole lines and remembers its position.
type reader struct {
	dir     string
	folders []string // of the archive; if nil, archived segments are not read
	filter  Filter
	n       int64 // last segment that was read; 0 before the first
	off     int64
	f       *os.File

	needles [][][]byte // of filter
}

func (r *reader) close() {
	if r.f != nil {
		_ = r.f.Close()
	}
}

// readNew yields the records added since the last call. It returns false if yield wants no more.
func (r *reader) readNew(ctx context.Context, yield func(Entry) bool) (bool, error) {
	for {
		list, err := segments(r.dir)
		if err != nil {
			return false, err
		}
		// The list is read before the segment: the segment is complete if the list already had a later one.
		if r.f != nil {
			if more, err := r.segment(ctx, yield); err != nil || !more {
				return more, err
			}
		}
		at := slices.IndexFunc(list, func(n int64) bool { return n > r.n })
		if at < 0 {
			return true, nil
		}
		if more, err := r.readArchived(ctx, list[at], yield); err != nil || !more {
			return more, err
		}
		err = r.next(list[at])
		if errors.Is(err, fs.ErrNotExist) {
			continue // archived since it was listed
		}
		if err != nil {
			return false, err
		}
	}
}

func (r *reader) next(n int64) error {
	f, err := os.Open(filepath.Join(r.dir, segmentName(n)))
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	r.close()
	r.f, r.n, r.off = f, n, 0
	return nil
}

func (r *reader) segment(ctx context.Context, yield func(Entry) bool) (bool, error) {
	if _, err := r.f.Seek(r.off, io.SeekStart); err != nil {
		return false, fmt.Errorf("read audit log: %w", err)
	}
	n, more, err := r.readLines(ctx, r.f, segmentName(r.n), yield)
	r.off += n
	return more, err
}

// readLines yields the records of the whole lines of in, and returns their length. It returns false if yield
// wants no more.
func (r *reader) readLines(
	ctx context.Context,
	from io.Reader,
	name string,
	yield func(Entry) bool,
) (n int64, more bool, err error) {
	in := bufio.NewReaderSize(from, maxLine+1)
	for {
		if err := ctx.Err(); err != nil {
			return n, false, err
		}
		line, whole, err := readLine(in)
		if err != nil {
			return n, false, fmt.Errorf("read %s: %w", name, err)
		}
		if !whole {
			return n, true, nil
		}
		n += int64(len(line)) + 1
		if raw, ok := parseEntry(line); ok && (raw.seq <= r.filter.After || !mayMatch(raw.body, r.needles)) {
			continue
		}
		e, ok, err := decodeEntry(line)
		if err != nil {
			return n, false, fmt.Errorf("%s before byte %d: %w", name, n, err)
		}
		if ok && r.filter.match(e) && !yield(e) {
			return n, false, nil
		}
	}
}

// readArchived handles the archived segments before n: those before the log begins, and those that were archived
// while it was read. Without the archive, the latter are ErrGap if they hold records that Filter.After
// selects.
func (r *reader) readArchived(ctx context.Context, n int64, yield func(Entry) bool) (more bool, err error) {
	if n == r.n+1 || r.n == 0 && r.folders == nil {
		return true, nil
	}
	base, err := ReadArchived(r.dir, nil)
	if err != nil {
		return false, err
	}
	for ; r.n+1 < n && r.n < base.Segment; r.n++ {
		file := base.Files[r.n]
		switch {
		case file.Last <= r.filter.After:
			continue
		case r.folders == nil:
			return false, fmt.Errorf(
				"%w: records %d to %d",
				ErrGap,
				max(file.First, r.filter.After+1),
				base.Files[min(n-1, base.Segment)-1].Last,
			)
		}
		if more, err := r.archivedSegment(ctx, file, yield); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// archivedSegment yields the records of an archived segment.
func (r *reader) archivedSegment(
	ctx context.Context,
	file ArchivedFile,
	yield func(Entry) bool,
) (more bool, err error) {
	f, err := openIn(r.folders, file.Name)
	if err != nil {
		return false, fmt.Errorf("read archived segment: %w", err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file.Name, err)
	}
	_, more, err = r.readLines(ctx, in, file.Name, yield)
	return more, err
}

// openRegular opens a file for reading. It does not block on a named pipe.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openIn opens a file in the first folder that has it.
func openIn(folders []string, name string) (*os.File, error) {
	err := error(&fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	for _, dir := range folders {
		var f *os.File
		if f, err = openRegular(filepath.Join(dir, name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, err
}

// decodeEntry decodes one whole line. It returns false for a header or a commit line. Any other line that
// ringd could not have written is ErrTampered.
func decodeEntry(line []byte) (Entry, bool, error) {
	if _, ok := parseHeader(line); ok {
		return Entry{}, false, nil
	}
	if _, ok := parseCommit(line); ok {
		return Entry{}, false, nil
	}
	raw, ok := parseEntry(line)
	if !ok {
		return Entry{}, false, fmt.Errorf("%w: malformed line", ErrTampered)
	}
	e := Entry{Head: Head{Seq: raw.seq, Hash: hashLine(line)}}
	if err := json.Unmarshal(raw.body, &e.Record); err != nil {
		return Entry{}, false, errors.Join(fmt.Errorf("%w: record %d", ErrTampered, raw.seq), err)
	}
	return e, true, nil
}
