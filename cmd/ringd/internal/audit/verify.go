package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"time"
)

// Check holds the expected values of Verify. The zero Check verifies the chain, and the signatures with the
// key that the log itself names.
type Check struct {
	Key   ed25519.PublicKey // nil means the key in the first header
	Least Head              // a head that the log must contain; zero means none
	// Archive lists folders with archived segments, which are then verified too. If it is nil, the head that
	// the host signed replaces them.
	Archive []string
}

// Report is the result of Verify.
type Report struct {
	Head     Head  `json:"head"`     // the last valid record
	Segments int64 `json:"segments"` // numbers of segments, records and bytes that were read
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"`
	// Archived describes the archived part, or is nil.
	Archived *Begin `json:"archived,omitempty"`
	Key      string `json:"key"` // the public key, hex
	// last sequence that a signature covers; the records after it, of about a second, have only the chain
	Signed   int64  `json:"signed"`
	Commits  int64  `json:"commits"`        // commit lines
	Torn     *Break `json:"torn,omitempty"` // a torn tail, left by a crash; Open cuts it
	Tampered *Break `json:"tampered,omitempty"`
}

// Begin describes the part of a log before its folder begins.
type Begin struct {
	Segments int64     `json:"segments"`
	Seq      int64     `json:"seq"` // of its last record
	Until    time.Time `json:"until"`
	Read     bool      `json:"read"` // Verify has read it too
}

// Break is the first invalid place of a log.
type Break struct {
	Segment string `json:"segment"` // file name
	Offset  int64  `json:"offset"`
	Seq     int64  `json:"seq"` // of the record that should be there
	Why     string `json:"why"`
}

// Verify reads the whole log in dir and reports whether it is valid. It takes no lock, so a log that is being
// written may show a torn tail that is just not finished. The error is ErrTampered, ErrKey or ErrFormat
// (Report.Tampered has the place), that of ctx, or a fault of reading. A torn tail is no error.
func Verify(ctx context.Context, dir string, c Check) (Report, error) {
	w, err := verify(ctx, dir, c)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Head: w.head(), Segments: w.segment, Records: w.records, Bytes: w.bytes, Key: hex.EncodeToString(w.key),
		Signed: w.signed, Commits: w.commits, Torn: w.torn, Tampered: w.tampered,
	}
	if w.base.Segment > 0 {
		r.Archived = &Begin{Segments: w.base.Segment, Seq: w.base.Seq, Until: w.base.Until(), Read: w.full}
		if !w.full {
			r.Segments -= w.base.Segment
		}
	}
	if w.tampered != nil {
		return r, w.refusal()
	}
	return r, nil
}

// verify walks the log, and once more if segments were archived meanwhile.
func verify(ctx context.Context, dir string, c Check) (*walk, error) {
	for {
		w := &walk{check: c, key: c.Key}
		err := w.run(ctx, dir)
		if err == nil && w.tampered == nil {
			return w, nil
		}
		now, failed := ReadArchived(dir, c.Key)
		if failed != nil || now.Segment <= w.base.Segment {
			return w, err
		}
	}
}
