package audit

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// mark is a position between two lines of a segment.
type mark struct {
	seq  int64 // last record
	hash Hash  // its hash
	last Hash  // hash of the last line of any kind
	open int64 // bytes of record lines since the last other line
	off  int64 // offset in the segment
}

func (m mark) head() Head { return Head{Seq: m.seq, Hash: m.hash} }

// walk verifies a log from its first line and stops at the first invalid one.
type walk struct {
	mark
	check Check
	key   ed25519.PublicKey

	segment int64
	base    Archived       // archived part before the first segment in the folder
	full    bool           // verify the archived segments too
	visit   func(Entry)    // called with each record; may be nil
	kinds   map[Kind]int64 // last sequence of each kind; set if visit is
	headed  bool           // the segment has a header
	sealed  bool           // the last line is a signed commit
	signed  int64
	records int64
	commits int64
	bytes   int64
	least   bool  // Check.Least was found
	before  int64 // offset of the last valid line
	broken  bool  // the line does not match the previous one

	torn, tampered *Break
	cause          error // sentinel of tampered
}

// newWalk returns a walk that starts after the archived part.
func (a Archived) newWalk(key ed25519.PublicKey) *walk {
	return &walk{key: key, base: a, mark: mark{seq: a.Seq, hash: a.Hash, last: a.Line}, segment: a.Segment,
		signed: a.Seq}
}

// run walks all segments. Its error is a fault or that of ctx. An invalid log is reported in torn or
// tampered.
func (w *walk) run(ctx context.Context, dir string) error {
	if err := w.begin(ctx, dir); err != nil || w.tampered != nil {
		return err
	}
	list, err := segments(dir)
	if errors.Is(err, ErrTampered) {
		w.tampered, w.cause = &Break{Why: err.Error()}, ErrTampered
		return nil
	}
	if err != nil {
		return err
	}
	// A crash can leave segments that are archived.
	list = slices.DeleteFunc(list, func(n int64) bool { return n <= w.base.Segment })
	for i, n := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if want := w.base.Segment + int64(i) + 1; n != want {
			w.missing(want)
			return nil
		}
		if err := w.walkFile(ctx, filepath.Join(dir, segmentName(n)), n, i == len(list)-1); err != nil {
			return err
		}
		if w.tampered != nil {
			return nil
		}
	}
	switch {
	case len(list) == 0 && w.base.Segment > 0:
		w.missing(w.base.Segment + 1)
	case !w.least:
		w.breakAt(segmentName(max(w.segment, 1)),
			fmt.Sprintf("the log ends at record %d; record %d is known to have been written", w.seq, w.check.Least.Seq))
	}
	return nil
}

// begin sets the start of the walk after the archived part. If Check.Archive is set, it verifies that part
// too.
func (w *walk) begin(ctx context.Context, dir string) error {
	base, err := ReadArchived(dir, w.key)
	var bad *headError
	if errors.As(err, &bad) {
		w.tampered, w.cause = &Break{Segment: archivedName, Seq: 1, Why: bad.detail()}, bad.cause
		return nil
	}
	if err != nil {
		return err
	}
	least := w.check.Least
	w.base, w.least = base, least.Seq == 0
	if base.Segment == 0 {
		return nil
	}
	if w.key == nil {
		if w.key, err = hex.DecodeString(base.Key); err != nil {
			return fmt.Errorf("read %s: %w", archivedName, err)
		}
	}
	if len(w.check.Archive) > 0 {
		return w.walkArchive(ctx)
	}
	w.mark, w.segment, w.signed = mark{seq: base.Seq, hash: base.Hash, last: base.Line}, base.Segment, base.Seq
	w.least = w.least || least.Seq < base.Seq || least == base.Head
	if !w.least && least.Seq == base.Seq {
		w.breakAt(archivedName, "its last record is not the one that is known to have been written")
	}
	return nil
}

// walkArchive walks the archived segments, from record 1 to the head.
func (w *walk) walkArchive(ctx context.Context) error {
	w.full = true
	for _, f := range w.base.Files {
		in, err := openIn(w.check.Archive, f.Name)
		if errors.Is(err, fs.ErrNotExist) {
			w.off = 0
			w.breakAt(f.Name, "it is in none of the given archive folders")
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archived segment: %w", err)
		}
		err = errors.Join(w.walkArchived(ctx, in, f.Digest), in.Close())
		if err != nil || w.tampered != nil {
			return err
		}
		if w.seq != f.Last {
			w.breakAt(f.Name, fmt.Sprintf("it ends at record %d, and %s says %d", w.seq, archivedName, f.Last))
			return nil
		}
	}
	if w.head() != w.base.Head || w.last != w.base.Line {
		w.breakAt(archivedName, "it does not follow from the archived segments")
	}
	return nil
}

// walkArchived walks the next segment, which is compressed. If digest is not empty, the file must have it.
func (w *walk) walkArchived(ctx context.Context, f *os.File, digest string) error {
	sum := sha256.New()
	in := io.TeeReader(f, sum)
	name := filepath.Base(f.Name())
	w.off = 0
	zip, err := gzip.NewReader(in)
	if err == nil {
		if err = w.oneSegment(ctx, zip, w.segment+1, false); err == nil && w.tampered == nil {
			_, err = io.Copy(io.Discard, in) // bytes after the end count for the digest
		}
	}
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.EOF), corrupt(err):
		w.breakAt(name, "it is damaged: "+err.Error())
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case w.tampered != nil:
		w.tampered.Segment = name
	case digest != "" && digest != "sha256:"+hex.EncodeToString(sum.Sum(nil)):
		w.breakAt(name, "its digest is not that of "+archivedName)
	}
	return nil
}

func corrupt(err error) bool {
	var at flate.CorruptInputError
	return errors.As(err, &at)
}

// missing reports that segment n is missing.
func (w *walk) missing(n int64) {
	said := "the segment is missing"
	if w.base.Segment == 0 && n == 1 {
		said += "; if it was archived, " + archivedName + " is missing, but the archive has a copy"
	}
	w.off = 0
	w.breakAt(segmentName(n), said)
}

func (w *walk) breakAt(segment, why string) {
	w.tampered = &Break{Segment: segment, Offset: w.off, Seq: w.seq + 1, Why: why}
	w.cause = ErrTampered
}

// walkFile walks a segment of the folder.
func (w *walk) walkFile(ctx context.Context, path string, n int64, newest bool) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	defer f.Close()
	return w.oneSegment(ctx, f, n, newest)
}

func (w *walk) oneSegment(ctx context.Context, from io.Reader, n int64, newest bool) error {
	name := segmentName(n)
	w.segment, w.off, w.headed, w.sealed = n, 0, false, false
	in := bufio.NewReaderSize(from, maxLine+1)
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
			return w.checkTorn(in, line, whole, newest, why)
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

// readLine returns the next line without its newline, and whether it had one. It returns nil at the end. Of a
// line that is too long it returns the first part, as not whole.
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

// step verifies one whole line. It returns what is wrong, or "".
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
	return w.visitRecord(line)
}

// visitRecord calls visit with a valid record.
func (w *walk) visitRecord(line []byte) string {
	if w.visit == nil {
		return ""
	}
	e, _, err := decodeEntry(line)
	if err != nil {
		return "the record cannot be read"
	}
	if w.kinds == nil {
		w.kinds = map[Kind]int64{}
	}
	w.kinds[e.Record.Kind] = e.Seq
	w.visit(e)
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
	case w.signed == 0 && c.sig == nil:
		return "the first commit line of the log is not signed"
	case c.sig != nil && !ed25519.Verify(w.key, c.message(), c.sig):
		return "the signature is not valid"
	}
	w.last, w.open, w.sealed = hashLine(line), 0, c.sig != nil
	w.commits++
	if c.sig != nil {
		w.signed = w.seq
	}
	return ""
}

// checkTorn decides whether a crash can have torn an invalid line. It must be in the newest segment, and look
// like after a crash: no end, or zero bytes where a block did not reach the disk. At most one commit line may
// follow, because a sync ends before the commit line of the next one is written, so everything further back
// was on disk.
func (w *walk) checkTorn(in *bufio.Reader, line []byte, whole, newest bool, why string) error {
	b := &Break{Segment: segmentName(w.segment), Offset: w.off, Seq: w.seq + 1, Why: why}
	hash := hashLine(line)
	zeros := bytes.IndexByte(line, 0) >= 0
	next, nextWhole, err := readLine(in) // overwrites line
	if w.broken && (next == nil || follows(next, hash)) {
		// This line is unchanged, so the previous one was changed.
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

// follows reports whether line was written after a line with this hash.
func follows(line []byte, hash Hash) bool {
	if e, ok := parseEntry(line); ok {
		return bytes.Equal(e.prev[:], hash[:shortHash])
	}
	c, ok := parseCommit(line)
	return ok && c.hash == hash
}
