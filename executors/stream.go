package executors

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ProtocolVersion is the version of the guest protocol. Any other is rejected: a guest is of the same binary,
// or of an older one with the same protocol, which is kept for the snapshots of its engine.
const ProtocolVersion = 2

// Limits of one connection. The guest keeps them and reports them to the program. The host enforces them again
// and kills a guest that exceeds one.
const (
	MaxFrameBytes = 16 << 20  // one frame
	MaxOpenAsks   = 1024      // questions without an answer
	MaxOpenBytes  = 64 << 20  // total size of their arguments
	MaxRunBytes   = 512 << 20 // total of what one run may send, its result included
	maxNameBytes  = 256       // the name of a bridge

	MaxSnapshotBytes = 64 << 20  // snapshot of one pause, as the engine packed it
	PartBytes        = 256 << 10 // bytes of it in one frame
)

// ErrProtocol is wrapped by every error about bytes from the other side: an unknown frame, field or order, a
// frame that is too long or cut short, bytes after the last field. The connection cannot be used after it.
var ErrProtocol = errors.New("guest protocol")

// Side is the end of the connection that a Stream is for.
type Side uint8

// The sides. Each reads only the messages that the other may send.
const (
	HostSide  Side = iota + 1 // in the daemon
	GuestSide                 // in the guest process
)

// Stream reads and writes messages on one connection. Read may be called by one
// goroutine at a time; Put and Flush by any.
type Stream struct {
	side Side
	r    *bufio.Reader
	read int64

	mu  sync.Mutex
	w   io.Writer
	out []byte // under mu
	put int64  // under mu
	err error  // under mu; the first failure of a write
}

// NewStream returns a Stream on rw for one side. The caller closes rw.
func NewStream(rw io.ReadWriter, side Side) *Stream {
	return &Stream{side: side, r: bufio.NewReaderSize(withPatience(rw), 16<<10), w: rw}
}

// Read waits for the next message. It returns io.EOF if the other side closed the connection between two
// frames. Errors of the other side wrap ErrProtocol. The Stream does not reuse the byte slices of a message.
func (s *Stream) Read() (Message, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: truncated frame", ErrProtocol)
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > MaxFrameBytes {
		return nil, fmt.Errorf("%w: frame of %d bytes", ErrProtocol, n)
	}
	s.read += int64(n) + headBytes
	body, err := s.body(int(n))
	if err != nil {
		return nil, err
	}
	return decode(s.side, kind(head[4]), body)
}

// Loads reads the pieces of a snapshot that m promises. Any other message, or more bytes than promised, is an
// error that wraps ErrProtocol.
func (s *Stream) Loads(m Restore) ([]byte, error) {
	var b []byte
	for uint64(len(b)) < m.Bytes {
		next, err := s.Read()
		if err != nil {
			return nil, err
		}
		l, ok := next.(Load)
		if !ok || uint64(len(b)+len(l.Bytes)) > m.Bytes {
			return nil, fmt.Errorf("%w: %T, or too much, in a snapshot", ErrProtocol, next)
		}
		b = append(b, l.Bytes...)
	}
	return b, nil
}

// headBytes is the length and the kind in front of every body.
const headBytes = 5

// body reads n bytes. It allocates memory as bytes arrive, not as they are promised.
func (s *Stream) body(n int) ([]byte, error) {
	const step = 64 << 10
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		k := min(n-len(b), step)
		b = append(b, make([]byte, k)...)
		if _, err := io.ReadFull(s.r, b[len(b)-k:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, fmt.Errorf("%w: truncated frame", ErrProtocol)
			}
			return nil, err
		}
	}
	return b, nil
}

// Pending reports whether bytes were received that no Read has returned yet.
func (s *Stream) Pending() bool { return s.r.Buffered() > 0 }

// BytesRead returns the number of bytes read so far, frame heads included.
func (s *Stream) BytesRead() int64 { return s.read }

// BytesPut returns the number of bytes put so far, frame heads included.
func (s *Stream) BytesPut() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put
}

// Put queues m for the next Flush. If m is too long for a frame, it returns an error and no part of m is sent.
func (s *Stream) Put(m Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.out)
	s.out = append(s.out, 0, 0, 0, 0, byte(m.kind()))
	s.out = m.append(s.out)
	n := len(s.out) - at - headBytes
	if n > MaxFrameBytes {
		s.out = s.out[:at]
		return fmt.Errorf("put %T: %d bytes are more than a frame holds", m, n)
	}
	binary.BigEndian.PutUint32(s.out[at:], uint32(n))
	s.put += int64(n) + headBytes
	return nil
}

// Flush sends the queued messages. After an error nothing more is sent.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.w.Write(s.out)
	s.err = err
	if cap(s.out) > 1<<20 {
		s.out = nil
	}
	s.out = s.out[:0]
	return err
}

// Send puts m and flushes.
func (s *Stream) Send(m Message) error {
	if err := s.Put(m); err != nil {
		return err
	}
	return s.Flush()
}
