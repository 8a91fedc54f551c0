package python

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// Notice is what a policy that came into force meant to one guest that lives.
type Notice struct {
	Agent, Actor, Run string // Run is "" for a session that waits
	Revision          string
	Loaded            []string // modules that it has loaded and that are denied now, as it says
	Ended             string   // why it was ended; "": it goes on
	Restart           bool     // it goes on without packages that the policy grants now
}

// policy is what is in force.
type policy struct {
	revision string
	agents   func(name string) *profiles.Agent // nil: the policy has no such agent
}

// agent is that of a run now; nil: there is none any more.
func (p *policy) agent(name string, grants []profiles.Grants) *profiles.Agent {
	a := p.agents(name)
	for _, g := range grants {
		if a == nil {
			break
		}
		narrow, err := a.Narrow(g)
		if err != nil {
			return nil
		}
		a = &narrow
	}
	if a == nil || a.Python == nil {
		return nil
	}
	return a
}

// now gives a run the policy in force, which came after the one that it was bound to
// or is the same.
func (p *policy) now(r executors.Run) (executors.Run, error) {
	if p == nil || r.Agent == nil || p.revision == r.Revision {
		return r, nil
	}
	a := p.agent(r.Agent.Name, r.Grants)
	if a == nil {
		return r, notGranted(p.revision)
	}
	r.Agent, r.Revision = a, p.revision
	return r, nil
}

// Reload puts a policy in force: every program that starts from now on has it, and
// the returned function tells the guests that live. agents gives the profile of an
// agent by name, nil for one that the policy does not have. The guests are told at
// once and decide by it from their next decision on; a session that waits says so
// within a second, or ends. What was mounted stays: a session that has packages which
// the policy took away ends, and one that lacks some that it grants goes on without.
func (e *Executor) Reload(revision string, agents func(name string) *profiles.Agent) (tell func(ctx context.Context)) {
	p := &policy{revision: revision, agents: agents}
	e.inForce.Store(p)
	return func(ctx context.Context) {
		if e.enter() != nil {
			return
		}
		defer e.work.Done()
		e.telling.Lock()
		defer e.telling.Unlock()
		if e.inForce.Load() != p {
			return // whoever came after tells them
		}
		var told sync.WaitGroup
		for _, one := range append(e.busy(), e.waits()...) {
			told.Add(1)
			e.cfg.Go(func() {
				defer told.Done()
				e.tell(ctx, one, p)
			})
		}
		told.Wait()
	}
}

// life is a guest with a program of an agent, or with what one has left.
type life struct {
	*process
	agent, actor, run string
	grants            []profiles.Grants
	stays             bool     // for the next run of a session
	session           *session // that waits, and is nobody's while it is told; nil: a run is on
}

// busy lists the guests that have a run.
func (e *Executor) busy() []life {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]life, 0, len(e.runs))
	for g, r := range e.runs {
		out = append(out, life{process: g, agent: r.Agent.Name, actor: r.Actor, run: r.ID, grants: r.Grants, stays: r.Session})
	}
	return out
}

// updateTime is how long a guest may take to read an update, or one that waits to
// say that it has taken it.
const updateTime = time.Second

// tell has one guest decide by the policy in force. A program that runs is told
// whatever else is to become of its guest: what that was started with it still has.
func (e *Executor) tell(ctx context.Context, l life, p *policy) {
	n := Notice{Agent: l.agent, Actor: l.actor, Run: l.run, Revision: p.revision}
	a := p.agent(l.agent, l.grants)
	env, restart, why := e.means(ctx, l, a)
	if why == "" || l.session == nil {
		why = cmp.Or(why, l.update(pyproto.ProfileOfAgent(a, p.revision, env, e.places())))
	}
	if l.session != nil && why == "" {
		var r pyproto.Report
		r, why = l.confirm(ctx)
		n.Loaded = r.Loaded
	}
	n.Restart, n.Ended = restart, why
	l.up.judged(restart, why)
	if l.session != nil {
		e.settle(l.session, why)
	}
	if why != "" || n.Restart || len(n.Loaded) > 0 {
		e.notice(n)
	}
}

// means is what a policy means to a guest of an agent, which is nil where it does not
// grant python any more: the environment to judge imports by, whether another guest
// would have more, and why this one may not be kept.
func (e *Executor) means(ctx context.Context, l life, a *profiles.Agent) (env pyproto.Environment, restart bool, why string) {
	if a == nil {
		return l.spec.env, false, "the policy in force does not grant python to the agent"
	}
	k, _ := a.Kernel(profiles.ExecutorPython) // policy.agent has seen that it has the executor
	env, err := e.cfg.Environments.Of(ctx, a)
	switch {
	case err != nil:
		return l.spec.env, false, "there is no interpreter for the policy in force"
	case l.stays && a.Sessions == nil:
		why = "the policy in force grants no sessions to the agent"
	case !l.spec.kernel.Within(k):
		why = "the policy in force grants less of the host than it was started with"
	default:
		why = l.lacks(env)
		restart = env.Digest != l.spec.env.Digest || !k.Within(l.spec.kernel)
	}
	return env, restart, why
}

// Behind counts the guests that go on without packages, or more of the host, that the
// policy in force grants: another one would have them.
func (e *Executor) Behind() (n int) {
	count := func(g *process) {
		g.up.mu.Lock()
		defer g.up.mu.Unlock()
		if g.up.behind {
			n++
		}
	}
	for _, l := range e.busy() {
		count(l.process)
	}
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.live {
		count(s.guest)
	}
	return n
}

func (e *Executor) notice(n Notice) {
	if e.cfg.Notice != nil {
		e.cfg.Notice(n)
	}
}

// revision is that of the policy in force, or of the one that a run was bound to
// where nobody has said.
func (e *Executor) revision(r executors.Run) string {
	if p := e.inForce.Load(); p != nil {
		return p.revision
	}
	return r.Revision
}

// updated takes what a guest says of an update while it has a run. The error ends
// the run.
func (e *Executor) updated(g *process, r *executors.Run) func(executors.Updated) error {
	return func(m executors.Updated) error {
		report, err := g.took(m)
		if n := (Notice{Agent: r.Agent.Name, Actor: r.Actor, Run: r.ID, Revision: e.revision(*r), Loaded: report.Loaded}); len(n.Loaded) > 0 {
			if err != nil {
				n.Ended = "the policy in force denies what it has loaded: " + shown(n.Loaded)
			}
			e.notice(n)
		}
		return err
	}
}

// lacks says what a guest has that the environment of the policy in force has not.
func (g *process) lacks(env pyproto.Environment) string {
	have := func(list []profiles.PathRule) map[string]bool {
		m := map[string]bool{}
		for _, r := range list {
			m[r.Path] = true
		}
		return m
	}
	if env.Interpreter != g.spec.env.Interpreter {
		return "the policy in force has another interpreter"
	}
	for _, l := range [][2][]profiles.PathRule{{g.spec.env.Own, env.Own}, {g.spec.env.Code, env.Code}} {
		now := have(l[1])
		for p := range have(l[0]) {
			if !now[p] {
				return "the policy in force took away packages that it can read"
			}
		}
	}
	return ""
}

// updates is what a guest was told while it lives.
type updates struct {
	sending     sync.Mutex // one after the other, in the order of their numbers
	mu          sync.Mutex // never held while a guest is written to
	sent, taken uint64
	why         string // it is not kept
	behind      bool   // it goes on without what the policy in force grants
}

// update tells a guest what it decides by from now on. why says that it was ended.
func (g *process) update(p pyproto.Profile) (why string) {
	text, err := json.Marshal(p)
	if err != nil {
		return "the policy in force cannot be written down"
	}
	g.up.sending.Lock()
	defer g.up.sending.Unlock()
	late := time.AfterFunc(updateTime, func() { _ = g.guest.Kill() }) // it reads nothing
	err = g.link.Update(executors.Update{Seq: g.up.next(), Settings: text})
	if !late.Stop() || err != nil {
		return "it did not take the policy in force"
	}
	return ""
}

// next numbers an update.
func (u *updates) next() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent++
	return u.sent
}

// judged keeps what a policy means to the guest. One that has a run and may not be
// kept ends with it.
func (u *updates) judged(behind bool, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.behind = behind
	if why != "" {
		u.why = why
	}
}

// state tells whether updates are open, and why the guest may not be kept.
func (u *updates) state() (sent uint64, open bool, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sent, u.sent > u.taken, u.why
}

// took takes what a guest says of an update. The error ends it.
func (g *process) took(m executors.Updated) (pyproto.Report, error) {
	g.up.mu.Lock()
	defer g.up.mu.Unlock()
	if m.Seq > g.up.sent || m.Seq < g.up.taken {
		return pyproto.Report{}, fmt.Errorf("%w: %w: update %d of %d", executors.ErrGuest, executors.ErrProtocol, m.Seq, g.up.sent)
	}
	g.up.taken = m.Seq
	report, err := pyproto.DecodeReport(m.Report)
	switch {
	case err != nil:
		return pyproto.Report{}, fmt.Errorf("%w: %w: %w", executors.ErrGuest, executors.ErrProtocol, err)
	case report.Ends:
		return report, fmt.Errorf("%w: it has loaded %s", executors.ErrRevoked, shown(report.Loaded))
	}
	return report, nil
}

// confirm waits until a guest without a run has taken all that it was told, and has
// said nothing else. why says that it is over.
func (g *process) confirm(ctx context.Context) (r pyproto.Report, why string) {
	for {
		sent, open, why := g.up.state()
		switch {
		case why != "":
			return r, why
		case !open && g.link.Pending():
			return r, "its interpreter said something behind the end of its program"
		case !open:
			return r, ""
		}
		within, cancel := context.WithTimeout(ctx, updateTime)
		m, err := g.link.Confirm(within, sent)
		cancel()
		if err == nil {
			r, err = g.took(m)
		}
		switch {
		case errors.Is(err, executors.ErrRevoked) && len(r.Loaded) > 0:
			return r, "the policy in force denies what it has loaded: " + shown(r.Loaded)
		case err != nil:
			return r, "it did not take the policy in force"
		}
	}
}

// maxShown is how many modules a reason lists.
const maxShown = 8

func shown(names []string) string {
	names = slices.Clone(names)
	if more := len(names) - maxShown; more > 0 {
		names = append(names[:maxShown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
