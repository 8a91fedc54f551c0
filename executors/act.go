package executors

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringd/ringd/profiles"
)

// MaxActBytes limits the action of one Act: the words of a program start, or the value of a variable. A guest
// denies a longer action itself.
const MaxActBytes = 1 << 20

// maxExit is the largest exit code of a program.
const maxExit = 255

// ask turns an Ask into a question.
func (r *linkRun) ask(m Ask) (*question, error) {
	if !json.Valid(m.Args) {
		return nil, fmt.Errorf("%w: arguments of call %d are not JSON", ErrProtocol, m.Call)
	}
	return &question{call: m.Call, size: int64(len(m.Args)), Question: Question{Bridge: m.Bridge, Args: m.Args}}, nil
}

// act turns an Act into a question. A malformed action ends the guest: the guest built it itself, and no
// program can make it malformed.
func (r *linkRun) act(m Act) (*question, error) {
	if !r.work.Acts {
		return nil, fmt.Errorf("%w: an act from an executor that has no acts", ErrProtocol)
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
	// A person who approves ahead sees that nothing has run yet, and the run that waits for the approval starts
	// from the beginning.
	if m.Ahead && r.begun {
		return nil, fmt.Errorf("%w: call %d asks ahead, and the program has begun", ErrProtocol, m.Call)
	}
	r.begun = r.begun || !m.Ahead
	return &question{call: m.Call, size: int64(len(m.Action)), Question: Question{Action: &a, Ahead: m.Ahead}}, nil
}

// counted is the key of the question in Usage.Calls, which otherwise holds names of bridges.
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

// name is the name of the question in errors of the host.
func (q *question) name() string {
	if q.Action == nil {
		return q.Bridge
	}
	return "the action"
}

// sizeOf returns how much of the limit for all open questions q takes.
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

// decided checks the answer to an act. The guest gets a final decision, or an error.
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

// startWall starts the clock of the run's wall time.
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

// actingLocked adds n acts to those without an answer. A program may be held while people are asked about one.
// That wall time is not charged to the program; the host limits it.
func (r *linkRun) actingLocked(q Question, n int) {
	if q.Action != nil {
		r.holdWallLocked(n)
	}
}

// holdWallLocked adds n to the number of reasons for which the program is held. While there is one, its wall clock
// is stopped.
func (r *linkRun) holdWallLocked(n int) {
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

// holder returns the Hold callback of one question.
func (r *linkRun) holder() func(bool) {
	held := false
	return func(on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case on == held:
		case on:
			r.holdWallLocked(1)
		default:
			r.holdWallLocked(-1)
		}
		held = on
	}
}
