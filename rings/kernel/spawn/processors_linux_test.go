package spawn // turns are not exported

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// processorsOf is where a process, and each thread that it starts, may run.
func processorsOf(t *testing.T, pid int) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	return listed(&set)
}

// A guest has one processor, the next guest the next one, and the daemon keeps all.
func TestGuestsHaveOneProcessor(t *testing.T) {
	s, place := spawner(t)
	mine := processorsOf(t, os.Getpid())
	if err := s.spare.drop(); err != nil {
		t.Fatal(err)
	}
	s.spare = nil
	seen := map[int]int{}
	for range 2 * len(mine) {
		has := processorsOf(t, pidOf(t, s, place))
		if len(has) != 1 {
			t.Fatalf("an init may run on %v", has)
		}
		seen[has[0]]++
	}
	for _, one := range mine {
		if seen[one] != 2 {
			t.Errorf("of %d inits on %v: %v", 2*len(mine), mine, seen)
		}
	}
	place.Stays = false // a guest that no program can start threads in
	if has := processorsOf(t, pidOf(t, s, place)); !slices.Equal(has, mine) {
		t.Errorf("a guest without other programs may run on %v of %v", has, mine)
	}
	if now := processorsOf(t, os.Getpid()); !slices.Equal(now, mine) {
		t.Errorf("the daemon had %v and has %v", mine, now)
	}
}

// A guest is given what the fewest of those have that live: the next one in turn may
// have a busy one on it while another processor has none.
func TestProcessorsOfTheFewest(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	begin := func() *os.Process {
		p, err := os.StartProcess(sleep, []string{sleep, "60"}, &os.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = End(p) }) // some have ended
		return p
	}
	turns, there := processorTurns{each: 1}, []int{0, 1, 5}
	var all []*os.Process
	for _, want := range []int{0, 1, 5, 0, 1, 5} {
		got := turns.choose(there)
		if !slices.Equal(got, []int{want}) {
			t.Fatalf("%v, want %d", got, want)
		}
		all = append(all, begin())
		turns.record(all[len(all)-1], got)
	}
	for _, i := range []int{1, 2, 4} { // 0 has two, 1 none, 5 one
		if err := End(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{1, 5, 1, 5} {
		got := turns.choose(there)
		if !slices.Equal(got, []int{want}) {
			t.Errorf("%v, want %d", got, want)
		}
		turns.record(begin(), got)
	}
	if turns.record(nil, []int{0}); len(turns.given) != 7 {
		t.Errorf("%d guests", len(turns.given))
	}
	if got := turns.choose(nil); got != nil {
		t.Errorf("%v where there is none", got)
	}
}

// The same holds where there are no layers, and an operator may say how many.
func TestProcessorsOfPlainGuests(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	for _, each := range []int{0, 1, 2, 1 << 20} {
		var all sync.WaitGroup
		s, err := New(Config{Go: func(f func()) { all.Go(f) }, Processors: each})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Unconfined([]string{sleep, "60"}, nil, "/", nil, false)
		if err != nil {
			t.Fatal(err)
		}
		want := min(max(each, 1), runtime.NumCPU())
		if has := processorsOf(t, p.Pid); len(has) != want {
			t.Errorf("of %d wanted, it may run on %v", each, has)
		}
		if err := End(p); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}

// A processor that was taken from the daemon is given to no guest.
func TestProcessorsThatAreGone(t *testing.T) {
	mine := processorsOf(t, os.Getpid())
	if len(mine) < 2 {
		t.Skip("there is one processor")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	var one, all unix.CPUSet
	one.Set(mine[1])
	for _, n := range mine {
		all.Set(n)
	}
	if err := unix.SchedSetaffinity(os.Getpid(), &one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(os.Getpid(), &all); err != nil {
			t.Error(err)
		}
	}()
	turns := processorTurns{each: 1}
	for range 3 {
		if _, err := turns.pin(false); err != nil {
			t.Fatal(err)
		}
		if has := processorsOf(t, unix.Gettid()); !slices.Equal(has, mine[1:2]) {
			t.Errorf("it runs on %v, and there is %d alone", has, mine[1])
		}
	}
}
