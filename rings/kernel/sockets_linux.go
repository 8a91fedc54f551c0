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

// A socket takes some 4 KiB of the kernel's memory, even if it has no byte in its buffers. All networks of the host
// share one allowance of TCP memory, and one of orphaned sockets (sockets without a descriptor). The limit `files`
// bounds only descriptors: a listener can hold thousands of connections that were not accepted, and reset ones among
// them are in no table. The kernel has no limit for the sockets of a network, since net.core.somaxconn is the limit of
// one listener. So the ring counts the sockets of each guest's network. For each count it reads one small file of the
// kernel, however many sockets there are, and it does not use the processor of the guest.

// maxSockets is the limit of sockets in the network of a guest on a host with enough room.
const maxSockets = 8192

// minSockets is the number that a guest may have on any host: 250 connections to itself.
const minSockets = 512

// socketRoom holds the limits of sockets in the networks of guests.
type socketRoom struct {
	each int
	all  int // of all guests together
}

// roomForSockets leaves three quarters of the kernel's allowance for the whole host to others. Each socket may
// be one without an owner, and takes a page of TCP memory.
func roomForSockets(c hostcheck.Counts) socketRoom {
	const share = 4
	all := share * share * maxSockets // for a host that does not say: the value of a host with 8 GiB
	for _, n := range []int{c.Orphans, c.PagesTCP} {
		if n > 0 {
			all = min(all, n)
		}
	}
	all /= share
	each := max(min(maxSockets, all/share), minSockets)
	return socketRoom{each: each, all: max(all, each)}
}

// guardSockets counts periodically until stop is closed.
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

// endConnected ends each guest that has more sockets than one guest may have. Then it ends the largest guests
// until the remaining guests together have no more than all guests may have.
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
			why = "more than any other guest, and all guests together have too many"
		}
		h.endGuest("socket", fmt.Sprintf("%d sockets", h.found), why)
		ended = append(ended, h)
		sum -= h.found
	}
	// The sockets of a guest are free when it is gone, which takes seconds with very many. Meanwhile the next
	// one goes on. So all are ended before waiting for one.
	for _, h := range ended {
		_ = h.guest.reap()
	}
}

// socketsOf counts the sockets in the network of a guest. A guest that has ended, or that has no network, has
// none. If its network may not be inspected, the result is above most. If this process lacks a resource to
// count, the next count will do.
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
