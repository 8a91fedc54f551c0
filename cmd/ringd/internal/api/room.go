package api

import (
	"container/list"
	"net"
	"sync"
)

// connRoom is how many connections there may be, by whom they come from. It is safe
// for concurrent use.
type connRoom[K comparable] struct {
	each, total int

	mu   sync.Mutex
	open map[K]int
	all  int
	// Connections whose caller is not known yet, the oldest first, and how many of
	// each K there are. One of them makes room where there is none in all.
	unproved *list.List // of *held[K]
	waiting  map[K]int
}

// NewRoom returns room for each connections of one K, and total in all; a total of
// 0 is no bound.
func NewRoom[K comparable](each, total int) *connRoom[K] {
	return &connRoom[K]{each: each, total: total, open: map[K]int{}, unproved: list.New(), waiting: map[K]int{}}
}

// Admit returns c with a place that it keeps until it is closed. Where there is
// none c is closed; that this fails, for one that was cut already, is no error of
// the listener it came from. When all places are taken, whoever has the most
// connections of no known caller loses the oldest of them to one that has fewer.
func (r *connRoom[K]) Admit(c net.Conn, from K) (net.Conn, bool) {
	h, gone := r.take(c, from)
	if gone != nil {
		_ = gone.Conn.Close() // its place was given
	}
	if h == nil {
		_ = c.Close()
		return nil, false
	}
	return h, true
}

// take finds a place, and tells which connection is to be closed for it.
func (r *connRoom[K]) take(c net.Conn, from K) (h, gone *held[K]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[from] >= r.each {
		return nil, nil
	}
	if r.total > 0 && r.all >= r.total {
		if gone = r.most(); gone == nil || r.waiting[gone.from] <= r.waiting[from] {
			return nil, nil
		}
		r.giveLocked(gone)
	}
	h = &held[K]{Conn: c, room: r, from: from}
	h.place = r.unproved.PushBack(h)
	r.waiting[from]++
	r.all++
	r.open[from]++
	return h, gone
}

// most is the oldest unproved connection of a K that has the most of them; nil: there
// is none. It needs mu.
func (r *connRoom[K]) most() (h *held[K]) {
	for e := r.unproved.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*held[K]); h == nil || r.waiting[one.from] > r.waiting[h.from] {
			h = one
		}
	}
	return h
}

// giveLocked gives the place of a connection back, once. It needs mu.
func (r *connRoom[K]) giveLocked(h *held[K]) {
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

func (r *connRoom[K]) proveLocked(h *held[K]) {
	if h.place == nil {
		return
	}
	r.unproved.Remove(h.place)
	h.place = nil
	if r.waiting[h.from]--; r.waiting[h.from] <= 0 {
		delete(r.waiting, h.from)
	}
}

// held is a connection that gives its place back once.
type held[K comparable] struct {
	net.Conn
	room *connRoom[K]
	from K

	// Under mu of the room.
	place *list.Element // among the unproved; nil: its caller is known, or it has none
	given bool
}

func (h *held[K]) Close() error {
	h.room.mu.Lock()
	h.room.giveLocked(h)
	h.room.mu.Unlock()
	return h.Conn.Close()
}

// Prove says that the caller of the connection is known: it keeps its place.
func (h *held[K]) Prove() {
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	h.room.proveLocked(h)
}
