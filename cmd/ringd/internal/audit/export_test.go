package audit

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
