package kernel

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ringd/ringd/rings/kernel/spawn"
)

// pool keeps guests that wait for a program. The mu of its ring guards it.
type pool struct {
	waiting map[kind][]*prepared
	used    []kind // kinds in waiting, the one asked for last at the end
	coming  map[kind]int
	cancels map[int]context.CancelFunc // of guests that are being prepared
	starts  int
}

func newPool() pool {
	return pool{waiting: map[kind][]*prepared{}, coming: map[kind]int{}, cancels: map[int]context.CancelFunc{}}
}

const (
	// maxPrepared limits the guests of all kinds that wait or are being prepared.
	maxPrepared = 16
	// prepareTime limits a start in the background.
	prepareTime = 30 * time.Second
)

// total is how many guests wait or are being prepared.
func (p *pool) total() int {
	n := 0
	for k := range p.waiting {
		n += len(p.waiting[k])
	}
	for _, c := range p.coming {
		n += c
	}
	return n
}

// takePrepared returns a live guest of this kind, or nil if there is none.
func (r *Ring) takePrepared(k kind) *prepared {
	for {
		r.mu.Lock()
		list := r.pool.waiting[k]
		if len(list) == 0 {
			r.mu.Unlock()
			return nil
		}
		p := list[0]
		r.pool.waiting[k] = list[1:]
		if len(list) == 1 {
			delete(r.pool.waiting, k)
		}
		r.pool.used = append(slices.DeleteFunc(r.pool.used, func(u kind) bool { return u == k }), k)
		r.mu.Unlock()
		if p.alive() {
			return p
		}
		_ = p.drop() // it is dead; only the wait for it could fail
	}
}

// alive reports whether an init still waits. It has sent all its messages, so anything on its control socket
// means its end.
func (p *prepared) alive() bool { return !p.control.Ready() }

// hasMore reports whether another guest of this kind waits.
func (r *Ring) hasMore(k kind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pool.waiting[k]) > 0
}

// refill prepares guests of the kind that was just asked for, in the background, up to the wanted number. Their
// start outlives ctx but not Close.
func (r *Ring) refill(ctx context.Context, c *recipe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := min(r.cfg.Prepared[c.kind.executor], maxPrepared)
	if r.closed || r.recipes[c.kind] != c {
		return // of a set that is not in force
	}
	for range want - len(r.pool.waiting[c.kind]) - r.pool.coming[c.kind] {
		if r.pool.total() >= maxPrepared && !r.evictLocked(c.kind) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), prepareTime)
		r.pool.starts++
		n := r.pool.starts
		r.pool.cancels[n] = cancel
		r.pool.coming[c.kind]++
		r.begin(func() {
			defer cancel()
			r.prepareAnother(ctx, c, n)
		})
	}
}

// spare keeps one init started. A failure shows on the launch that needs one.
func (r *Ring) spare(c *recipe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.cfg.Spare && r.groups == nil && c.order.Reap {
		r.begin(func() { _ = r.spawn.Spare(spawn.Place{UID: c.order.UID, GID: c.order.GID, Stays: true}) })
	}
}

// evictLocked drops the guest of the least recently used other kind.
func (r *Ring) evictLocked(but kind) bool {
	known := append(slices.DeleteFunc(slices.Collect(maps.Keys(r.pool.waiting)), func(k kind) bool {
		return slices.Contains(r.pool.used, k)
	}), r.pool.used...)
	for _, k := range known {
		list := r.pool.waiting[k]
		if k == but || len(list) == 0 {
			continue
		}
		r.dropLater(list[:1])
		if r.pool.waiting[k] = list[1:]; len(list) == 1 {
			delete(r.pool.waiting, k)
		}
		return true
	}
	return false
}

// prepareAnother prepares one guest. It reports no failure: a launch that finds no prepared guest starts a guest
// itself, and gets the error.
func (r *Ring) prepareAnother(ctx context.Context, c *recipe, n int) {
	p, err := r.prepare(ctx, c)
	r.recordLie(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pool.cancels, n)
	if r.pool.coming[c.kind]--; r.pool.coming[c.kind] == 0 {
		delete(r.pool.coming, c.kind)
	}
	if err != nil {
		return
	}
	if r.closed || r.recipes[c.kind] != c {
		r.dropLater([]*prepared{p})
		return
	}
	r.pool.waiting[c.kind] = append(r.pool.waiting[c.kind], p)
}

// emptyLocked drops the guests of some kinds, including those that are being prepared.
func (r *Ring) emptyLocked(gone func(kind) bool) {
	for k, list := range r.pool.waiting {
		if gone(k) {
			r.dropLater(list)
			delete(r.pool.waiting, k)
		}
	}
	r.pool.used = slices.DeleteFunc(r.pool.used, gone)
	if r.closed {
		for _, cancel := range r.pool.cancels {
			cancel()
		}
	}
}

// dropLater ends guests without an owner, in the background.
func (r *Ring) dropLater(list []*prepared) {
	if len(list) == 0 {
		return
	}
	r.begin(func() {
		for _, p := range list {
			_ = p.drop() // at worst its process ID is left of it
		}
	})
}
