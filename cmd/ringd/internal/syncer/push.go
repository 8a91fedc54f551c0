package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/ringd/ringd/schema"
)

// Push is the content of the sync folder at one moment.
type Push struct {
	// Sources are policies and modules, sorted by name. A name is relative to the folder, with slashes.
	// Sources must not be changed.
	Sources []schema.Source
	// Digest is "sha256:" and the hex digest of names and content.
	Digest string
	// Beside names another file in a folder that should hold only one file. It was not read. It is empty if
	// there is none.
	Beside string
}

// Sink receives what the syncer finds. Its methods are called one at a time from one goroutine, and should
// return soon after ctx ends.
type Sink interface {
	// Apply gets a push whose digest differs from the previous one. After an error, the same push is passed
	// again at the next look.
	Apply(ctx context.Context, p Push) error
	// Current reports that a look found the last accepted content.
	Current(ctx context.Context, digest string)
	// Reject reports that the folder exists and its content is no push. It is called at every such look. If
	// the content changed during the read, the syncer first looks some more times.
	Reject(ctx context.Context, err error)
	// Lost reports that the folder is missing or cannot be opened. It is called at every such look.
	Lost(ctx context.Context, err error)
}

// Reasons why the content of a folder is no push. Errors of Read and of Reject wrap one of these, or a fault
// of the file system, and name the file.
var (
	ErrTorn     = errors.New("the content changes while it is read")
	ErrWriting  = errors.New("a file is open for writing")
	ErrEmpty    = errors.New("no policy in the folder")
	ErrTooLarge = errors.New("larger than a push may be")
	ErrTooMany  = errors.New("more files than a push may have")
	ErrTooDeep  = errors.New("nested deeper than a push may be")
	ErrNotFile  = errors.New("not a regular file")
	ErrLink     = errors.New("a link out of the folder, or to a file that does not exist")
	ErrAnother  = errors.New("is not the one file that is allowed there") // see Limits.Only
	ErrFresh    = errors.New("it was written a moment ago, and its writer may not have finished: ringd waits until " +
		"it stays unchanged for a while")
	ErrSecond = errors.New("looks like a second copy of a policy, and would be read as another policy: remove one " +
		"of the two")
)

// ErrCostly is wrapped by an error of Sink.Apply if a retry is costly. The retries then come at growing
// intervals.
var ErrCostly = errors.New("trying again costs much")

// errShort is wrapped by a fault of the host, not of the folder.
var errShort = errors.New("the host is short of a resource")

// isChanging reports whether an error may be gone at the next look, because the folder is being changed.
func isChanging(err error) bool {
	return errors.Is(err, ErrTorn) || errors.Is(err, ErrWriting) || errors.Is(err, ErrFresh)
}

// Limits limits a push. Zero fields mean the defaults.
type Limits struct {
	FileBytes  int64 // one file
	TotalBytes int64
	Files      int
	Entries    int // names in the folder, read or not
	Depth      int // folders below the first
	// Tests also accepts tests beside policies, *_test.yaml and Rego. Only commands use it.
	Tests bool
	// Only is the one name that is read. Other files are reported in Push.Beside, and are an error if Only is
	// missing. An empty Only reads everything that policies need.
	Only string
	// Beside is a name that may also exist and is not read. It may be empty.
	Beside string
	// Others allows any other files beside Only. They are not even listed.
	Others bool

	// fresh reports whether a file may still be unfinished, if the system cannot tell whether it is open for
	// writing. Nil means that no file is.
	fresh func(name, stamp string, changed time.Time) bool
	// names makes a pass read only names, sizes and times.
	names bool
}

// Defaults of Limits.
const (
	DefaultFileBytes  = 1 << 20
	DefaultTotalBytes = 8 << 20
	DefaultFiles      = 4096
	defaultEntries    = 16384
	defaultDepth      = 16
)

func (l Limits) withDefaults() Limits {
	fill := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	fill(&l.Files, DefaultFiles)
	fill(&l.Entries, defaultEntries)
	fill(&l.Depth, defaultDepth)
	if l.FileBytes <= 0 {
		l.FileBytes = DefaultFileBytes
	}
	if l.TotalBytes <= 0 {
		l.TotalBytes = DefaultTotalBytes
	}
	return l
}

// digestOf returns "sha256:" and the digest of names and content, each with its length before it. The sources
// must be sorted.
func digestOf(sources []schema.Source) string {
	h := sha256.New()
	var n [8]byte
	put := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, s := range sources {
		put([]byte(s.Name))
		put(s.Data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
