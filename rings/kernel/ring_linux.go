package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/cgroup"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initimage"
	"github.com/ringd/ringd/rings/kernel/seccomp"
	"github.com/ringd/ringd/rings/kernel/spawn"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// Ring starts guests. It is safe for concurrent use.
type Ring struct {
	cfg       Config
	arch      string
	users     *users // of guests
	gid       int    // of guests
	spaces    spaces // by which their mounts are mapped
	denyWX    bool   // the kernel can refuse memory that becomes executable
	spawn     *spawn.Spawner
	groups    *cgroup.Tree        // nil if guests have none
	grouped   map[string]string   // the layers that they give
	ungrouped *cgroup.Unavailable // why there are none; nil if they were not requested
	inForce   atomic.Pointer[generation]
	watching  atomic.Bool          // see connection.Watch
	follower  *violations.Follower // if nil, denials of Landlock are not reported
	unseen    error                // why they are not
	room      taskRoom             // for tasks
	exhausted atomic.Bool          // no watches of epoll are left
	guarding  sync.Once
	files     fileRoom
	over      chan struct{} // closed by Close
	ending    sync.Once
	work      sync.WaitGroup
	healing   sync.Mutex // locked before mu

	mu       sync.Mutex
	closed   bool
	live     map[*guest]struct{}
	starting map[int]context.CancelCauseFunc // guests that are being started and not live yet
	entered  int
	recipes  map[kind]*recipe // of the set in force
	age      int              // of recipes
	pool     pool
	found    *finding      // nil before the first look
	looking  chan struct{} // if not nil, a look is under way; closed when that is over
}

// New starts the launching thread. The caller closes the Ring.
func New(c Config) (*Ring, error) { return newRing(c, initimage.Init()) }

func newRing(c Config, init []byte) (*Ring, error) {
	if c.Go == nil || c.Token == nil {
		return nil, errors.New("kernel ring: Config.Go or Config.Token is not set")
	}
	users, gid, err := usersOf(c)
	if err != nil {
		return nil, err
	}
	s, err := spawn.New(spawn.Config{Go: c.Go, Image: init, Processors: c.Processors})
	if err != nil {
		return nil, fmt.Errorf("kernel ring: %w", err)
	}
	r := &Ring{
		cfg: c, arch: runtime.GOARCH, users: users, gid: gid, over: make(chan struct{}), spawn: s,
		live: map[*guest]struct{}{}, starting: map[int]context.CancelCauseFunc{}, recipes: map[kind]*recipe{},
		pool: newPool(),
	}
	r.room.max = hostcheck.Here().Counts().ForGuests()
	r.files = roomForFiles()
	_, err = unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	r.denyWX = err == nil
	if err := r.findGroups(); err != nil {
		return nil, errors.Join(fmt.Errorf("kernel ring: %w", err), s.Close())
	}
	r.followLandlock()
	return r, nil
}

// begin starts work that Close waits for.
func (r *Ring) begin(f func()) {
	r.work.Add(1)
	r.cfg.Go(func() {
		defer r.work.Done()
		f()
	})
}

func (r *Ring) callName(nr int) string { return seccomp.Name(r.arch, nr) }

// Launch starts a guest and returns when its program runs: with the layers, or, on a host that does not give
// them and if s asks for no more, without them. The caller ends it with Kill. Close of the Ring ends the rest.
// ctx limits the start. Errors are *profiles.Denial, ErrClosed and faults.
func (r *Ring) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	if s.Executor == "" || !executors.Satisfies(profiles.TierOS, s.MinTier) {
		return nil, tierDenial(s.Executor, s.MinTier, profiles.TierOS, "no version of this program gives more", "")
	}
	if len(s.Argv) == 0 || s.Kernel.Executor != s.Executor || tighter(s.CPU.Milliseconds(), s.Kernel.CPUMillis) <= 0 ||
		tighter(s.MemoryBytes, s.Kernel.MemoryBytes) <= 0 || s.FileBytes < 0 {
		return nil, fmt.Errorf("launch %s guest: the spec is incomplete", s.Executor)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("launch %s guest: %w", s.Executor, err)
	}
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("launch %s guest: %w", s.Executor, err)
	}
	defer leave()
	uid, free, err := r.admit(ctx, s)
	if err != nil {
		return nil, err
	}
	g, err := r.launch(ctx, s, uid)
	if err != nil {
		free()
	} else {
		g.releaseUser(free)
	}
	if err != nil && !r.users.own && !(&reserve{}).another() {
		return nil, errors.Join(r.noWatches(s), err)
	}
	if errors.Is(err, spawn.ErrClosed) {
		err = ErrClosed
	}
	var denial *profiles.Denial
	switch {
	case errors.As(err, &denial):
		return nil, err
	case err != nil:
		return nil, executors.Because(fmt.Errorf("launch %s guest: %w", s.Executor, err), r.why(err))
	}
	return g, nil
}

// admit gives a guest its user and its tasks, or denies it. free is called when it has ended.
func (r *Ring) admit(ctx context.Context, s executors.Spec) (uid int, free func(), err error) {
	if err := r.awaitWatches(ctx, s); err != nil {
		return 0, nil, err
	}
	leave, err := r.room.reserve(s)
	if err != nil {
		return 0, nil, err
	}
	uid, unused, err := r.users.takeUser(s.Agent)
	if err != nil {
		leave()
		return 0, nil, err
	}
	return uid, sync.OnceFunc(func() { unused(); leave() }), nil
}

// enter begins a start that Close ends and waits for.
func (r *Ring) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.entered++
	n := r.entered
	r.starting[n] = cancel
	r.work.Add(1)
	return ctx, func() {
		r.mu.Lock()
		delete(r.starting, n)
		r.mu.Unlock()
		cancel(nil)
		r.work.Done()
	}, nil
}

// keep makes g live, so that every later commit reaches it. If the set in force has meanwhile less than g was
// started with, it fails. It is called before the program of g begins, and before anything waits for the end of
// g.
func (r *Ring) keep(g *guest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if now := r.inForce.Load(); now != nil && g.agent != "" {
		g.base = now.kernels[holder{g.agent, g.executor}]
		if now.changeFor(g) == profiles.ChangeNarrower {
			return fmt.Errorf("agent %s: %w", g.agent, executors.ErrRevoked)
		}
	}
	if now := r.inForce.Load(); now != nil {
		g.listeners.Follow(now.deciders)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r.guard(g)
	if !g.dead { // it would be removed before it was added
		r.live[g] = struct{}{}
	}
	return nil
}

func (r *Ring) forget(g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, g)
}

// Close kills every guest and ends the thread. Launch then returns ErrClosed.
// It may be called more than once.
func (r *Ring) Close() error {
	r.mu.Lock()
	r.closed = true
	r.emptyLocked(func(kind) bool { return true })
	left := make([]*guest, 0, len(r.live))
	for g := range r.live {
		left = append(left, g)
	}
	for _, cancel := range r.starting {
		cancel(ErrClosed)
	}
	r.mu.Unlock()
	r.ending.Do(func() { close(r.over) })
	var err error
	for _, g := range left {
		err = errors.Join(err, g.Kill(), g.abandon())
	}
	if r.follower != nil {
		err = errors.Join(err, r.follower.Close())
	}
	r.work.Wait()
	if r.groups != nil {
		err = errors.Join(err, r.groups.Close())
	}
	return errors.Join(err, r.spaces.close(), r.spawn.Close())
}
