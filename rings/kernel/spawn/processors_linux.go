package spawn

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// processorTurns distributes the host's processors to guests. A guest gets the processors that the fewest other
// guests have. If several are equal, guests get them in turn.
type processorTurns struct {
	each  int // processors of a guest
	next  int // index into the list of those that this process may use
	given []guestProcessors
}

// guestProcessors is the processors of a guest.
type guestProcessors struct {
	guest      *os.Process
	processors []int
}

// pin makes this thread, and the processes that it forks, run on the processors that it returns, of those that
// this process may use now. If free is set, they run on all of them and it returns none.
//
// A guest that runs on several processors can take all of them from everybody. The kernel computes the weight
// of a group of processes, which is a session or a control group, for each processor whenever threads of it
// start or stop being runnable there, and the result becomes wrong: on Linux 6.18 a single session with three
// processes of 18 threads each that wake one another kept other processes waiting for 5 s at a time, and for 3
// ms with one processor. Its filter keeps a guest on its processors. A guest in which no program can start
// threads is free.
func (t *processorTurns) pin(free bool) (processors []int, err error) {
	var allowed, mine unix.CPUSet
	// Of the first thread, which is never this one: it follows changes of the host.
	if err := unix.SchedGetaffinity(os.Getpid(), &allowed); err != nil {
		return nil, fmt.Errorf("ask which processors there are: %w", err)
	}
	if free {
		mine = allowed
	} else {
		processors = t.choose(listed(&allowed))
		for _, n := range processors {
			mine.Set(n)
		}
	}
	if mine.Count() == 0 {
		return nil, errors.New("ask which processors there are: none")
	}
	if err := unix.SchedSetaffinity(0, &mine); err != nil {
		return nil, fmt.Errorf("give a guest its processors: %w", err)
	}
	return processors, nil
}

// choose returns the processors of the next guest, from those in there.
func (t *processorTurns) choose(there []int) []int {
	t.given = slices.DeleteFunc(
		t.given, func(g guestProcessors) bool { return errors.Is(g.guest.Signal(unix.Signal(0)), os.ErrProcessDone) },
	)
	if len(there) == 0 {
		return nil
	}
	guests := map[int]int{} // by processor
	for _, g := range t.given {
		for _, n := range g.processors {
			guests[n]++
		}
	}
	first := t.next % len(there)
	in := slices.Concat(there[first:], there[:first])
	slices.SortStableFunc(in, func(a, b int) int { return guests[a] - guests[b] })
	in = in[:min(t.each, len(in))]
	t.next = slices.Index(there, in[len(in)-1]) + 1
	return in
}

// record records the processors of a guest until the guest has been waited for.
func (t *processorTurns) record(guest *os.Process, processors []int) {
	if guest != nil && len(processors) > 0 {
		t.given = append(t.given, guestProcessors{guest, processors})
	}
}

func listed(set *unix.CPUSet) (numbers []int) {
	for i := 0; len(numbers) < set.Count(); i++ {
		if set.IsSet(i) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}
