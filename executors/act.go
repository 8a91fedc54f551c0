package executors

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringd/ringd/profiles"
)

// MaxActBytes bounds the action of one Act: the words of a program start, or the
// value of a variable. A guest refuses what is longer itself.
const MaxActBytes = 1 << 20

// maxExit is the largest exit code of a program.
const maxExit = 255

// ask reads an Ask as a question.
func (r *linkRun) ask(m Ask) (*question, error) {
	if !json.Valid(m.Args) {
		return nil, fmt.Errorf("%w: arguments of call %d are not JSON", ErrProtocol, m.Call)
	}
	return &question{call: m.Call, size: int64(len(m.Args)), Question: Question{Bridge: m.Bridge, Args: m.Args}}, nil
}

// act reads an Act as a question. What is no action ends the guest: it made the
// action from words of its own, and no program can make it malformed.
func (r *linkRun) act(m Act) (*question, error) {
	if !r.work.Acts {
		return nil, fmt.Errorf("%w: an act of an executor that has none", ErrProtocol)
	}
	if len(m.Action) > MaxActBytes {
		return nil, fmt.Errorf("%w: action of call %d has %d bytes", ErrProtocol, m.Call, len(m.Action))
	}
	a, err := profiles.DecodeAction(m.Action)
	if err != nil {
		return nil, fmt.Errorf("%w: action of call %d: %w", ErrProtocol, m.Call, err)
	}
	if a.Exec == nil && a.File == nil && a.Variable == nil {
		return nil, fmt.Errorf("%w: call %d is not an action of a guest", ErrProtocol, m.Call)
	}
	// Who approves ahead is told that nothing has run, and a run that waits for it
	// goes on from its beginning.
	if m.Ahead && r.begun {
		return nil, fmt.Errorf("%w: call %d asks ahead, and the program has begun", ErrProtocol, m.Call)
	}
	r.begun = r.begun || !m.Ahead
	return &question{call: m.Call, size: int64(len(m.Action)), Question: Question{Action: &a, Ahead: m.Ahead}}, nil
}

// counted is the name under which a question is counted: Usage.Calls holds bridges.
func (q *question) counted() string {
	switch {
	case q.Action == nil:
		return q.Bridge
	case q.Action.Exec != nil:
		return "exec"
	case q.Action.File != nil:
		return "file"
	default:
		return "variable"
	}
}

// name is what an error of the host calls the question.
func (q *question) name() string {
	if q.Action == nil {
		return q.Bridge
	}
	return "the action"
}

// sizeOf is what an open question takes of the room for all of them.
func sizeOf(q Question) int64 {
	if q.Action == nil {
		return int64(len(q.Args))
	}
	text, err := json.Marshal(q.Action)
	if err != nil {
		return MaxActBytes
	}
	return int64(len(text))
}

// decided checks the answer to an act: the guest gets a decision that is final, or
// an error.
func (q *question) decided(a Answer) Answer {
	if q.Action == nil || a.Error != nil {
		return a
	}
	var d profiles.Decision
	if err := json.Unmarshal(a.Value, &d); err != nil || d.Verdict == profiles.Ask || d.Code == "" {
		return Answer{Error: &GuestError{Name: profiles.ErrorBridge, Message: "the action was not decided"}}
	}
	return a
}

// startWall begins to take the wall time of the run.
func (r *linkRun) startWall(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wallLeft, r.wallFrom = d, r.l.cfg.Now()
	r.wall = time.AfterFunc(d, func() {
		if !r.isKeeping() {
			r.end(causeWall, nil)
		}
	})
}

func (r *linkRun) stopWall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wall.Stop()
	r.wall = nil
}

// actingLocked counts an act that is asked, or answered. A program may be held
// while people are asked about one: the wall time that it takes is not the
// program's, and the host bounds it.
func (r *linkRun) actingLocked(q Question, n int) {
	if q.Action != nil {
		r.stillLocked(n)
	}
}

// stillLocked counts what the program is held for: while that is anything, its wall
// time stands still.
func (r *linkRun) stillLocked(n int) {
	if r.wall == nil {
		return
	}
	r.acting += n
	switch {
	case n > 0 && r.acting == 1:
		r.wall.Stop()
		r.wallLeft -= r.l.cfg.Now().Sub(r.wallFrom)
	case n < 0 && r.acting == 0:
		r.wallFrom = r.l.cfg.Now()
		r.wall.Reset(max(r.wallLeft, 0))
	}
}

// holder makes the Hold of one question.
func (r *linkRun) holder() func(bool) {
	held := false
	return func(on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case on == held:
		case on:
			r.stillLocked(1)
		default:
			r.stillLocked(-1)
		}
		held = on
	}
}
