package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/streams"
)

// defaultIdle is how long a session is kept that nobody uses.
const defaultIdle = 15 * time.Minute

// sessions are the guests that stay.
type sessions struct {
	mu     sync.Mutex
	closed bool
	live   map[string]*session // by the key of their token
	gone   []ended             // the latest last
}

// session is an interpreter that keeps the names of its programs. One that has a run
// is in nobody's table: its token is taken, and the next one is another.
type session struct {
	guest *process
	agent string
	actor string
	used  time.Time
	idle  *time.Timer
}

// ended is a session that is not there any more.
type ended struct{ key, why string }

// maxGone bounds what is remembered of sessions that ended.
const maxGone = 256

// Words of why a session is not there. What to do is the same for all.
const (
	whyIdle   = "nobody used it for %v"
	whyMany   = "this host keeps %d sessions, and it was used longest ago"
	whyTaken  = "a run has gone on from it already"
	whyClosed = "the daemon ends"
)

const tokenBytes = 32

// token begins with what it is, so that nothing else is taken for one.
const tokenHead = "ringd python session 1\n"

// keyOf is what a token is known by: the table does not hold what opens a session.
func keyOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

// keep has a session stay for its next run, or ends the guest of a run that is over.
func (e *Executor) keep(g *process, r executors.Run, out executors.Outcome, again bool, err error) (executors.Outcome, error) {
	if !again {
		if r.Session && err == nil {
			out.Unkept = "the interpreter of the session is gone"
		}
		return out, err
	}
	if err != nil || out.State != executors.StateDone && out.State != executors.StateFailed {
		end(g)
		out.Unkept = fmt.Sprintf("the run ended as %s", out.State)
		return out, err
	}
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(e.cfg.Random, token); err != nil {
		end(g)
		return out, fmt.Errorf("keep the session of run %s: %w", r.ID, err)
	}
	token = append([]byte(tokenHead), token...)
	if why := e.put(keyOf(token), &session{guest: g, agent: r.Agent.Name, actor: r.Actor, used: e.cfg.Now()}); why != "" {
		end(g)
		out.Unkept = why
		return out, nil
	}
	out.Snapshot = token
	return out, nil
}

// put makes a session one that waits. Where there are too many, the one that was
// used longest ago ends.
func (e *Executor) put(key string, s *session) (why string) {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return whyClosed
	case e.cfg.Sessions == 0:
		return "this host keeps no sessions of python"
	}
	for len(t.live) >= e.cfg.Sessions {
		oldest := ""
		for k, o := range t.live {
			if oldest == "" || o.used.Before(t.live[oldest].used) {
				oldest = k
			}
		}
		e.endLocked(oldest, fmt.Sprintf(whyMany, e.cfg.Sessions))
	}
	s.idle = time.AfterFunc(e.cfg.Idle, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.live[key] == s {
			e.endLocked(key, fmt.Sprintf(whyIdle, e.cfg.Idle))
		}
	})
	t.live[key] = s
	return ""
}

// endLocked ends a session that waits.
func (e *Executor) endLocked(key, why string) {
	t := &e.sessions
	s := t.live[key]
	t.forget(key, why)
	s.idle.Stop()
	e.work.Add(1)
	e.cfg.Go(func() {
		defer e.work.Done()
		end(s.guest)
	})
}

// forget takes a session out of the table and remembers why.
func (t *sessions) forget(key, why string) {
	delete(t.live, key)
	if len(t.gone) == maxGone {
		t.gone = t.gone[1:]
	}
	t.gone = append(t.gone, ended{key, why})
}

// goOn runs a program in the session that r names.
func (e *Executor) goOn(ctx context.Context, want spec, r executors.Run, w executors.Work, h executors.Host) (executors.Outcome, error) {
	if !r.Resume.Session {
		return executors.Outcome{}, fmt.Errorf("resume run %s: %w: a python program is not written down while it waits", r.ID, executors.ErrSnapshot)
	}
	s, err := e.sessions.take(keyOf(r.Resume.Snapshot), want, r.Actor)
	if err != nil {
		return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
	}
	g := s.guest
	// What threads of the session have written since is nobody's.
	for _, from := range []io.Reader{g.std.Stdout(), g.std.Stderr()} {
		if _, err := streams.Discard(from, maxStray); err != nil {
			end(g)
			return executors.Outcome{}, fmt.Errorf("start run %s: %w", r.ID, err)
		}
	}
	out, again, err := e.runIn(ctx, g, r, w, h)
	if errors.Is(err, executors.ErrGone) {
		return out, fmt.Errorf("start run %s: %w: its interpreter ended while it waited%s", r.ID, executors.ErrSnapshot, anew)
	}
	return e.keep(g, r, out, again, err)
}

// maxStray bounds what is read and thrown away before a run.
const maxStray = 1 << 20

const anew = ": end the session, and begin it anew"

// take has one run go on from a session.
func (t *sessions) take(key string, want spec, actor string) (*session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.live[key]
	if s == nil {
		why := "this daemon does not have it, and does not know it"
		for _, g := range t.gone {
			if g.key == key {
				why = g.why
			}
		}
		return nil, fmt.Errorf("%w: the interpreter of the session is gone: %s%s", executors.ErrSnapshot, why, anew)
	}
	if s.agent != want.agent || s.actor != actor {
		return nil, fmt.Errorf("%w: the session is of another agent or actor", executors.ErrSnapshot)
	}
	if !want.fits(s.guest) || !s.guest.spec.kernel.Within(want.kernel) {
		return nil, fmt.Errorf("%w: its interpreter was started with more than this run is granted%s", executors.ErrSnapshot, anew)
	}
	s.idle.Stop()
	t.forget(key, whyTaken)
	return s, nil
}

// close ends all sessions that wait.
func (e *Executor) closeSessions() {
	t := &e.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for key := range t.live {
		e.endLocked(key, whyClosed)
	}
}
