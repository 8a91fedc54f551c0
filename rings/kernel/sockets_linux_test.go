package kernel_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// connecting is a guest with a network of its own.
func connecting(t *testing.T) counting {
	t.Helper()
	c := newCounting(t)
	c.change = func(s *executors.Spec) { s.Kernel.Network = profiles.NetworkOwn }
	return c
}

// TestHoldersOfSocketsEnd: a guest whose listeners have more connections than a guest
// may is ended and on record, also where each of them was reset, which no table shows.
// One that talks with itself over 200 connections goes on.
func TestHoldersOfSocketsEnd(t *testing.T) {
	r, refused := recordedRing(t)
	c := connecting(t)
	few := c.start(t, r, "victim", "accepted", "200")
	if few.line != "200 connections" {
		t.Fatalf("the guest has %s", few.line)
	}
	hog := c.start(t, r, "hog", "connecting", "100000")
	pid := kernel.PID(hog.Guest)
	most := make(chan int)
	over := make(chan struct{})
	go func() { // how far it gets
		n := 0
		for {
			select {
			case <-over:
				most <- n
				return
			case <-time.After(10 * time.Millisecond):
			}
			now, _ := procfs.Sockets(pid)
			n = max(n, now)
		}
	}()
	endsOver(t, hog, " sockets, more than a guest may")
	close(over)
	if n := <-most; n > 60_000 {
		t.Errorf("the guest had %d sockets", n)
	} else {
		t.Logf("the guest had %d sockets", n)
	}
	if !few.lives(t) {
		t.Error("a guest with some connections was ended")
	}
	if got := refused(); !slices.ContainsFunc(got, func(v kernel.Violation) bool {
		return v.Agent == "hog" && v.Layer == "rlimits" && v.Call == "socket" && v.End
	}) {
		t.Errorf("on record is %+v", got)
	}
}

// TestLargestHolderOfSocketsEnds: where all guests together have too many, the largest
// is ended first, and no more than it takes.
func TestLargestHolderOfSocketsEnds(t *testing.T) {
	for _, how := range []string{"closed", "reset", "accepted"} {
		t.Run(how, func(t *testing.T) {
			r, _ := recordedRing(t)
			c := connecting(t)
			few, more := c.start(t, r, "a", how, "100"), c.start(t, r, "b", how, "300")
			if few.line != "100 connections" || more.line != "300 connections" {
				t.Fatalf("the guests have %s and %s", few.line, more.line)
			}
			kernel.EndConnected(r, 5000, 5000)
			if !few.lives(t) || !more.lives(t) {
				t.Fatal("a guest was ended though all have fewer than they may")
			}
			kernel.EndConnected(r, 5000, 350)
			if !few.lives(t) || more.lives(t) {
				t.Errorf("the larger one lives: %v, the smaller one: %v", more.lives(t), few.lives(t))
			}
			kernel.EndConnected(r, 50, 5000)
			if few.lives(t) {
				t.Error("a guest with more than one may lives")
			}
		})
	}
}

// TestRemnantsOfConnections: what the kernel keeps of connections that have ended is
// bounded in a guest's network, and a program that makes more of them goes on.
func TestRemnantsOfConnections(t *testing.T) {
	r, _ := recordedRing(t)
	g := connecting(t).start(t, r, "a", "ended", "6000")
	if g.line != "6000 connections" || !g.lives(t) {
		t.Fatalf("the guest has %s", g.line)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/sockstat", kernel.PID(g.Guest)))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), " tw ")
	most, _ := strconv.Atoi(procfs.Remnants)
	if tw, err := strconv.Atoi(strings.Fields(rest + " -")[0]); err != nil || tw == 0 || tw > most {
		t.Errorf("%d connections are in TIME_WAIT, %v, of at most %d", tw, err, most)
	}
}

// TestRoomForSockets: guests have a quarter of what the host has, and never so little
// that an ordinary program is ended.
func TestRoomForSockets(t *testing.T) {
	for _, tt := range []struct{ orphans, pages, each, all int }{
		{131072, 383867, 8192, 32768},
		{1 << 20, 1 << 20, 8192, 32768},
		{131072, 40000, 2500, 10000},
		{8192, 20000, 512, 2048},
		{1024, 20000, 512, 512},
		{0, 0, 8192, 32768}, // a host that does not say
	} {
		if each, all := kernel.RoomForSockets(tt.orphans, tt.pages); each != tt.each || all != tt.all {
			t.Errorf("with %d orphans and %d pages: %d, and %d of all", tt.orphans, tt.pages, each, all)
		}
	}
}
