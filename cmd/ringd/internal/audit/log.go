package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultSegment = 64 << 20
	minSegment     = 4 << 10
	signEvery      = time.Second
	reserveBytes   = 64 << 10  // disk space for the last record
	reserveAhead   = 512 << 10 // disk space beyond that; below it the log is tight
	reserveChunk   = 1 << 20   // allocated at once
)

// Config configures a log. Open refuses a Config without Dir, Key or Now, and one with neither Ticks nor
// Strict.
type Config struct {
	Dir string             // created with mode 0700; a looser mode is refused
	Key ed25519.PrivateKey // of the host; see LoadKey
	Now func() time.Time

	// Ticks makes the log sync records that are only written. It must tick at most 100 ms apart. The caller
	// owns the ticker and stops it after Close.
	Ticks <-chan time.Time
	// Strict makes every Append wait for the disk.
	Strict bool

	// Least is the newest head known from elsewhere (the run store has it). A log that does not contain it is
	// ErrTampered.
	Least Head

	// Point is called at each step of Archive, for tests that crash there. It may be nil.
	Point func(label string)

	SegmentBytes int64 // size at which a segment is closed; zero means 64 MiB, at least 4 KiB
}

// Log is the open log. It is safe for concurrent use. It runs one goroutine, which Close waits for.
//
// A caller that finds no write in progress becomes the leader and writes all placed records. A caller that
// finds no sync in progress syncs for all. The others wait. So a single caller needs no switch of goroutines.
type Log struct {
	cfg    Config
	open   func(path string, create bool) (file, error)
	lock   *os.File
	failed chan struct{} // guarded by mu: Reopen replaces it
	stop   chan struct{}
	ticker sync.WaitGroup

	packed      atomic.Int64 // files in the archive by the head, and their bytes
	packedBytes atomic.Int64
	archiving   sync.Mutex // held by Archive and by methods that must not run at the same time; before mu

	mu       sync.Mutex
	turning  bool       // close the segment before the next record
	idle     *sync.Cond // signals that leading or syncing became false
	cur      *batch     // placed records that no write has taken
	leading  bool       // a write is in progress, or its turn is being passed on
	syncing  bool
	round    chan struct{} // closed when the sync in progress ends
	placed   mark          // after the last placed line
	written  mark          // after the last written line
	synced   Head
	durable  int64 // number of synced bytes of the segment
	segment  int64
	unsigned bool // there is a commit line after the last signed one
	signedAt time.Time
	closed   bool
	err      error

	// Used by the leader, and by rotate and Close while there is none.
	f        file
	reserved int64
	tight    atomic.Bool // the last attempt to reserve found no space
}

// batch holds the records of one write.
type batch struct {
	buf  []byte
	off  int64
	end  mark
	done chan struct{} // closed when it is written or failed; nil until a caller waits
	turn chan struct{} // gets one token: its receiver leads this batch
	err  error
}

// Open verifies the log in cfg.Dir from its first record and prepares it for appending. It cuts a torn tail,
// left by a crash, and records that as a LogCut. Any other break is ErrTampered. Other errors: ErrInUse,
// ErrKey, ErrFormat, faults.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	return open(ctx, cfg, openSegment)
}

func open(ctx context.Context, cfg Config, segment func(string, bool) (file, error)) (*Log, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := ownDir(cfg.Dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(filepath.Join(cfg.Dir, lockName))
	if err != nil {
		return nil, err
	}
	l := &Log{
		cfg: cfg, lock: lock, cur: &batch{}, open: segment,
		failed: make(chan struct{}), stop: make(chan struct{}), round: make(chan struct{}),
	}
	l.idle = sync.NewCond(&l.mu)
	if err := l.recover(ctx); err != nil {
		if l.f != nil {
			_ = l.f.Close()
		}
		_ = lock.Close()
		return nil, withDiskFull(err)
	}
	l.ticker.Add(1)
	go l.tick()
	return l, nil
}

func (c *Config) check() error {
	switch {
	case c.Dir == "":
		return errors.New("audit log: no folder given")
	case len(c.Key) != ed25519.PrivateKeySize:
		return errors.New("audit log: no key given")
	case c.Now == nil:
		return errors.New("audit log: no clock given")
	case c.Ticks == nil && !c.Strict:
		return errors.New("audit log: neither strict nor with ticks: records would never be synced")
	case c.SegmentBytes == 0:
		c.SegmentBytes = defaultSegment
	case c.SegmentBytes < minSegment:
		return fmt.Errorf("audit log: segments of %d bytes: want at least %d", c.SegmentBytes, minSegment)
	}
	return nil
}

// Append appends r. It returns nil only if r is as durable as d requires; Head is then its position. Ending ctx
// has an effect only until the record has its position. After that Append waits for the disk, however long that
// takes. Errors: that of ctx; ErrRecord, which does not affect the log; ErrClosed, after which the caller must
// not do what r records. After ErrClosed the record may or may not be on disk.
func (l *Log) Append(ctx context.Context, r Record, d Durability) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, fmt.Errorf("append %s: %w", r.Kind, err)
	}
	body, err := l.encode(r)
	if err != nil {
		return Head{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admitLocked(); err != nil {
		return Head{}, err
	}
	head := l.placeLocked(body)
	if r.Placed != nil {
		r.Placed()
	}
	if d == Written && !l.cfg.Strict {
		err = l.writeLocked()
	} else {
		err = l.syncLocked(head.Seq)
	}
	if err != nil {
		return Head{}, err
	}
	return head, nil
}

func (l *Log) encode(r Record) ([]byte, error) {
	if !r.Kind.Known() {
		return nil, fmt.Errorf("%w: kind %q", ErrRecord, r.Kind)
	}
	if r.Time.IsZero() {
		r.Time = l.cfg.Now()
	}
	r.Time = r.Time.UTC()
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if len(body) > MaxRecord {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrRecord, len(body), MaxRecord)
	}
	return body, nil
}

// admitLocked returns an error if the log is closed, and starts a new segment if this one is full.
func (l *Log) admitLocked() error {
	for {
		switch {
		case l.err != nil:
			return l.err
		case l.closed:
			return ErrClosed
		case l.placed.off < l.cfg.SegmentBytes && !l.turning:
			return nil
		case l.leading || l.syncing:
			l.idle.Wait()
		default:
			l.rotateLocked()
		}
	}
}

// placeLocked assigns the sequence and the link of a record, and adds it to the next batch.
func (l *Log) placeLocked(body []byte) Head {
	b, p := l.cur, &l.placed
	from := len(b.buf)
	e := entry{seq: p.seq + 1, prev: [shortHash]byte(p.last[:shortHash]), body: body}
	b.buf = append(e.append(b.buf), '\n')
	hash := hashLine(b.buf[from : len(b.buf)-1])
	size := int64(len(b.buf) - from)
	p.seq, p.hash, p.last = p.seq+1, hash, hash
	p.open += size
	p.off += size
	return p.head()
}

// placeCommitLocked places a commit line after all placed records. It is signed if sign is set or the last
// signature is a second old.
func (l *Log) placeCommitLocked(sign bool) {
	b, p := l.cur, &l.placed
	c := commit{seq: p.seq, hash: p.hash, bytes: p.open}
	now := l.cfg.Now()
	if sign || now.Sub(l.signedAt) >= signEvery || now.Before(l.signedAt) {
		c.sig = ed25519.Sign(l.cfg.Key, c.message())
		l.signedAt = now
	}
	l.unsigned = c.sig == nil
	from := len(b.buf)
	b.buf = append(c.append(b.buf), '\n')
	p.last = hashLine(b.buf[from : len(b.buf)-1])
	p.open = 0
	p.off += int64(len(b.buf) - from)
}

// Head returns the position of the last written record.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.head()
}

// SyncedHead returns the position of the last record that survives a power cut. Callers store it elsewhere
// and pass it as Config.Least at the next start.
func (l *Log) SyncedHead() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
}

// Failed returns a channel that is closed when a write or sync fails, also one that no Append waited for. Err
// then returns the cause. It stays open after a normal Close. Reopen makes a new channel.
func (l *Log) Failed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Err returns nil if the log takes records. Otherwise it wraps ErrClosed.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.closed {
		return ErrClosed
	}
	return l.err
}

// Close syncs, signs and closes the log and waits for its goroutine. Later calls of Append return ErrClosed.
// If the log had failed, Close returns the cause. A second Close does nothing.
func (l *Log) Close() error {
	l.archiving.Lock()
	defer l.archiving.Unlock()
	l.mu.Lock()
	if l.closed {
		defer l.mu.Unlock()
		return l.err
	}
	l.closed = true
	close(l.stop)
	for l.leading || l.syncing {
		l.idle.Wait()
	}
	if l.err == nil {
		if err := errors.Join(l.sealLocked(), l.trimLocked()); err != nil {
			l.failLocked(err)
		}
	}
	err := errors.Join(l.f.Close(), l.lock.Close())
	if l.err != nil {
		err = l.err
	}
	l.mu.Unlock()
	l.ticker.Wait()
	return err
}
