package executors

import "io"

// watcher is a connection that can poll for bytes without sleeping. Both ends of a guest's connection are
// watchers.
type watcher interface {
	// Watch reads bytes that arrive within a few ten microseconds. If none arrived, or if polling is not worth
	// it now, ok is false and the caller uses Read, which waits.
	Watch(p []byte) (n int, ok bool, err error)
}

// patience decides when a reader polls before it sleeps. Waking a sleeping thread takes longer than most
// answers on this connection, so a reader polls first, but only while that pays off. After one poll in vain the
// next read sleeps at once, after two in a row the next two reads, and so on. A run that waits long, computes
// long or shares its processor with the other side loses next to nothing.
type patience struct {
	skip int // number of reads that sleep at once
	next int // skip after the next poll in vain
}

// maxSkip limits how long a connection that became quick is still treated as slow.
const maxSkip = 64

// shouldPoll reports whether to poll before this read.
func (p *patience) shouldPoll() bool {
	if p.skip > 0 {
		p.skip--
		return false
	}
	return true
}

// record records whether a poll paid off.
func (p *patience) record(paid bool) {
	if paid {
		p.next /= 2
		return
	}
	p.skip = max(p.next, 1)
	p.next = min(2*p.skip, maxSkip)
}

// watched reads a connection with patience.
type watched struct {
	conn interface {
		io.Reader
		watcher
	}
	patience patience
}

func (w *watched) Read(p []byte) (int, error) {
	if w.patience.shouldPoll() {
		n, ok, err := w.conn.Watch(p)
		w.patience.record(ok)
		if ok {
			return n, err
		}
	}
	return w.conn.Read(p)
}

// withPatience wraps r if it can be polled.
func withPatience(r io.Reader) io.Reader {
	conn, ok := r.(interface {
		io.Reader
		watcher
	})
	if !ok {
		return r
	}
	return &watched{conn: conn}
}
