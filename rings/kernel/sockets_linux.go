package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// A socket of a network is memory of the kernel, some 4 KiB without a byte in it, and
// the host has one allowance of TCP memory and of sockets without an owner for all
// networks. `files` bounds descriptors alone: a listener holds thousands of connections
// that nobody has accepted, also reset ones, which no table has. The kernel has no
// bound of them for a network: net.core.somaxconn is that of one listener. So the ring
// counts them. Its look is one small file of the kernel's, however many sockets there
// are, and it does not share the processor of the guest.

// mostSockets is how many sockets a guest may have in its network on a host with room.
const mostSockets = 8192

// leastSockets is what a guest may have on any host: 250 connections to itself.
const leastSockets = 512

// socketRoom is how many sockets guests may have in their networks.
type socketRoom struct {
	each int
	all  int // of all guests together
}

// roomForSockets leaves to others three quarters of what the kernel has for the whole
// host. Each socket may be one without an owner, and takes a page of TCP memory.
func roomForSockets(c hostcheck.Counts) socketRoom {
	const share = 4
	all := share * share * mostSockets // of a host that does not say: that of one with 8 GiB
	for _, n := range []int{c.Orphans, c.PagesTCP} {
		if n > 0 {
			all = min(all, n)
		}
	}
	all /= share
	each := max(min(mostSockets, all/share), leastSockets)
	return socketRoom{each: each, all: max(all, each)}
}

// guardSockets looks until stop is closed.
func guardSockets(r *Ring, stop <-chan struct{}) {
	room := roomForSockets(hostcheck.Here().Counts())
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-looks.C:
			endConnected(r.holders(), room)
		}
	}
}

// endConnected ends the guests that have more sockets than one may, and then the
// largest ones until all that are left have no more than all may.
func endConnected(all []*holding, room socketRoom) {
	sum := 0
	for _, h := range all {
		h.found = socketsOf(h.guest, room.each)
		sum += h.found
	}
	slices.SortStableFunc(all, func(a, b *holding) int { return cmp.Compare(b.found, a.found) })
	var ended []*holding
	for _, h := range all {
		why := "more than a guest may"
		if h.found <= room.each {
			if sum <= room.all {
				break
			}
			why = "the most of guests that have too many together"
		}
		h.end("socket", fmt.Sprintf("%d sockets", h.found), why)
		ended = append(ended, h)
		sum -= h.found
	}
	// What one had is free when it is gone, which takes seconds with very many: the next
	// one goes on until it is ended, so that all are ended first.
	for _, h := range ended {
		_ = h.guest.reap()
	}
}

// socketsOf is how many sockets there are in the network of a guest. One that has
// ended, or that has no network, has none. One whose network may not be looked at has
// more than most; where this process is short of something, the next look counts.
func socketsOf(g *guest, most int) int {
	if network(g.kernel.Network) != initproto.NetworkOwn {
		return 0
	}
	n, err := procfs.Sockets(g.process.Pid)
	if errors.Is(err, fs.ErrPermission) {
		return most + 1
	}
	return n
}
