package audit

import (
	"context"
	"crypto/ed25519"
	"time"
)

// Config is what a log needs. Open refuses a Config that lacks Dir, Key or Now,
// and one without Ticks that is not Strict.
type Config struct {
	Dir string             // made with mode 0700; a looser one is refused
	Key ed25519.PrivateKey // the host's; see LoadKey
	Now func() time.Time

	// Ticks makes the log sync records that are only written: at most 100 ms
	// apart. The caller owns the ticker and stops it after Close.
	Ticks <-chan time.Time
	// Strict makes every Append wait for the disk.
	Strict bool

	// Least is the newest head known from elsewhere (the run store keeps it).
	// A log that does not contain it is ErrTampered.
	Least Head

	SegmentBytes int64 // size at which a segment is closed; 0: 64 MiB
}

// Log is the open log. It is safe for concurrent use; its owner calls Close
// once no Append is under way. It runs one goroutine, which Close waits for.
type Log struct{ cfg Config }

// Open checks the log in cfg.Dir from its first record and makes it ready for
// more. A torn tail, left by a crash, is cut and a LogCut record says so; any
// other break is ErrTampered. Other errors: ErrInUse, ErrKey, faults.
func Open(ctx context.Context, cfg Config) (*Log, error) { return nil, ErrClosed }

// Append adds r. It returns nil only when r is as durable as d says; then Head
// is its position. ctx is looked at before the record gets its place, not
// after: from then on the call waits as long as the disk does. Errors: that of
// ctx, ErrRecord (the log is well), ErrClosed (nothing may run; the record may
// or may not be on disk).
func (l *Log) Append(ctx context.Context, r Record, d Durability) (Head, error) {
	return Head{}, ErrClosed
}

// Head is the position of the last record that is written.
func (l *Log) Head() Head { return Head{} }

// SyncedHead is the position of the last record that survives a power cut. It
// is the one to keep elsewhere and to give back as Config.Least.
func (l *Log) SyncedHead() Head { return Head{} }

// Failed is closed when a write or sync failed, also one that no Append waited
// for; Err then says why. It stays open after an orderly Close.
func (l *Log) Failed() <-chan struct{} { return nil }

// Err is nil while the log takes records; else it wraps ErrClosed.
func (l *Log) Err() error { return ErrClosed }

// Close syncs, signs and closes the log and waits for its goroutine. Appends
// that come later fail with ErrClosed. Closing twice returns the same error.
func (l *Log) Close() error { return nil }
