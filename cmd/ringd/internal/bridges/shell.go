// The bridge shell: a program of another language runs a script on the shell executor, within its own run.
// Each started program, opened file and forbidden variable of the script is decided and recorded, and counts
// in the budgets of the run. A denial is an error that the program can catch. The shell executor parses the
// script. The interpreter ring calls it.

package bridges

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// ShellBridge is the bridge of [Shell].
const ShellBridge = "shell"

// Shell runs scripts. It is safe for concurrent use.
type Shell struct {
	executor executors.Executor

	mu   sync.Mutex
	runs map[string]map[string]*session // by run and name
}

// session is the state between the scripts of one name.
type session struct {
	busy     bool
	engine   string
	snapshot []byte // nil before the first script has ended
}

// Limits of one run.
const (
	maxSessions     = 16
	maxSessionBytes = 1 << 20
	maxRan          = 64
)

// NewShell returns a provider that runs scripts on an executor, which is required. It keeps only sessions;
// see [Shell.RunEnded].
func NewShell(scripts executors.Executor) *Shell {
	return &Shell{executor: scripts, runs: map[string]map[string]*session{}}
}

// Call runs one script to its end. An error is a *profiles.Denial, a *binding.Failure, or a fault. A script
// that fails itself is a result with its exit code.
func (p *Shell) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	q, err := readShell(c.Args)
	if err != nil {
		return nil, err
	}
	if c.Guest == nil || c.Act == nil || c.Deciders == nil || c.Claims == nil {
		return nil, errors.New("the call cannot start a guest")
	}
	r, ok := c.Guest(p.executor.Name())
	if !ok {
		return nil, &profiles.Denial{Capability: "executor:" + p.executor.Name(), Decision: profiles.Decision{
			Code:   profiles.CodeExecutorNotGranted,
			Reason: "the bridge shell needs the executor shell, which the policy does not grant"}}
	}
	most, ok := shellResultBytes(c)
	if !ok {
		return nil, &profiles.Denial{Capability: "bridge:" + c.Bridge,
			Decision: profiles.Decision{Code: profiles.CodeClosed, Reason: "no profile is in force"}}
	}
	r.Program = executors.Program{Name: "shell", Language: "shell", Source: q.script, Stdin: []byte(q.stdin),
		Dir: q.cwd}
	s, err := p.enter(c.Run, q.session)
	if err != nil {
		return nil, err
	}
	if s != nil {
		r.Session = true
		if s.snapshot != nil {
			r.Resume = &executors.Resume{Engine: s.engine, Snapshot: s.snapshot, Session: true}
		}
	}
	h := &host{act: c.Act, recorded: map[recordedDenial]bool{}}
	out, err := p.executor.Run(ctx, r, h)
	unkept := p.leave(s, out, err)
	if err != nil {
		return nil, shellProgramError(err)
	}
	if err := c.Claims(p.executor.Name(), h.unrecorded(out), out.Refused); err != nil {
		return nil, err
	}
	if err := h.denialError(q, out); err != nil {
		return nil, err
	}
	return encode(out, h, unkept, most)
}

// shellResultBytes returns the smallest result limit of the policies that bind the run.
func shellResultBytes(c contract.Call) (most int64, ok bool) {
	for _, d := range c.Deciders() {
		b, granted := d.BridgeGrant(c.Bridge)
		if !granted {
			return 0, false
		}
		if !ok || b.Limits.ResultBytes < most {
			most, ok = b.Limits.ResultBytes, true
		}
	}
	return most, ok
}

// enter takes a session of a run. It returns nil if no name is given.
func (p *Shell) enter(run, name string) (*session, error) {
	if name == "" {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.runs[run]
	if all == nil {
		all = map[string]*session{}
		p.runs[run] = all
	}
	s := all[name]
	switch {
	case s == nil && len(all) >= maxSessions:
		return nil, failure("RangeError", fmt.Sprintf("a run has at most %d sessions", maxSessions))
	case s == nil:
		s = &session{}
		all[name] = s
	case s.busy:
		return nil, failure("InvalidStateError", "a script of this session is running")
	}
	s.busy = true
	return s, nil
}

// leave stores the state after a script, and releases the session. It returns why nothing was stored.
func (p *Shell) leave(s *session, out executors.Outcome, err error) (unkept string) {
	if s == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.busy = false
	switch {
	case err != nil || out.State != executors.StateDone && out.State != executors.StateFailed:
		return "the script did not end by itself"
	case out.Snapshot == nil && out.Unkept != "":
		return out.Unkept
	case out.Snapshot == nil:
		return "the executor gave no state"
	case len(out.Snapshot) > maxSessionBytes:
		return fmt.Sprintf("the state has more than %d bytes", maxSessionBytes)
	}
	s.engine, s.snapshot = out.Engine, out.Snapshot
	return ""
}

// RunEnded deletes the sessions of a run. They do not outlive a pause.
func (p *Shell) RunEnded(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, run)
}

// host is the executors.Host of one call.
type host struct {
	act func(context.Context, executors.Question) (executors.Answer, error)

	mu       sync.Mutex
	ran      [][]string
	more     int
	denied   *profiles.Decision      // first denial
	recorded map[recordedDenial]bool // all refusals
}

// recordedDenial identifies a denial that is recorded already.
type recordedDenial struct {
	code   profiles.Code
	reason string
}

// unrecorded returns the refusals of a script that the daemon did not decide.
func (h *host) unrecorded(out executors.Outcome) []profiles.Decision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(out.Denials), func(d profiles.Decision) bool {
		return h.recorded[recordedDenial{d.Code, d.Reason}]
	})
}

// Ask decides an act in the name of the calling run.
func (h *host) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if q.Action == nil {
		return executors.Answer{}, errors.New("a script has no bridges")
	}
	a, err := h.act(ctx, q)
	if err != nil {
		return a, err
	}
	var d profiles.Decision
	if a.Error != nil || json.Unmarshal(a.Value, &d) != nil {
		return a, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.Verdict != profiles.Allow {
		h.recorded[recordedDenial{d.Code, d.Reason}] = true
	}
	switch {
	case d.Verdict != profiles.Allow && h.denied == nil:
		h.denied = &d
	case d.Verdict != profiles.Allow, q.Ahead, q.Action.Exec == nil:
	case len(h.ran) < maxRan:
		h.ran = append(h.ran, q.Action.Exec.Argv)
	default:
		h.more++
	}
	return a, nil
}

// Console does nothing: the outcome has the output.
func (h *host) Console(executors.ConsoleEntry) {}

// Idle does nothing: a script inside a call of another program is held.
func (h *host) Idle([]string) {}

// denialError returns the error of a script that the policy or a limit has ended.
func (h *host) denialError(q *shellArgs, out executors.Outcome) error {
	switch out.State {
	case executors.StateDone:
		return nil
	case executors.StateFailed:
		if out.Error != nil && out.Error.Name == exitStatus {
			return nil
		}
		return fmt.Errorf("the script failed: %s", nameOf(out))
	case executors.StateDenied:
		h.mu.Lock()
		defer h.mu.Unlock()
		d := h.denied
		at := shellproto.RefusalPlace{Script: q.script, Begun: len(h.ran) > 0 || d != nil, More: h.more}
		for _, argv := range h.ran {
			at.Ran = append(at.Ran, strings.Join(argv, " "))
		}
		for i := range out.Denials { // the guest knows the place in the script
			if o := &out.Denials[i]; d == nil || d.Code == o.Code && d.Reason == o.Reason {
				d = o
				break
			}
		}
		if d == nil {
			return fmt.Errorf("the script was refused: %s", nameOf(out))
		}
		text := d.Text
		if text == "" {
			text = shellproto.RefusalText(*d, at)
		}
		return &binding.Failure{Name: profiles.ErrorCapabilityDenied, Text: string(d.Code) + ": " + text, Secret: true,
			By: &profiles.Decision{Code: d.Code, Rule: d.Rule, Revision: d.Revision, Reason: "a script was refused"}}
	case executors.StateLimit:
		if out.Error != nil {
			return failure(out.Error.Name, out.Error.Message)
		}
		return failure("LimitExceeded", "the script has reached a limit")
	case executors.StateCancelled:
		return context.Canceled
	case executors.StatePaused, executors.StateUnknown:
		return fmt.Errorf("the script ended as %s", out.State)
	default:
		return fmt.Errorf("the script ended as %q", out.State)
	}
}

// exitStatus is the error name of a script with an exit code other than 0.
const exitStatus = "ExitStatus"

func nameOf(out executors.Outcome) string {
	if out.Error == nil {
		return "no reason is known"
	}
	return out.Error.Name + ": " + out.Error.Message
}

// shellProgramError converts an error of the executor for the program.
func shellProgramError(err error) error {
	if errors.Is(err, executors.ErrEngine) || errors.Is(err, executors.ErrSnapshot) {
		return &binding.Failure{Name: "SessionUnusable", Text: "the state of the session cannot be restored", Err: err}
	}
	return err
}

func failure(name, text string) error { return &binding.Failure{Name: name, Text: text} }
