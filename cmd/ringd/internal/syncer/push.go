package syncer

import (
	"context"
	"errors"

	"github.com/ringd/ringd/schema"
)

// Push is the content of the sync directory at one moment.
type Push struct {
	// Sources are policies and modules, sorted by name. A name is relative to
	// the folder, with slashes. They must not be changed.
	Sources []schema.Source
	// Digest is "sha256:" and the hex digest of names and content.
	Digest string
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
	// called at every look that finds so.
	Reject(ctx context.Context, err error)
	// Lost says that the folder is not there, or cannot be opened. It is called at
	// every look that finds so.
	Lost(ctx context.Context, err error)
}

// Why a folder's content is no push. Errors of Read and those given to Reject
// wrap one of these, or a fault of the file system, and name the file.
var (
	ErrTorn     = errors.New("the content changes while it is read")
	ErrTooLarge = errors.New("larger than a push may be")
	ErrTooMany  = errors.New("more files than a push may have")
	ErrTooDeep  = errors.New("nested deeper than a push may be")
	ErrNotFile  = errors.New("not a regular file")
	ErrLink     = errors.New("a link that leads out of the folder or nowhere")
)

// Limits bound a push. A zero field takes the default.
type Limits struct {
	FileBytes  int64 // one file; default 1 MiB
	TotalBytes int64 // default 8 MiB
	Files      int   // default 4,096
	Entries    int   // names in the folder, read or not; default 16,384
	Depth      int   // folders below the first; default 8
}

// The defaults of Limits.
const (
	DefaultFileBytes  = 1 << 20
	DefaultTotalBytes = 8 << 20
	DefaultFiles      = 4096
	DefaultEntries    = 16384
	DefaultDepth      = 8
)

// Read reads a folder once, as the syncer does, for commands. The digest is the
// one the daemon would compute. An error that wraps fs.ErrNotExist means that
// the folder is not there.
func Read(dir string, l Limits) (Push, error) { return Push{}, ErrTorn }
