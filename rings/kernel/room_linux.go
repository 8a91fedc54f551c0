package kernel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
)

// taskRoom counts the tasks that guests may have at a time. The kernel limits the tasks of the user of this
// process, and it counts those of each guest for the user who made its namespaces.
type taskRoom struct {
	max uint64 // if 0, there is no limit

	mu    sync.Mutex
	taken uint64
	of    map[string]uint64 // by agent
}

// reserve reserves the tasks of a guest, or denies it. leave releases them.
func (o *taskRoom) reserve(s executors.Spec) (leave func(), err error) {
	need := tasksOf(s)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.max > 0 && o.taken+need > o.max {
		return nil, noRoom(s, fmt.Sprintf("its %d tasks and the %d of other guests are too many: the limit is %d, "+
			"three quarters of the tasks of one user on this host",
			need, o.taken, o.max), moreTasks)
	}
	// the first guest of an agent may take all that is left
	if mine := o.of[s.Agent]; o.max > 0 && mine > 0 && mine+need > o.max/4*3 {
		return nil, noRoom(s, fmt.Sprintf("its %d tasks and the %d of other guests of agent %s are too many: one "+
			"agent may have three quarters of %d, so that others can start too",
			need, mine, s.Agent, o.max), moreTasks)
	}
	if o.of == nil {
		o.of = map[string]uint64{}
	}
	o.taken += need
	o.of[s.Agent] += need
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.taken -= need
		if o.of[s.Agent] -= need; o.of[s.Agent] == 0 {
			delete(o.of, s.Agent)
		}
	}, nil
}

const moreTasks = "raise LimitNPROC= of ringd's unit, or `ulimit -u`"

// tasksOf is how many tasks a guest may have, including those of its init.
func tasksOf(s executors.Spec) uint64 {
	for _, l := range limitsOf(s) {
		if l.Resource == unix.RLIMIT_NPROC {
			return l.Value + hostcheck.InitTasks
		}
	}
	return hostcheck.InitTasks
}

// noRoom denies a guest for which this host has no room.
func noRoom(s executors.Spec, why, remedy string) *profiles.Denial {
	return &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeHostFull, Reason: "the host has no room for another guest: " + why,
		Instead: []string{"try again when other runs have ended", remedy},
	}}
}

// maxWait limits how long a start waits for watches.
const maxWait = 5 * time.Second

// awaitWatches waits while there are no watches of epoll, and denies the start if there are none for too long.
func (r *Ring) awaitWatches(ctx context.Context, s executors.Spec) error {
	late := time.NewTimer(maxWait)
	defer late.Stop()
	for r.exhausted.Load() {
		again := time.NewTimer(lookEvery / 4)
		select {
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		case <-late.C:
			again.Stop()
			return r.noWatches(s)
		case <-again.C:
		}
	}
	return nil
}

func (r *Ring) noWatches(s executors.Spec) error {
	return noRoom(
		s, "guests share the user of ringd, which has no epoll watches left", "see `ringd doctor`, layer users",
	)
}
