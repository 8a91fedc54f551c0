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

// Notice is the effect of a new policy on one live guest.
type Notice struct {
	Agent, Actor, Run string // Run is empty for a waiting session
	Revision          string
	Loaded            []string // modules that it has loaded and that are denied now, as it reports them
	Ended             string   // why it was ended; if empty, it goes on
	Restart           bool     // it continues without packages that the policy grants now
}

// policy is the policy in force.
type policy struct {
	revision string
	agents   func(name string) *profiles.Agent // nil for an agent that the policy does not have
}

// agent is the present profile of a run's agent, or nil if it no longer has one.
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

// now returns r under the policy in force, which may be newer than the policy to which r was bound.
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

// Reload puts a policy in force. Every program that starts from now on has it, and the returned function passes
// it to the live guests. agents returns the profile of an agent by name, or nil for one that the policy does
// not have. The guests get it at once and use it from their next decision on. A waiting session confirms it
// within a second, or ends. Mounts stay: a session with packages that the policy has removed ends, and one that
// lacks some that it grants goes on without.
func (e *Executor) Reload(revision string, agents func(name string) *profiles.Agent) (tell func(ctx context.Context)) {
	p := &policy{revision: revision, agents: agents}
	e.inForce.Store(p)
	return func(ctx context.Context) {
		if e.blank.Enter() != nil {
			return
		}
		defer e.blank.Leave()
		e.telling.Lock()
		defer e.telling.Unlock()
		if e.inForce.Load() != p {
			return // a later policy is being passed on
		}
		var told sync.WaitGroup
		for _, one := range append(e.busy(), e.waits()...) {
			told.Add(1)
			e.cfg.Go(func() {
				defer told.Done()
				e.updateGuest(ctx, one, p)
			})
		}
		told.Wait()
	}
}

// life is a guest with a program of an agent, or with the state that one has left.
type life struct {
	*process
	agent, actor, run string
	grants            []profiles.Grants
	stays             bool     // stays for the next run of a session
	session           *session // the waiting session, which no run can take meanwhile; nil during a run
}

// busy lists the guests that have a run.
func (e *Executor) busy() []life {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]life, 0, len(e.runs))
	for g, r := range e.runs {
		out = append(
			out, life{process: g, agent: r.Agent.Name, actor: r.Actor, run: r.ID, grants: r.Grants, stays: r.Session},
		)
	}
	return out
}

// updateTime limits how long a guest may take to read an update, and how long a waiting one may take to confirm
// it.
const updateTime = time.Second

// updateGuest passes the policy in force to one guest. A running program gets it whatever happens to its guest
// afterwards: it still has what it was started with.
func (e *Executor) updateGuest(ctx context.Context, l life, p *policy) {
	n := Notice{Agent: l.agent, Actor: l.actor, Run: l.run, Revision: p.revision}
	a := p.agent(l.agent, l.grants)
	env, restart, why := e.effectOn(ctx, l, a)
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

// effectOn returns the effect of a policy on a guest of an agent: the environment by which to judge imports,
// whether another guest would have more, and why this one may not be kept. a is nil if the policy no longer
// grants python.
func (e *Executor) effectOn(
	ctx context.Context, l life, a *profiles.Agent,
) (env pyproto.Environment, restart bool, why string) {
	if a == nil {
		return l.Spec.env, false, "the policy in force does not grant python to the agent"
	}
	k, _ := a.Kernel(profiles.ExecutorPython) // policy.agent has checked that it has the executor
	env, err := e.cfg.Environments.Of(ctx, a)
	switch {
	case err != nil:
		return l.Spec.env, false, "there is no interpreter for the policy in force"
	case l.stays && a.Sessions == nil:
		why = "the policy in force grants no sessions to the agent"
	case !l.Spec.Kernel.Within(k):
		why = "the policy in force grants less of the host than it was started with"
	default:
		why = l.missingFrom(env)
		restart = env.Digest != l.Spec.env.Digest || !k.Within(l.Spec.Kernel)
	}
	return env, restart, why
}

// Behind counts the guests that go on without packages, or other grants, of the policy in force: another guest
// would have them.
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

// revision is that of the policy in force, or, before the first, of the one to which the run was bound.
func (e *Executor) revision(r executors.Run) string {
	if p := e.inForce.Load(); p != nil {
		return p.revision
	}
	return r.Revision
}

// updated handles the confirmation of an update by a guest with a run. The error ends the run.
func (e *Executor) updated(g *process, r *executors.Run) func(executors.Updated) error {
	return func(m executors.Updated) error {
		report, err := g.confirmed(m)
		if n := (Notice{
			Agent: r.Agent.Name, Actor: r.Actor, Run: r.ID, Revision: e.revision(*r), Loaded: report.Loaded,
		}); len(n.Loaded) > 0 {
			if err != nil {
				n.Ended = "the policy in force denies what it has loaded: " + shown(n.Loaded)
			}
			e.notice(n)
		}
		return err
	}
}

// missingFrom says which part of a guest's environment the policy in force does not have.
func (g *process) missingFrom(env pyproto.Environment) string {
	have := func(list []profiles.PathRule) map[string]bool {
		m := map[string]bool{}
		for _, r := range list {
			m[r.Path] = true
		}
		return m
	}
	if env.Interpreter != g.Spec.env.Interpreter {
		return "the policy in force has another interpreter"
	}
	for _, l := range [][2][]profiles.PathRule{{g.Spec.env.Own, env.Own}, {g.Spec.env.Code, env.Code}} {
		now := have(l[1])
		for p := range have(l[0]) {
			if !now[p] {
				return "the policy in force took away packages that it can read"
			}
		}
	}
	return ""
}

// updates are the updates that a guest got.
type updates struct {
	sending     sync.Mutex // one after the other, in the order of their numbers
	mu          sync.Mutex // never held while a guest is written to
	sent, taken uint64
	why         string // reason why it is not kept
	behind      bool   // it goes on without grants of the policy in force
}

// update sends a guest the profile by which it decides from now on. why is the reason if the guest was ended.
func (g *process) update(p pyproto.Profile) (why string) {
	text, err := json.Marshal(p)
	if err != nil {
		return "the policy in force cannot be encoded"
	}
	g.up.sending.Lock()
	defer g.up.sending.Unlock()
	late := time.AfterFunc(updateTime, func() { _ = g.Process.Kill() }) // it does not read
	err = g.Link.Update(executors.Update{Seq: g.up.next(), Settings: text})
	if !late.Stop() || err != nil {
		return "it did not accept the policy in force"
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

// judged records the effect of a policy on the guest. A guest with a run that may not be kept ends with the
// run.
func (u *updates) judged(behind bool, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.behind = behind
	if why != "" {
		u.why = why
	}
}

// state reports whether updates are unconfirmed, and why the guest may not be kept.
func (u *updates) state() (sent uint64, open bool, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sent, u.sent > u.taken, u.why
}

// confirmed handles a confirmation of an update. The error ends the guest.
func (g *process) confirmed(m executors.Updated) (pyproto.Report, error) {
	g.up.mu.Lock()
	defer g.up.mu.Unlock()
	if m.Seq > g.up.sent || m.Seq < g.up.taken {
		return pyproto.Report{}, fmt.Errorf(
			"%w: %w: update %d of %d", executors.ErrGuest, executors.ErrProtocol, m.Seq, g.up.sent,
		)
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

// confirm waits until a guest without a run has confirmed all updates, and has sent nothing else. why is the
// reason if it is over.
func (g *process) confirm(ctx context.Context) (r pyproto.Report, why string) {
	for {
		sent, open, why := g.up.state()
		switch {
		case why != "":
			return r, why
		case !open && g.Link.Pending():
			return r, "its interpreter sent output after the end of its program"
		case !open:
			return r, ""
		}
		within, cancel := context.WithTimeout(ctx, updateTime)
		m, err := g.Link.Confirm(within, sent)
		cancel()
		if err == nil {
			r, err = g.confirmed(m)
		}
		switch {
		case errors.Is(err, executors.ErrRevoked) && len(r.Loaded) > 0:
			return r, "the policy in force denies what it has loaded: " + shown(r.Loaded)
		case err != nil:
			return r, "it did not accept the policy in force"
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
