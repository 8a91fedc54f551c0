package kernel_test

import (
	"slices"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel"
)

// TestHoldersOfFilesEnd: a guest that holds more open files than one may is ended and
// on record while the host has many, by whatever user it runs, and one with some goes
// on. A number of descriptors is no bound: this one has none of the files.
func TestHoldersOfFilesEnd(t *testing.T) {
	r, refused := recordedRing(t)
	kernel.SetFiles(r, 1, 1<<30) // every host has one
	c := newCounting(t)
	// So many mappings take long to weigh on a busy host, which would end the guest for its memory first.
	c.change = func(s *executors.Spec) { s.MemoryBytes, s.Kernel.MemoryBytes = 16<<30, 16<<30 }
	few := c.start(t, r, "victim", "mapped", "5000")
	hog := c.start(t, r, "hog", "mapping", "60000")
	if few.line != "5000 files" {
		t.Fatalf("the guest has %s", few.line)
	}
	endsOver(t, hog, "50000 open files or more")
	if !few.lives(t) {
		t.Error("a guest with some files was ended")
	}
	if got := refused(); !slices.ContainsFunc(got, func(v kernel.Violation) bool {
		return v.Agent == "hog" && v.Layer == "rlimits" && v.Call == "open" && v.End
	}) {
		t.Errorf("on record is %+v", got)
	}
}

// TestLargestHolderOfFilesEnds: where all guests together hold too many and none of
// them does, the largest is ended first, and no more than it takes.
func TestLargestHolderOfFilesEnds(t *testing.T) {
	r, _ := recordedRing(t)
	kernel.SetFiles(r, 0, 0) // nobody looks but this test
	c := newCounting(t)
	few, more := c.start(t, r, "a", "mapped", "3000"), c.start(t, r, "b", "mapped", "9000")
	if few.line != "3000 files" || more.line != "9000 files" {
		t.Fatalf("the guests have %s and %s", few.line, more.line)
	}
	kernel.EndOpeners(r, 20_000, 10_000)
	if !few.lives(t) || !more.lives(t) {
		t.Fatal("a guest was ended though all hold fewer than they may")
	}
	kernel.EndOpeners(r, 10_000, 10_000)
	if !few.lives(t) || more.lives(t) {
		t.Errorf("the larger one lives: %v, the smaller one: %v", more.lives(t), few.lives(t))
	}
}

// TestLooksAtFiles: every ring has a number of open files from which on it looks.
func TestLooksAtFiles(t *testing.T) {
	if got := kernel.Files(ring(t)); got < 1000 {
		t.Errorf("the ring looks at %d open files of the host", got)
	}
}
