package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/pool"
	"github.com/ringd/ringd/profiles"
)

// defaultIdle is how long an unused session is kept.
const defaultIdle = 15 * time.Minute

// sessions are the guests that stay for the next run of their name.
type sessions struct {
	mu     sync.Mutex
	closed bool
	live   map[string]*session // waiting sessions, by the key of their token
	gone   []ended             // the latest last
}

// session is an interpreter that keeps the names of its programs. During a run it is not in the table: its
// token is used up, and the next one differs.
type session struct {
	guest  *process
	key    string
	agent  string
	actor  string
	grants []profiles.Grants
	used   time.Time
	stays  time.Duration // how long it is kept unused
	bytes  int64         // memory that it uses
	idle   *time.Timer
	watch  *time.Timer
	cpu    time.Duration // at the last look
	told   chan struct{} // not nil while it gets a policy; closed afterwards
}

// ended is a session that no longer exists.
type ended struct{ key, why string }

// maxGone limits how many ended sessions are remembered.
const maxGone = 256

// A token begins with a prefix, so that nothing else is taken for one.
const (
	tokenHead  = "ringd python session 1\n"
	tokenBytes = 32
)

// keyOf is the key of a token: the table does not hold the tokens themselves, which open a session.
func keyOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

// keep keeps a session for its next run, or says why it does not. If a run leaves no session, its guest is gone
// already.
func (e *Executor) keep(
	ctx context.Context, g *process, r executors.Run, out executors.Outcome, again bool,
) (executors.Outcome, error) {
	if !again {
		if r.Session {
			out.Unkept = fmt.Sprintf("the run ended as %s, and its interpreter with it", out.State)
		}
		return out, nil
	}
	report, why := g.confirm(ctx)
	if len(report.Loaded) > 0 {
		e.notice(
			Notice{
				Agent: r.Agent.Name, Actor: r.Actor, Run: r.ID, Revision: e.revision(r), Loaded: report.Loaded,
				Ended: why,
			},
		)
	}
	switch {
	case why != "":
	case out.State != executors.StateDone && out.State != executors.StateFailed && out.State != executors.StateDenied:
		why = fmt.Sprintf("the run ended as %s", out.State)
	case e.cfg.SessionBytes > 0 && out.Usage.PeakBytes > e.cfg.SessionBytes:
		why = fmt.Sprintf(
			"its interpreter has taken %d bytes of memory, and a session may keep %d", out.Usage.PeakBytes,
			e.cfg.SessionBytes,
		)
	}
	token := make([]byte, tokenBytes)
	used, err := g.Process.CPU()
	if why == "" {
		_, err = io.ReadFull(e.cfg.Random, token)
	}
	if err == nil && why == "" {
		token = append([]byte(tokenHead), token...)
		why = e.addSession(&session{guest: g, key: keyOf(token), agent: r.Agent.Name, actor: r.Actor, grants: r.Grants,
			used:  e.cfg.Now(),
			stays: e.sessionTime(r.Agent), bytes: out.Usage.PeakBytes, cpu: used})
	}
	switch {
	case err != nil:
		g.End()
		return out, fmt.Errorf("keep the session of run %s: %w", r.ID, err)
	case why != "":
		g.End()
		out.Unkept = why
	default:
		out.Snapshot = token
	}
	return out, nil
}

// addSession adds a waiting session. If there are too many, one of the agent and actor with the most ends: see
// pool.Crowded.
func (e *Executor) addSession(s *session) (why string) {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return "the daemon ends"
	case e.cfg.Sessions == 0:
		return "a session of python is a live interpreter, which only a daemon keeps: run it in a daemon"
	}
	for len(t.live) >= e.cfg.Sessions {
		e.endLocked(t.crowdedLocked(s), fmt.Sprintf("this host keeps %d sessions, and of the agent and actor with "+
			"the most "+
			"it was used longest ago", e.cfg.Sessions))
	}
	s.idle = time.AfterFunc(s.stays, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.live[s.key] == s {
			e.endLocked(s, fmt.Sprintf("it was not used for %v", s.stays))
		}
	})
	t.live[s.key] = s
	s.watch = time.AfterFunc(watchTime, func() { e.checkSession(s) })
	return ""
}

// crowdedLocked is the session that makes room for another one.
func (t *sessions) crowdedLocked(next *session) *session {
	all := slices.SortedFunc(maps.Values(t.live), func(a, b *session) int { return a.used.Compare(b.used) })
	held := make([]pool.Holder, len(all))
	for i, o := range all {
		held[i] = o.holder()
	}
	return all[pool.Crowded(held, next.holder())]
}

func (s *session) holder() pool.Holder { return pool.Holder{Agent: s.agent, Actor: s.actor} }

// watchTime is how often a waiting session is checked, and idleTime the processor time that its threads may use
// in between: no run's limit applies to them.
const (
	watchTime = 5 * time.Second
	idleTime  = watchTime / 5
)

// checkSession ends a session that computes while it waits.
func (e *Executor) checkSession(s *session) {
	used, err := s.guest.Process.CPU()
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.live[s.key] != s:
	case err != nil:
		e.endLocked(s, "its interpreter does not answer")
	case used-s.cpu > idleTime:
		e.endLocked(s, "its threads used the processor while it waited")
	default:
		s.cpu = used
		s.watch.Reset(watchTime)
	}
}

// sessionTime is how long an unused session of an agent is kept, at most as long as the policy allows.
func (e *Executor) sessionTime(a *profiles.Agent) time.Duration {
	if a.Sessions == nil {
		return e.cfg.Idle
	}
	return min(e.cfg.Idle, time.Duration(a.Sessions.AgeMillis)*time.Millisecond)
}

// Forget ends the session of a token. See executors.Living.
func (e *Executor) Forget(token []byte) {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.live[keyOf(token)]; s != nil {
		e.endLocked(s, "it was dropped")
	}
}

// Living returns the number of waiting sessions, and the memory that they use.
func (e *Executor) Living() (n int, bytes int64) {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.live {
		bytes += s.bytes
	}
	return len(t.live), bytes
}

// endLocked ends a waiting session.
func (e *Executor) endLocked(s *session, why string) {
	e.sessions.forgetLocked(s, why)
	e.blank.Discard(s.guest)
}

// forgetLocked removes a session from the table and remembers why.
func (t *sessions) forgetLocked(s *session, why string) {
	s.idle.Stop()
	s.watch.Stop()
	delete(t.live, s.key)
	if len(t.gone) == maxGone {
		t.gone = t.gone[1:]
	}
	t.gone = append(t.gone, ended{s.key, why})
}

// noSession is the error of a run whose session does not exist.
func noSession(format string, args ...any) error {
	return &executors.SessionError{Why: fmt.Sprintf(format, args...)}
}

// takeSession gives a session to one run. If two runs ask for the same session, one of them gets it.
func (e *Executor) takeSession(ctx context.Context, r executors.Run) (*process, error) {
	t, key := &e.sessions, keyOf(r.Resume.Snapshot)
	for {
		t.mu.Lock()
		s := t.live[key]
		switch {
		case s == nil:
			defer t.mu.Unlock()
			return nil, noSession("the interpreter of the session is gone: %s", t.whyLocked(key))
		case r.Agent == nil || s.agent != r.Agent.Name || s.actor != r.Actor:
			defer t.mu.Unlock()
			return nil, noSession("the session is of another agent or actor")
		case s.told == nil:
			defer t.mu.Unlock()
			t.forgetLocked(s, "another run has already continued it")
			return s.guest, nil
		}
		told := s.told
		t.mu.Unlock()
		select {
		case <-told:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (t *sessions) whyLocked(key string) string {
	for _, g := range t.gone {
		if g.key == key {
			return g.why
		}
	}
	return "this daemon does not know it, as after a restart"
}

// maxStray limits the output that is dropped before a run.
const maxStray = 1 << 20

// goOn runs a program in the session that r names.
func (e *Executor) goOn(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	if !r.Resume.Session {
		return executors.Outcome{}, fmt.Errorf(
			"resume run %s: %w: a python program cannot be snapshotted while it waits", r.ID, executors.ErrSnapshot,
		)
	}
	if _, err := e.bind(ctx, r); err != nil {
		return executors.Outcome{}, err // an impossible request ends no session
	}
	g, err := e.takeSession(ctx, r)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	b, done, err := e.settled(ctx, g, r)
	defer done()
	if err == nil {
		err = stray(g)
	}
	if err != nil {
		g.End()
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	out, again, err := e.runIn(ctx, g, b, h)
	if errors.Is(err, executors.ErrGone) {
		err = fmt.Errorf("start run %s: %w", r.ID, noSession("the interpreter of the session ended while it waited"))
	}
	if err != nil {
		return out, err
	}
	out, err = e.keep(ctx, g, b.run, out, again)
	if err == nil && out.Unkept != "" {
		e.sessions.lost(keyOf(r.Resume.Snapshot), "it ended with its last run: "+out.Unkept)
	}
	return out, err
}

// lost says why a session that a run had taken is gone.
func (t *sessions) lost(key, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.gone {
		if t.gone[i].key == key {
			t.gone[i].why = why
		}
	}
}

// serves says why a guest that was started for another run cannot serve this one.
func (g *process) serves(want spec) error {
	why := g.missingFrom(want.env)
	switch {
	case !g.Satisfies(want.Tier) || !g.Spec.Kernel.Within(want.Kernel):
		why = "its interpreter was started with more than this run is granted"
	case why == "":
		return nil
	}
	return noSession("%s", why)
}

// stray drops the output that threads of a session have written while it waited: it belongs to no run.
func stray(g *process) error {
	for _, from := range []io.Reader{g.std.Stdout(), g.std.Stderr()} {
		if _, err := executors.DiscardOutput(from, maxStray); err != nil {
			return err
		}
	}
	return nil
}

// waits lists the waiting sessions. No run can take them until settle.
func (e *Executor) waits() []life {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]life, 0, len(t.live))
	for _, s := range t.live {
		s.told = make(chan struct{})
		out = append(
			out, life{process: s.guest, agent: s.agent, actor: s.actor, grants: s.grants, stays: true, session: s},
		)
	}
	return out
}

// settle makes a session available again after it got a policy, or ends it.
func (e *Executor) settle(s *session, why string) {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	close(s.told)
	s.told = nil
	if why != "" && t.live[s.key] == s {
		e.endLocked(s, why)
	}
}

// closeSessions ends all waiting sessions.
func (e *Executor) closeSessions() {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, s := range t.live {
		e.endLocked(s, "the daemon ends")
	}
}
