package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"time"
)

// Check is what Verify is to hold a log against. The zero Check checks the
// chain and the signatures by the key that the log itself names.
type Check struct {
	Key   ed25519.PublicKey // nil: the key in the first header
	Least Head              // a head the log must contain; zero: none
	// Archive are folders with the segments that were archived, which are then checked
	// as well; nil: the head that the host signed stands for them.
	Archive []string
}

// Report is what Verify found.
type Report struct {
	Head     Head  `json:"head"`     // the last record that holds
	Segments int64 `json:"segments"` // that were read, as records and bytes
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"`
	// Archived is what was moved to an archive; nil: nothing was.
	Archived *Begin `json:"archived,omitempty"`
	Key      string `json:"key"` // the public key, hex
	// sequence up to which a signature vouches; above it, about a second's records, the chain alone
	Signed   int64  `json:"signed"`
	Commits  int64  `json:"commits"`        // commit lines
	Torn     *Break `json:"torn,omitempty"` // a crash left a torn tail; Open cuts it
	Tampered *Break `json:"tampered,omitempty"`
}

// Begin is what comes before the records in the folder of a log.
type Begin struct {
	Segments int64     `json:"segments"`
	Seq      int64     `json:"seq"` // of its last record
	Until    time.Time `json:"until"`
	Read     bool      `json:"read"` // Verify has read it, too
}

// Break is the first place of a log that does not hold.
type Break struct {
	Segment string `json:"segment"` // file name
	Offset  int64  `json:"offset"`
	Seq     int64  `json:"seq"` // of the record that should stand there
	Why     string `json:"why"`
}

// Verify reads the whole log in dir and says what holds. It takes no lock: a
// log that is being written may show a torn tail that is only not finished.
// The error is ErrTampered, ErrKey or ErrFormat (Report.Tampered says where),
// that of ctx, or a fault of reading; a torn tail is no error.
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

// verify walks over the log, and once more where segments were archived meanwhile.
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
