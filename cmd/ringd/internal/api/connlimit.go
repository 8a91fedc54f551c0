package api

import (
	"container/list"
	"net"
	"sync"
)

// connLimit limits connections, by source and in all. It is safe for concurrent use.
type connLimit[K comparable] struct {
	each, total int

	mu   sync.Mutex
	open map[K]int
	all  int
	// Connections whose caller is not known yet, oldest first, and their number for each K. One of them is
	// closed for a new one if all places are taken.
	unproved *list.List // elements are *held[K]
	waiting  map[K]int
}

// NewRoom returns a limit: `each` connections for one K, and `total` connections for all. A total of 0 means no
// limit for all.
func NewRoom[K comparable](each, total int) *connLimit[K] {
	return &connLimit[K]{each: each, total: total, open: map[K]int{}, unproved: list.New(), waiting: map[K]int{}}
}

// Admit returns c with a place, which c keeps until it is closed. If there is no free place, c is closed, and an
// error of that is ignored, because c may be cut already. If all places are taken and another K has more unproved
// connections than from, the K with the most of them loses its oldest one, and c gets the place.
func (r *connLimit[K]) Admit(c net.Conn, from K) (net.Conn, bool) {
	h, gone := r.place(c, from)
	if gone != nil {
		_ = gone.Conn.Close() // its place was given to c
	}
	if h == nil {
		_ = c.Close()
		return nil, false
	}
	return h, true
}

// place finds a place, and returns the connection to close for it.
func (r *connLimit[K]) place(c net.Conn, from K) (h, gone *heldConn[K]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[from] >= r.each {
		return nil, nil
	}
	if r.total > 0 && r.all >= r.total {
		if gone = r.oldestOfMost(); gone == nil || r.waiting[gone.from] <= r.waiting[from] {
			return nil, nil
		}
		r.giveLocked(gone)
	}
	h = &heldConn[K]{Conn: c, room: r, from: from}
	h.place = r.unproved.PushBack(h)
	r.waiting[from]++
	r.all++
	r.open[from]++
	return h, gone
}

// oldestOfMost returns the oldest unproved connection of a K that has the most of them, or nil. mu is held.
func (r *connLimit[K]) oldestOfMost() (h *heldConn[K]) {
	for e := r.unproved.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*heldConn[K]); h == nil || r.waiting[one.from] > r.waiting[h.from] {
			h = one
		}
	}
	return h
}

// giveLocked releases the place of a connection, once. mu is held.
func (r *connLimit[K]) giveLocked(h *heldConn[K]) {
	if h.given {
		return
	}
	h.given = true
	r.proveLocked(h)
	r.all--
	if r.open[h.from]--; r.open[h.from] <= 0 {
		delete(r.open, h.from)
	}
}

func (r *connLimit[K]) proveLocked(h *heldConn[K]) {
	if h.place == nil {
		return
	}
	r.unproved.Remove(h.place)
	h.place = nil
	if r.waiting[h.from]--; r.waiting[h.from] <= 0 {
		delete(r.waiting, h.from)
	}
}

// heldConn is a connection with a place.
type heldConn[K comparable] struct {
	net.Conn
	room *connLimit[K]
	from K

	// Guarded by mu of the room.
	place *list.Element // among the unproved; nil if its caller is known, or it has no place
	given bool
}

func (h *heldConn[K]) Close() error {
	h.room.mu.Lock()
	h.room.giveLocked(h)
	h.room.mu.Unlock()
	return h.Conn.Close()
}

// Prove marks the caller of the connection as known, so it keeps its place.
func (h *heldConn[K]) Prove() {
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	h.room.proveLocked(h)
}
