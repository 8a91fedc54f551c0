package audit

import "crypto/ed25519"

// What the tests in audit_test need to put a failing disk under a log, and to
// fuzz the decoders.

type File = file

var (
	OpenWith    = open
	OpenSegment = openSegment
	SegmentName = segmentName
)

// Redecode parses line as each of the three kinds and returns what they encode
// to again, nil where line is not of the kind.
func Redecode(line []byte) (header, entry, commit []byte) {
	if h, ok := parseHeader(line); ok {
		header = h.append(nil)
	}
	if e, ok := parseEntry(line); ok {
		entry = e.append(nil)
	}
	if c, ok := parseCommit(line); ok {
		commit = c.append(nil)
	}
	return header, entry, commit
}

var DecodeEntry = decodeEntry

// RedecodeArchived parses a head and writes it again with key; nil: it was refused.
func RedecodeArchived(text []byte, key ed25519.PrivateKey) []byte {
	a, _, cause := parseArchived(text, nil)
	if cause != nil {
		return nil
	}
	out, err := a.text(key)
	if err != nil {
		return nil
	}
	return out
}

// SignArchived is a head with this line.
func SignArchived(line []byte, key ed25519.PrivateKey) []byte { return signArchived(line, key) }

// ArchivePoints are the labels that Archive tells.
var ArchivePoints = []string{"archive_written", "archive_packed", "archive_recorded", "archive_copied",
	"archive_headed", "archive_removed"}

// HeadText is a head as the host writes it.
func HeadText(a Archived, key ed25519.PrivateKey) ([]byte, error) { return a.text(key) }
