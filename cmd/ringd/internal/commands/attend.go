// Attendant stays with one run of a daemon in this process. It prints the console as it comes. If the run
// waits for an approver, it asks the person at the terminal. It returns how the run ended, or that it waits.
//
// It never approves by itself: a "yes" was typed for the arguments that were shown. A run that nobody here
// can continue is stored if there is a state folder, and ended if there is none.

package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Daemon runs the program; daemon.Daemon implements it.
type Daemon interface {
	Events(ctx context.Context, a daemon.Actor, id string, after int64) ([]wire.Event, error)
	GetRun(ctx context.Context, a daemon.Actor, id string, wait time.Duration) (wire.Run, error)
	Approve(ctx context.Context, who waiting.Approver, run, call string, a wire.ApprovalAnswer) (wire.Run, error)
	ResumeRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)
	CancelRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)
}

// Terminal asks a person; cli.prompt implements it.
type Terminal interface {
	Ask(ctx context.Context, page cli.Page, q cli.Question, as string) (cli.PromptAnswer, error)
}

// AttendConfig configures an Attendant. All fields but Terminal, Lacks and Rule are required.
type AttendConfig struct {
	*cli.Program
	Daemon   Daemon
	Actor    daemon.Actor     // owner of the run
	Approver waiting.Approver // the person at Terminal
	Terminal Terminal         // nil if nobody can be asked
	Keep     bool             // store a waiting run in the state folder
	JSON     bool             // print only the outcome to Out
	Shown    int64            // the last console line that an earlier part of the run has shown
	// Lacks returns why a call of a waiting run could not begin here after an approval. The person is then
	// not asked about it. If Lacks is nil, every call could begin.
	Lacks func(run wire.Run, c wire.Pending) error
	// Rule returns the rule that makes a bridge of an agent wait. It may be nil.
	Rule func(agent, bridge string) *profiles.Rule
	Now  func() time.Time
}

// Attendant stays with one run. It is used by one goroutine.
type Attendant struct {
	AttendConfig
	after, printed int64
	asked          map[string]bool // calls that the person here has decided

	// For a script: how much of its standard streams was shown. If some was missed, the rest is shown at the
	// end.
	stdout, stderr int
	missed         bool
}

// NewAttendant returns an attendant for a run.
func NewAttendant(cfg AttendConfig) *Attendant {
	return &Attendant{AttendConfig: cfg, printed: cfg.Shown, asked: map[string]bool{}}
}

// Attend follows the run until it ends or waits for a person who is not at this terminal. If ctx ends first, the run is
// cancelled, unless it waits and is stored.
func (a *Attendant) Attend(ctx context.Context, id string) (wire.Run, error) {
	for {
		run, err := a.follow(ctx, id)
		if err != nil || run.State != string(executors.StatePaused) {
			return run, err
		}
		on, err := a.askAll(ctx, run)
		if err != nil && !a.Keep {
			return wire.Run{}, errors.Join(err, a.end(ctx, id))
		}
		switch {
		case err != nil:
			if now, gone := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0); gone == nil {
				run = now // with the answers so far
			}
			return run, err
		case !on && a.Keep:
			return a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0)
		case !on:
			return a.endUnanswered(ctx, run)
		}
	}
}

// follow prints the events and returns the run when it has ended or waits.
func (a *Attendant) follow(ctx context.Context, id string) (wire.Run, error) {
	for {
		events, err := a.Daemon.Events(ctx, a.Actor, id, a.after)
		if ctx.Err() != nil {
			return a.interrupted(ctx, id)
		}
		if err != nil {
			return wire.Run{}, fmt.Errorf("follow run %s: %w", id, err)
		}
		stopped, pending := a.take(events)
		if !stopped {
			if pending {
				if err := a.askHeld(ctx, id); err != nil {
					return wire.Run{}, err
				}
			}
			continue
		}
		run, err := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0)
		if err != nil || run.State != wire.StateRunning {
			for _, c := range run.Console {
				a.show(c)
			}
			if a.missed {
				a.printRest(run)
			}
			return run, err
		}
	}
}

// take prints the console of events. It reports whether the run may have ended or waits, and whether one of the
// events is a call that waits.
func (a *Attendant) take(events []wire.Event) (stopped, pending bool) {
	stopped = len(events) == 0
	for _, e := range events {
		a.after = max(a.after, e.Seq)
		stopped = stopped || e.Final() || e.Type == wire.EventState && e.State == string(executors.StatePaused)
		pending = pending || e.Call != nil && e.Call.State == "pending"
		a.missed = a.missed || e.Type == wire.EventGap
		if e.Console != nil {
			a.show(*e.Console)
		}
	}
	return stopped, pending
}

func (a *Attendant) show(c wire.ConsoleEntry) {
	if c.Seq <= a.printed {
		return
	}
	a.printed = c.Seq
	switch {
	case c.Level != executors.LevelStdout && c.Level != executors.LevelStderr:
	case a.missed:
		return // printed with the rest
	case c.Level == executors.LevelStdout:
		a.stdout += len(c.Text)
	default:
		a.stderr += len(c.Text)
	}
	a.Program.Console(c, a.JSON)
}

// printRest prints the part of a script's streams that was missed.
func (a *Attendant) printRest(run wire.Run) {
	a.missed = false
	if n := min(a.stdout, len(run.Stdout)); n < len(run.Stdout) {
		a.Program.Console(wire.ConsoleEntry{Level: executors.LevelStdout, Text: run.Stdout[n:]}, a.JSON)
	}
	if n := min(a.stderr, len(run.Stderr)); n < len(run.Stderr) {
		a.Program.Console(wire.ConsoleEntry{Level: executors.LevelStderr, Text: run.Stderr[n:]}, a.JSON)
	}
	a.stdout, a.stderr = len(run.Stdout), len(run.Stderr)
}

// askHeld asks about the calls of a program that cannot pause. If nobody here can answer, it ends the run, which
// could only wait until the call is refused.
func (a *Attendant) askHeld(ctx context.Context, id string) error {
	run, err := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0)
	if err != nil || run.State != wire.StateRunning {
		return err
	}
	for _, c := range run.Pending {
		if !c.Held {
			continue
		}
		spoke, err := a.askOne(ctx, run, c)
		if spoke && err == nil {
			now, err := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0)
			spoke = err != nil || !slices.ContainsFunc(now.Pending, func(p wire.Pending) bool { return p.ID == c.ID })
		}
		switch {
		case errors.Is(err, waiting.ErrExpired), errors.Is(err, waiting.ErrEnded), errors.Is(err, waiting.ErrDecided),
			errors.Is(err, waiting.ErrNotWaiting):
			// The call is decided, and the run continues or has ended.
		case err != nil:
			return errors.Join(err, a.end(ctx, id))
		case !spoke:
			fmt.Fprintf(a.Err, "ringd: the program is ended: call %s of %s waits for %s, %s\n%s", c.ID,
				cli.Visible(c.Bridge), article(c.For), a.whyUnanswered(c), a.heldHint())
			return a.end(ctx, id)
		}
	}
	return nil
}

// heldHint returns a remedy for a held program that cannot be stored.
func (a *Attendant) heldHint() string {
	if !a.Keep {
		return ""
	}
	return "    hint: a started program cannot be kept in a state folder: --ask asks at the\n" +
		"    terminal, and a daemon (ringd serve, ringd run --socket) lets others approve\n"
}

// whyUnanswered returns why nobody here answers a call.
func (a *Attendant) whyUnanswered(c wire.Pending) string {
	if c.For != "approver" {
		return "which a daemon gives it: see `ringd serve`"
	}
	if a.Terminal == nil {
		return "and there is no terminal to ask at"
	}
	if a.asked[c.ID] {
		return "and it takes more than one"
	}
	return "and nobody answers"
}

// interrupted ends a run after an interrupt. A run that waits and is stored is left alone.
func (a *Attendant) interrupted(ctx context.Context, id string) (wire.Run, error) {
	if a.Keep {
		run, err := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, id, 0)
		if err != nil || run.State == string(executors.StatePaused) {
			return run, err
		}
	}
	return a.cancel(ctx, id)
}

// cancel ends a run and returns how it ended.
func (a *Attendant) cancel(ctx context.Context, id string) (wire.Run, error) {
	ctx = context.WithoutCancel(ctx)
	final, err := a.Daemon.CancelRun(ctx, a.Actor, id)
	if errors.Is(err, daemon.ErrEnded) {
		return a.Daemon.GetRun(ctx, a.Actor, id, 0)
	}
	return final, err
}

// endUnanswered ends a run that waits for a person who is not at this terminal, and prints why. The run is not
// stored anywhere.
func (a *Attendant) endUnanswered(ctx context.Context, run wire.Run) (wire.Run, error) {
	final, err := a.cancel(ctx, run.ID)
	if err != nil || ctx.Err() != nil || len(run.Pending) == 0 || final.State != string(executors.StateCancelled) {
		return final, err
	}
	c := run.Pending[0]
	why := a.whyUnanswered(c)
	final.Error = &wire.RunError{Name: "Unanswered",
		Message: fmt.Sprintf("call %s of %s waits for %s, %s", c.ID, cli.Visible(c.Bridge), article(c.For), why)}
	fmt.Fprint(a.Err, "ringd: the run is ended: it cannot continue here\n"+
		"    hint: --state DIR keeps the run; then `ringd approve` and `ringd resume`\n")
	return final, nil
}

func article(who string) string {
	if who == "approver" {
		return "an approver"
	}
	return "its harness"
}

func (a *Attendant) end(ctx context.Context, id string) error {
	_, err := a.cancel(ctx, id)
	return err
}

// askAll asks about the calls of a waiting run and resumes it when all are answered. It reports whether the
// run continues.
func (a *Attendant) askAll(ctx context.Context, run wire.Run) (on bool, err error) {
	if a.Terminal != nil && a.Lacks != nil {
		for _, c := range run.Pending {
			if err := a.Lacks(run, c); err != nil {
				return false, err
			}
		}
	}
	for _, c := range run.Pending {
		if spoke, err := a.askOne(ctx, run, c); err != nil || !spoke {
			return false, err
		}
	}
	now, err := a.Daemon.GetRun(context.WithoutCancel(ctx), a.Actor, run.ID, 0)
	if err != nil || len(now.Pending) > 0 {
		return false, err
	}
	_, err = a.Daemon.ResumeRun(context.WithoutCancel(ctx), a.Actor, run.ID)
	return err == nil, err
}

// askOne asks about one call and sends the answer to the daemon. It reports whether there was an answer.
func (a *Attendant) askOne(ctx context.Context, run wire.Run, c wire.Pending) (spoke bool, err error) {
	if c.For != "approver" || a.Terminal == nil || a.asked[c.ID] {
		return false, nil
	}
	who := a.Approver
	answer, err := a.Terminal.Ask(ctx, a.Page(a.Err), cli.Question{
		Run: run.ID, Agent: run.Agent, Pending: c, Rule: a.ruleOf(run.Agent, c), Now: a.Now(),
	}, strings.Join(who.Stands, ""))
	if err != nil {
		return false, a.ignoreUnanswered(ctx, err)
	}
	word := wire.ApprovalAnswer{Verdict: "allow", Digest: c.Digest, Reason: answer.Reason, As: answer.As}
	if answer.As != "" {
		who.Stands = []string{answer.As} // the person at the terminal chose the owner, as --as does
	}
	if !answer.Allow {
		word.Verdict = "deny"
		if word.Reason == "" {
			word.Reason = "denied at the terminal"
		}
	}
	a.asked[c.ID] = true
	if _, err := a.Daemon.Approve(context.WithoutCancel(ctx), who, run.ID, c.ID, word); err != nil {
		return false, fmt.Errorf("call %s: %w", c.ID, err)
	}
	return true, nil
}

// ruleOf returns the rule that makes a call wait.
func (a *Attendant) ruleOf(agent string, c wire.Pending) *profiles.Rule {
	if c.Rule != nil {
		return c.Rule
	}
	return a.configuredRule(agent, c.Bridge)
}

// ignoreUnanswered drops the error of a question without an answer, because the run still waits.
func (a *Attendant) ignoreUnanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, cli.ErrNoAnswer) {
		return nil
	}
	return err
}

func (a *Attendant) configuredRule(agent, bridge string) *profiles.Rule {
	if a.Rule == nil {
		return nil
	}
	return a.Rule(agent, bridge)
}
