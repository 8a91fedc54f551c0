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

// Push is the content of the sync directory at one moment.
type Push struct {
	// Sources are policies and modules, sorted by name. A name is relative to
	// the folder, with slashes. They must not be changed.
	Sources []schema.Source
	// Digest is "sha256:" and the hex digest of names and content.
	Digest string
	// Beside says what else lies in a folder that should hold one file alone, and was
	// not read; "": nothing does.
	Beside string
}

// Sink takes what the syncer finds. Its methods are called one at a time, from
// one goroutine, and should return soon after ctx ends.
type Sink interface {
	// Apply takes a push whose digest is not that of the push before. An error
	// means "not now": the same push is handed over again at the next look.
	Apply(ctx context.Context, p Push) error
	// Current says that a look found the content that was handed over last.
	Current(ctx context.Context, digest string)
	// Reject says that the folder is there and its content is no push. It is
	// called at every look that finds so; a content that only changes while it is
	// read is looked at some more times first.
	Reject(ctx context.Context, err error)
	// Lost says that the folder is not there, or cannot be opened. It is called at
	// every look that finds so.
	Lost(ctx context.Context, err error)
}

// Why a folder's content is no push. Errors of Read and those given to Reject
// wrap one of these, or a fault of the file system, and name the file.
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

// ErrCostly is wrapped by an error of Sink.Apply whose cause costs much to find again:
// the next tries come at growing distances.
var ErrCostly = errors.New("trying again costs much")

// errShort is wrapped by a fault that is about the host and not about the folder.
var errShort = errors.New("the host is short of a resource")

// unsettled reports whether an error may be gone at the next look, because
// somebody is at work in the folder.
func unsettled(err error) bool {
	return errors.Is(err, ErrTorn) || errors.Is(err, ErrWriting) || errors.Is(err, ErrFresh)
}

// Limits bound a push. A zero field takes the default.
type Limits struct {
	FileBytes  int64 // one file
	TotalBytes int64
	Files      int
	Entries    int // names in the folder, read or not
	Depth      int // folders below the first
	// Tests takes in what stands beside policies and is no part of a push: *_test.yaml,
	// and Rego. Only commands ask for it.
	Tests bool
	// Only is the one name that is read: what else lies there is told in Push.Beside, and
	// refused where that name is not there; "": what policies need.
	Only string
	// Beside may be there as well, and is not looked at; "": nothing may.
	Beside string
	// Others lets anything be there beside Only, and looks at none of it: not even at
	// how much there is.
	Others bool

	// fresh says of a file, of which nobody can tell whether it is still open for
	// writing, that it may not be finished; nil: it is.
	fresh func(name, stamp string, changed time.Time) bool
	// names has no file read: the pass is about names, sizes and times.
	names bool
}

// The defaults of Limits.
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

// digestOf is "sha256:" and the digest of names and content, each with its
// length before it. The sources are sorted.
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
