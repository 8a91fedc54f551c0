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

// Filter chooses records. A zero field chooses all; set fields must all match.
type Filter struct {
	Run, Agent, Actor, Call, Capability string
	RunPrefix                           string // how the id of the run begins
	Kinds                               []Kind
	Verdict                             *profiles.Verdict // only records with this decision
	Since, Until                        time.Time         // Since <= Time < Until
	After                               int64             // only sequences above it
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

// needles are what the text of a record that f chooses holds, as Append writes it: one
// text of each list. A record that holds them all need not be chosen.
func (f Filter) needles() (all [][][]byte) {
	field := func(name, value string) []byte {
		text, err := json.Marshal(value)
		if err != nil { // no string gives one
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

// may reports whether the text of a record holds one of each list: most of a long log
// is passed over by that, without reading its JSON.
func may(body []byte, needles [][][]byte) bool {
	for _, list := range needles {
		if !slices.ContainsFunc(list, func(n []byte) bool { return bytes.Contains(body, n) }) {
			return false
		}
	}
	return true
}

// Query yields the records of the log in dir that f chooses, oldest first. It
// takes no lock, checks no chain (Verify does) and ends at the last whole line.
// It yields at most one error, last; ErrGap is one of them.
func Query(ctx context.Context, dir string, f Filter) iter.Seq2[Entry, error] {
	return tail(ctx, dir, nil, f, nil)
}

// Whole is Query that reads the archived segments too, in the folders of an archive.
func Whole(ctx context.Context, dir string, folders []string, f Filter) iter.Seq2[Entry, error] {
	return tail(ctx, dir, folders, f, nil)
}

// Tail is Query that goes on: at every wake it looks for more. It ends when ctx
// does or wake is closed, without an error. With a nil wake it is Query.
func Tail(ctx context.Context, dir string, f Filter, wake <-chan time.Time) iter.Seq2[Entry, error] {
	return tail(ctx, dir, nil, f, wake)
}

func tail(ctx context.Context, dir string, folders []string, f Filter, wake <-chan time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := reader{dir: dir, folders: folders, filter: f, needles: f.needles()}
		defer r.close()
		for {
			more, err := r.rest(ctx, func(e Entry) bool { return yield(e, nil) })
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

// reader reads whole lines and remembers where it stopped.
type reader struct {
	dir     string
	folders []string // of the archive; nil: archived segments are not read
	filter  Filter
	n       int64 // last segment that was read, 0 before the first
	off     int64
	f       *os.File

	needles [][][]byte // of filter
}

func (r *reader) close() {
	if r.f != nil {
		_ = r.f.Close()
	}
}

// rest yields what is there beyond the last time; false: yield wants no more.
func (r *reader) rest(ctx context.Context, yield func(Entry) bool) (bool, error) {
	for {
		list, err := segments(r.dir)
		if err != nil {
			return false, err
		}
		// Listed first, read second: the segment is complete when the list
		// already had a later one.
		if r.f != nil {
			if more, err := r.segment(ctx, yield); err != nil || !more {
				return more, err
			}
		}
		at := slices.IndexFunc(list, func(n int64) bool { return n > r.n })
		if at < 0 {
			return true, nil
		}
		if more, err := r.between(ctx, list[at], yield); err != nil || !more {
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
	n, more, err := r.lines(ctx, r.f, segmentName(r.n), yield)
	r.off += n
	return more, err
}

// lines yields the records of the whole lines of in, and returns how many bytes these
// have; false: yield wants no more.
func (r *reader) lines(ctx context.Context, from io.Reader, name string, yield func(Entry) bool) (
	n int64, more bool, err error) {
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
		if raw, ok := parseEntry(line); ok && (raw.seq <= r.filter.After || !may(raw.body, r.needles)) {
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

// between goes over the segments before n that are archived: those before the log
// begins, and those that went to the archive while it was read. Without the archive the
// latter are ErrGap, if they hold records that Filter.After does not leave out.
func (r *reader) between(ctx context.Context, n int64, yield func(Entry) bool) (more bool, err error) {
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
			return false, fmt.Errorf("%w: records %d to %d", ErrGap, max(file.First, r.filter.After+1),
				base.Files[min(n-1, base.Segment)-1].Last)
		}
		if more, err := r.unpacked(ctx, file, yield); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// unpacked yields the records of an archived segment.
func (r *reader) unpacked(ctx context.Context, file ArchivedFile, yield func(Entry) bool) (more bool, err error) {
	f, err := openIn(r.folders, file.Name)
	if err != nil {
		return false, fmt.Errorf("read archived segment: %w", err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file.Name, err)
	}
	_, more, err = r.lines(ctx, in, file.Name, yield)
	return more, err
}

// regular opens a file to read it. A named pipe in its place would be waited for, for ever.
func regular(path string) (*os.File, error) {
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

// openIn opens a file in the first of the folders that has it.
func openIn(folders []string, name string) (*os.File, error) {
	err := error(&fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	for _, dir := range folders {
		var f *os.File
		if f, err = regular(filepath.Join(dir, name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, err
}

// decodeEntry reads one whole line; false for a header or a commit line. What
// is neither, nor a record this ringd could have written, is ErrTampered.
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
