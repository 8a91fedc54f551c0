package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// mark is a position between two lines of a segment.
type mark struct {
	seq  int64 // last record
	hash Hash  // its hash
	last Hash  // hash of the last line of any kind
	open int64 // bytes of record lines since the last other line
	off  int64 // bytes of the segment
}

func (m mark) head() Head { return Head{Seq: m.seq, Hash: m.hash} }

// walk replays a log from its first line and stops at the first that does not
// hold.
type walk struct {
	mark
	check Check
	key   ed25519.PublicKey

	segment int64
	headed  bool // the segment has its header
	sealed  bool // the last line is a signed commit
	signed  int64
	records int64
	commits int64
	bytes   int64
	least   bool  // check.Least was met
	before  int64 // where the last line that holds starts
	broken  bool  // the line does not fit to the one before it

	torn, tampered *Break
	cause          error // the sentinel behind tampered
}

// run walks over all segments. Its error is a fault or that of ctx; what does
// not hold is in torn or tampered.
func (w *walk) run(ctx context.Context, dir string) error {
	list, err := segments(dir)
	if errors.Is(err, ErrTampered) {
		w.tampered, w.cause = &Break{Why: err.Error()}, ErrTampered
		return nil
	}
	if err != nil {
		return err
	}
	w.least = w.check.Least.Seq == 0
	for i, n := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n != int64(i)+1 {
			w.breakAt(segmentName(int64(i)+1), "the segment is missing")
			return nil
		}
		if err := w.oneSegment(ctx, dir, n, i == len(list)-1); err != nil {
			return err
		}
		if w.tampered != nil {
			return nil
		}
	}
	if !w.least {
		w.breakAt(segmentName(max(w.segment, 1)),
			fmt.Sprintf("the log ends at record %d; record %d is known to have been written", w.seq, w.check.Least.Seq))
	}
	return nil
}

func (w *walk) breakAt(segment, why string) {
	w.tampered = &Break{Segment: segment, Offset: w.off, Seq: w.seq + 1, Why: why}
	w.cause = ErrTampered
}

func (w *walk) oneSegment(ctx context.Context, dir string, n int64, newest bool) error {
	name := segmentName(n)
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	defer f.Close()
	w.segment, w.off, w.headed, w.sealed = n, 0, false, false
	in := bufio.NewReaderSize(f, maxLine+1)
	for {
		line, whole, err := readLine(in)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if line == nil {
			break
		}
		why := "the line does not end"
		if whole {
			why = w.step(line)
		}
		if why != "" {
			return w.judge(in, line, whole, newest, why)
		}
		if w.records%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if !newest && !w.sealed {
		w.breakAt(name, "the segment does not end with a signed commit line")
	}
	return nil
}

// readLine returns the next line without its newline, and whether it had one;
// nil at the end. A line that is too long comes as its first part, not whole.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	b, err := in.ReadSlice('\n')
	switch {
	case err == nil:
		return b[:len(b)-1], true, nil
	case errors.Is(err, io.EOF) && len(b) == 0:
		return nil, false, nil
	case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
		return b, false, nil
	default:
		return nil, false, err
	}
}

// step takes one whole line and says why it does not hold, or nothing.
func (w *walk) step(line []byte) string {
	if bytes.IndexByte(line, 0) >= 0 {
		return "the line has zero bytes"
	}
	var why string
	switch {
	case !w.headed:
		why = w.stepHeader(line)
	case bytes.HasPrefix(line, []byte(`{"s":`)):
		why = w.stepRecord(line)
	case bytes.HasPrefix(line, []byte(`{"c":`)):
		why = w.stepCommit(line)
	default:
		why = "the line is neither a record nor a commit"
	}
	if why == "" {
		size := int64(len(line)) + 1
		w.before = w.off
		w.off += size
		w.bytes += size
	}
	return why
}

func (w *walk) stepHeader(line []byte) string {
	h, ok := parseHeader(line)
	switch {
	case !ok:
		return "the first line is not a header"
	case h.version != formatVersion:
		w.cause = ErrFormat
		return fmt.Sprintf("format %d; this ringd reads %d: use the ringd that wrote it", h.version, formatVersion)
	case h.segment != w.segment:
		return fmt.Sprintf("the header is that of segment %d", h.segment)
	case h.first != w.seq+1 || h.prev != w.last:
		return "the header does not follow from the segment before"
	}
	if w.key == nil {
		w.key = bytes.Clone(h.key[:])
	}
	if !bytes.Equal(w.key, h.key[:]) {
		w.cause = ErrKey
		return "the segment names another key"
	}
	w.headed, w.last, w.open = true, hashLine(line), 0
	return ""
}

func (w *walk) stepRecord(line []byte) string {
	e, ok := parseEntry(line)
	switch {
	case !ok:
		return "the record line is malformed"
	case e.seq != w.seq+1:
		return fmt.Sprintf("the record has sequence %d", e.seq)
	case !bytes.Equal(e.prev[:], w.last[:shortHash]):
		w.broken = true
		return "the chain breaks here: the line was changed after it was written"
	}
	hash := hashLine(line)
	if least := w.check.Least; e.seq == least.Seq {
		if hash != least.Hash {
			return "the record is not the one that is known to have been written"
		}
		w.least = true
	}
	w.seq, w.hash, w.last, w.sealed = e.seq, hash, hash, false
	w.open += int64(len(line)) + 1
	w.records++
	return ""
}

func (w *walk) stepCommit(line []byte) string {
	c, ok := parseCommit(line)
	switch {
	case !ok:
		return "the commit line is malformed"
	case c.seq != w.seq || c.hash != w.hash || c.bytes != w.open:
		w.broken = true
		return "the commit line and the records before it do not match: one of them was changed"
	case w.commits == 0 && c.sig == nil:
		return "the first commit line of the log is not signed"
	case c.sig != nil && !ed25519.Verify(w.key, c.message(), c.sig):
		return "the signature does not hold"
	}
	w.last, w.open, w.sealed = hashLine(line), 0, c.sig != nil
	w.commits++
	if c.sig != nil {
		w.signed = w.seq
	}
	return ""
}

// judge decides whether a line that does not hold was torn by a crash. It was
// when it stands in the newest segment, has what a crash leaves (no end, or
// zero bytes where a block did not reach the disk), and at most one commit
// line follows: a sync ends before the next one's commit line is written, so
// whatever lies further back was on the disk.
func (w *walk) judge(in *bufio.Reader, line []byte, whole, newest bool, why string) error {
	b := &Break{Segment: segmentName(w.segment), Offset: w.off, Seq: w.seq + 1, Why: why}
	hash := hashLine(line)
	zeros := bytes.IndexByte(line, 0) >= 0
	next, nextWhole, err := readLine(in) // takes line away
	if w.broken && (next == nil || follows(next, hash)) {
		// This line is as it was written, so the one before it was changed.
		b.Offset, b.Seq = w.before, max(w.seq, 1)
	}
	torn := newest && (zeros || !whole && next == nil)
	for commits := 0; torn && next != nil && err == nil; next, nextWhole, err = readLine(in) {
		if _, ok := parseCommit(next); ok && nextWhole {
			commits++
		}
		torn = commits <= 1
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", b.Segment, err)
	}
	if torn {
		w.torn, w.cause = b, nil
		return nil
	}
	w.tampered = b
	if w.cause == nil {
		w.cause = ErrTampered
	}
	return nil
}

// follows reports whether line was written behind a line with this hash.
func follows(line []byte, hash Hash) bool {
	if e, ok := parseEntry(line); ok {
		return bytes.Equal(e.prev[:], hash[:shortHash])
	}
	c, ok := parseCommit(line)
	return ok && c.hash == hash
}
