package httpproxy

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// outBytes is the size of one write: the bytes of a read, and a head or the sizes of chunks.
const outBytes = chunkBytes + 8<<10

// errUsedUp means that a limit of the rule is used up.
var errUsedUp = errors.New("a limit is used up")

// errStopped ends a body that is no longer needed.
var errStopped = errors.New("the answer is complete")

// body tracks the framing of one body. The zero body is empty.
type body struct {
	kind   httphead.Body
	left   int64 // of a Sized body
	chunks httphead.Chunks
	ended  bool // of a body UntilClose
}

func (b *body) done() bool {
	switch b.kind {
	case httphead.Sized:
		return b.left == 0
	case httphead.Chunked:
		return b.chunks.Done()
	case httphead.UntilClose:
		return b.ended
	case httphead.None:
		return true
	default:
		return true
	}
}

// next consumes n bytes of buf, of which part is content.
func (b *body) next(buf []byte) (part []byte, n int, err error) {
	switch b.kind {
	case httphead.Sized:
		n = int(min(b.left, int64(len(buf))))
		b.left -= int64(n)
		return buf[:n], n, nil
	case httphead.Chunked:
		return b.chunks.Next(buf)
	case httphead.UntilClose:
		return buf, len(buf), nil
	case httphead.None:
		return nil, 0, nil
	default:
		return nil, 0, nil
	}
}

// gather appends the unread body bytes of src to out, in the framing of to, as far as out has room.
func (b *body) gather(out []byte, src *side, to httphead.Body) ([]byte, error) {
	for !b.done() && len(out)+len(src.unread()) < outBytes-64 {
		buf := src.unread()
		if len(buf) == 0 {
			return out, nil
		}
		part, n, err := b.next(buf)
		if err != nil {
			return out, err
		}
		out = appendPart(out, part, to)
		src.used(n)
		if b.done() && to == httphead.Chunked {
			out = append(out, httphead.LastChunk...)
		}
	}
	return out, nil
}

func appendPart(out, part []byte, to httphead.Body) []byte {
	if len(part) == 0 || to != httphead.Chunked {
		return append(out, part...)
	}
	return append(append(httphead.AppendSize(out, len(part)), part...), "\r\n"...)
}

// flow is one direction of an exchange while a body is transferred.
type flow struct {
	dst, src *side
	conn     Conn
	up       bool // to the target
	body     body
	to       httphead.Body
	stall    time.Duration
	stop     *atomic.Bool // nil: it cannot be stopped
	writing  bool         // the last operation was a write
}

// run writes out, and then the rest of the body until its end.
func (w *flow) run(out []byte) error {
	for {
		var err error
		if out, err = w.body.gather(out, w.src, w.to); err != nil {
			return err
		}
		switch {
		case len(out) > 0:
			if err := w.send(out); err != nil {
				return err
			}
			out = out[:0] // continue with what did not fit
		case w.body.done():
			return nil
		case len(w.src.unread()) > 0:
			if err := w.direct(); err != nil {
				return err
			}
		default:
			if out, err = w.more(out); err != nil {
				return err
			}
		}
	}
}

// more waits for bytes of the body.
func (w *flow) more(out []byte) ([]byte, error) {
	w.src.setReadTimeout(w.stall)
	if w.stop != nil && w.stop.Load() {
		// after setReadTimeout, because the deadline of the stopping goroutine must be the last one set
		return out, errStopped
	}
	err := w.src.fill(chunkBytes)
	if !errors.Is(err, io.EOF) || w.body.kind != httphead.UntilClose {
		if err == nil && w.to != httphead.Chunked && len(w.src.unread()) >= chunkBytes/2 {
			err = w.direct()
		}
		return out, err
	}
	w.body.ended = true
	if w.to == httphead.Chunked {
		out = append(out, httphead.LastChunk...)
	}
	return out, nil
}

func (w *flow) send(b []byte) error {
	up, down := int64(0), int64(len(b))
	if w.up {
		up, down = down, up
	}
	if !w.conn.Count(up, down) {
		return errUsedUp
	}
	err := w.dst.write(b, w.stall)
	w.writing = err != nil
	return err
}

// pass forwards all bytes as they arrive, until the end.
func (w *flow) pass() error {
	for {
		if b := w.src.unread(); len(b) > 0 {
			if err := w.send(b); err != nil {
				return err
			}
			w.src.used(len(b))
		}
		if err := w.src.fill(chunkBytes); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// direct writes a part from the buffer in which it was read.
func (w *flow) direct() error {
	part, n, err := w.body.next(w.src.unread())
	if err != nil {
		return err
	}
	if w.to == httphead.Chunked {
		err = w.send(appendPart(nil, part, w.to))
	} else if len(part) > 0 {
		err = w.send(part)
	}
	w.src.used(n)
	return err
}
