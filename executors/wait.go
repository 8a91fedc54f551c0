package executors

import "io"

// watcher is a connection that can look for bytes without sleeping. Both ends of
// a guest's connection are one.
type watcher interface {
	// Watch reads what arrives within a few ten microseconds. ok is false when
	// nothing did, or when watching is not worth it now; then Read waits.
	Watch(p []byte) (n int, ok bool, err error)
}

// Waking a thread that sleeps takes longer than most answers on this
// connection. So a reader watches first, but only while that pays: after a
// watch in vain it sleeps at once the next time, after two in a row the next two
// times, and so on. A run that waits for long, computes for long or shares its
// processor with the other side loses next to nothing.
type patience struct {
	skip int // reads that sleep at once
	next int // skip after the next watch in vain
}

// maxSkip bounds how long a connection that became quick is taken for a slow one.
const maxSkip = 64

// worth tells whether to watch before this read.
func (p *patience) worth() bool {
	if p.skip > 0 {
		p.skip--
		return false
	}
	return true
}

// note learns from a watch.
func (p *patience) note(paid bool) {
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
	if w.patience.worth() {
		n, ok, err := w.conn.Watch(p)
		w.patience.note(ok)
		if ok {
			return n, err
		}
	}
	return w.conn.Read(p)
}

// withPatience is r with patience when it can be watched.
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
