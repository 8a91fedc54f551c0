package port

import (
	"net"
	"sync"
)

// Room is how many connections there may be, by whom they come from. It is safe
// for concurrent use.
type Room[K comparable] struct {
	each, total int

	mu   sync.Mutex
	open map[K]int
	all  int
}

// NewRoom returns room for each connections of one K, and total in all; a total of
// 0 is no bound.
func NewRoom[K comparable](each, total int) *Room[K] {
	return &Room[K]{each: each, total: total, open: map[K]int{}}
}

// Admit returns c with a place that it keeps until it is closed. Where there is
// none c is closed; that this fails, for one that was cut already, is no error of
// the listener it came from.
func (r *Room[K]) Admit(c net.Conn, from K) (net.Conn, bool) {
	if !r.take(from) {
		_ = c.Close()
		return nil, false
	}
	return &held{Conn: c, give: func() { r.give(from) }}, true
}

func (r *Room[K]) take(from K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total > 0 && r.all >= r.total || r.open[from] >= r.each {
		return false
	}
	r.all++
	r.open[from]++
	return true
}

func (r *Room[K]) give(from K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.open[from]--; r.open[from] <= 0 {
		delete(r.open, from)
	}
}

// held gives its place back once.
type held struct {
	net.Conn
	once sync.Once
	give func()
}

func (h *held) Close() error {
	h.once.Do(h.give)
	return h.Conn.Close()
}
