package shellguest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell/preflight"
	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// run is one script.
type run struct {
	begun   bool // the script itself runs, or has run
	p       *process
	o       shellproto.Options
	source  string
	talk    *talk
	decider *profiles.Decider
	host    *host
	session *runner.State // the state to start from; if nil, a fresh one
	answers chan executors.Reply
	kept    *runner.State // the state of a session that has ended
}

// newRun makes a run. Its context ends with the connection.
func (p *process) newRun(
	ctx context.Context, o shellproto.Options, source string, asked uint64,
) (context.Context, *run) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{p: p, o: o, source: source}
	r.talk = newTalk(p.s, asked, cancel)
	r.decider = profiles.NewDecider(
		o.Agent, o.Revision, profiles.Environment{Workspace: o.Workspace, Home: o.Home, Now: p.cfg.Now()},
	)
	r.host = &host{
		talk: r.talk, decider: r.decider, base: r.environment(), most: o.Programs, atOnce: o.AtOnce,
		groups: map[int]bool{}, refused: map[recordedDenial]bool{},
	}
	return ctx, r
}

// environment returns the environment of the script at its start: the variables that every script has, those of
// the policy, and those for the proxy. No variable of the host is in it.
func (r *run) environment() []string {
	env := []string{
		"PATH=" + executors.Programs, "HOME=" + shellproto.Home, "TMPDIR=" + profiles.ScriptTemp, "USER=agent",
		"LOGNAME=agent",
		"LANG=C.UTF-8", "TERM=dumb",
	}
	var declared []string
	if sh := r.o.Agent.Shell; sh != nil {
		declared = sh.Env
	}
	for _, e := range slices.Concat(declared, r.p.cfg.Env, r.o.Env) {
		name, _, ok := strings.Cut(e, "=")
		if !ok || !shellproto.ValidName(name) || name == "GOMAXPROCS" || name == "GOTRACEBACK" ||
			name == "MALLOC_ARENA_MAX" {
			continue // of this process
		}
		env = slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		env = append(env, e)
	}
	return env
}

// begin decides the script and runs it. w holds the approvals that it has already waited for.
func (r *run) begin(ctx context.Context, w *waits) executors.Result {
	s, refusal := script.Parse(r.source)
	if refusal != nil {
		return r.denied([]profiles.Decision{unread(refusal, r.o.Revision)}, 0)
	}
	dir := r.dir()
	report := preflight.Check(
		ctx, s, preflight.Config{Decider: r.decider, Cwd: dir, Home: shellproto.Home, Functions: r.functions()},
	)
	switch report.Decision.Verdict {
	case profiles.Allow, profiles.Ask:
	case profiles.Deny:
		return r.denied(append(report.Refused, report.Decision)[:max(len(report.Refused), 1)], report.More)
	default:
		return r.denied(
			[]profiles.Decision{{Code: profiles.CodeShellUnsettled, Reason: "the script was not decided"}}, 0,
		)
	}
	if !isFolder(dir) {
		return r.denied([]profiles.Decision{
			{Code: profiles.CodeFileNotGranted, Revision: r.o.Revision, Instead: r.o.Places(),
				Reason: fmt.Sprintf(
					"the script cannot start in %s: no folder of that name is granted", short(dir, maxMessage),
				)}}, 0)
	}
	if err := r.approve(ctx, report.Asks, w); err != nil {
		return r.stopped(err)
	}
	r.begun = true
	res, err := runner.Run(ctx, r.config(dir), s)
	r.host.stop()
	out := r.ended(res, err)
	if out.State == executors.StateDone || out.State == executors.StateFailed {
		r.talk.settle()
	}
	return out
}

// dir is the folder in which the script begins.
func (r *run) dir() string {
	switch {
	case r.o.Dir != "":
		return r.o.Dir
	case r.session != nil && isFolder(r.session.Dir): // otherwise it was removed with the guest that made it
		return r.session.Dir
	}
	places := r.o.Places()
	for _, p := range places {
		if i, err := os.Stat(p); err == nil && i.IsDir() {
			return p
		}
	}
	return places[len(places)-1]
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (r *run) config(dir string) runner.Config {
	return runner.Config{
		Host: r.host, Decider: r.decider, Dir: dir, Env: r.host.base, State: r.session, Name: r.o.File,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, User: os.Getuid(), Now: r.p.cfg.Now,
		Check: func(ctx context.Context, s *script.Script, dir string, functions []string) profiles.Decision {
			return preflight.Check(
				ctx, s, preflight.Config{Decider: r.decider, Cwd: dir, Home: shellproto.Home, Functions: functions},
			).Decision
		},
		Limits: runner.Limits{Bytes: max(min(runner.DefaultBytes, r.o.Memory/4), 1)},
	}
}

// unread is the decision about a text that is no valid script.
func unread(f *script.Refusal, revision string) profiles.Decision {
	d := profiles.Decision{Code: f.Code, Reason: f.Reason, Instead: f.Instead, Revision: revision}
	if f.Line > 0 {
		d.Evidence = &profiles.Evidence{Line: f.Line, Column: f.Column}
	}
	return d
}

// errPause says that a snapshot of the script is to be taken.
var errPause = errors.New("the script is to stop before its start")

// approve asks for the approvals that the script will need, and waits for them.
func (r *run) approve(ctx context.Context, asks []preflight.Ask, w *waits) error {
	if w == nil {
		if len(asks) == 0 {
			return nil
		}
		w = &waits{}
		r.answers = make(chan executors.Reply, len(asks))
		for _, a := range asks[:min(len(asks), maxAsks)] {
			call, err := r.talk.put(profiles.Action{Exec: &a.Action}, true, r.answers)
			if err != nil {
				return err
			}
			w.Asks = append(w.Asks, awaited{Argv: a.Action.Argv, Call: call})
		}
	} else if !slices.EqualFunc(
		asks, w.Asks, func(a preflight.Ask, b awaited) bool { return slices.Equal(a.Action.Argv, b.Argv) },
	) {
		return errors.New("the script needs other approvals than it waited for")
	}
	for {
		open := 0
		for _, a := range w.Asks {
			if a.Call != 0 {
				open++
			}
		}
		if open == 0 {
			return nil
		}
		if err := r.talk.idle(); err != nil {
			return err
		}
		if err := r.await(ctx, w); err != nil {
			return err
		}
	}
}

// await waits for one answer, or for the request to pause.
func (r *run) await(ctx context.Context, w *waits) error {
	select {
	case reply := <-r.answers:
		return r.answered(w, reply)
	case m := <-r.talk.pause:
		for len(r.answers) > 0 { // answers that arrived before it
			if err := r.answered(w, <-r.answers); err != nil {
				return err
			}
		}
		if seen, asked := r.talk.counts(); m != (executors.Pause{Seen: seen, Asked: asked}) {
			return fmt.Errorf("%w: a pause of another moment", executors.ErrProtocol)
		}
		b, err := state{Waits: w}.encode()
		if err == nil {
			err = r.p.send(b)
		}
		if err != nil {
			return err
		}
		return errPause
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answered handles one answer.
func (r *run) answered(w *waits, reply executors.Reply) error {
	dec, err := decisionOf(reply)
	if err != nil {
		return err
	}
	if dec.Verdict != profiles.Allow {
		r.host.refused[recordedDenial{dec.Code, dec.Reason}] = true // nothing else runs yet
		return &profiles.Denial{Capability: "exec", Decision: dec}
	}
	for i := range w.Asks {
		if w.Asks[i].Call == reply.Call {
			w.Asks[i].Call = 0
		}
	}
	return nil
}

// goOn continues to wait for the approvals of a restored script.
func (r *run) goOn(w *waits) error {
	r.answers = make(chan executors.Reply, len(w.Asks))
	for _, a := range w.Asks {
		if a.Call > r.talk.asked {
			return fmt.Errorf("%w: call %d was never asked", errState, a.Call)
		}
		if a.Call != 0 {
			r.talk.open[a.Call] = r.answers // the reader has not started yet
		}
	}
	return nil
}

// stopped is the result of a script that did not begin.
func (r *run) stopped(err error) executors.Result {
	var denial *profiles.Denial
	switch {
	case errors.Is(err, errPause):
		return executors.Result{End: executors.End{State: executors.StatePaused}}
	case errors.As(err, &denial):
		return r.denied([]profiles.Decision{denial.Decision}, 0)
	default:
		return failed("GuestError", err.Error(), exitFailed)
	}
}

// exitFailed is the exit code of a script that could not be run.
const exitFailed = 125

// ended is the result of a script that has run.
func (r *run) ended(res runner.Result, err error) executors.Result {
	switch {
	case len(res.Refused) > 0:
		var all []profiles.Decision
		for _, f := range res.Refused {
			d := f.Decision
			if d.Evidence == nil {
				d.Evidence = &profiles.Evidence{}
			}
			e := *d.Evidence
			if e.Line == 0 {
				e.Line, e.Column = f.Line, f.Column
			}
			if len(e.Chain) == 0 {
				e.Chain = f.Chain
			}
			d.Evidence = &e
			all = append(all, d)
		}
		return r.denied(all, 0)
	case errors.Is(err, errPrograms):
		out := failed(
			"TooManyPrograms", fmt.Sprintf("the script has started %d programs, its limit", r.o.Programs), exitFailed,
		)
		out.State = executors.StateLimit
		return out
	case err != nil:
		return failed("GuestError", err.Error(), exitFailed)
	case res.Endless != "":
		out := failed("Endless", res.Endless, int(res.Exit))
		out.State = executors.StateLimit
		return out
	}
	r.kept = res.State
	if res.Exit != 0 {
		return failed("ExitStatus", fmt.Sprintf("the script ended with exit code %d", res.Exit), int(res.Exit))
	}
	return executors.Result{End: executors.End{State: executors.StateDone}, Value: []byte("null")}
}

// Limits of the content of a result.
const (
	maxDenials     = 64
	maxDenialBytes = 128 << 10
	maxMessage     = 16 << 10
)

// denied is the result of a denied script. The daemon has recorded its own denials. It recognises them by code
// and reason, and takes the text from here. more is the number of further denials.
func (r *run) denied(all []profiles.Decision, more int64) executors.Result {
	first := all[0]
	frame := executors.Frame{File: short(r.o.File, maxNameBytes)}
	if e := first.Evidence; e != nil {
		frame.Line, frame.Column = e.Line, e.Column
	}
	out := failed(profiles.ErrorCapabilityDenied, string(first.Code)+": "+first.Reason, profiles.ExitRefused)
	out.State = executors.StateDenied
	at := shellproto.RefusalPlace{Script: string(r.source), Begun: r.begun}
	at.Ran, at.More = r.host.ran()
	// A reader of the streams alone, as is usual for commands, sees it too.
	fmt.Fprintln(os.Stderr, shellproto.RefusalText(first, at))
	out.Error.Frames = []executors.Frame{frame}
	told := profiles.Refusals{More: more}
	for _, d := range all {
		d.Verdict = profiles.Deny
		c := clip(d)
		if c.Reason != d.Reason && r.host.recorded(d) {
			continue // the daemon would not recognise it
		}
		told.Add(c, maxDenials)
	}
	size := 0
	for _, d := range told.List {
		d.Text = shellproto.RefusalText(d, at)
		b, err := json.Marshal(d)
		if size += len(b); err != nil || size > maxDenialBytes {
			told.Beyond(max(d.Count, 1))
			continue
		}
		out.Denials = append(out.Denials, d)
	}
	out.Refused = told.More
	return out
}

// clip truncates a decision that holds words of the script.
func clip(d profiles.Decision) profiles.Decision {
	const words, bytes = 64, 4 << 10
	d.Reason = short(d.Reason, bytes)
	if d.Evidence == nil {
		return d
	}
	e := *d.Evidence
	e.Argv = slices.Clone(e.Argv[:min(len(e.Argv), words)])
	for i := range e.Argv {
		e.Argv[i] = short(e.Argv[i], bytes)
	}
	e.Chain = e.Chain[:min(len(e.Chain), words)]
	d.Evidence = &e
	return d
}

func failed(name, message string, exit int) executors.Result {
	return executors.Result{End: executors.End{
		State: executors.StateFailed, ExitCode: exit,
		Error: &executors.ProgramError{Name: name, Message: short(message, maxMessage)},
	}}
}

func short(s string, n int) string { return canonjson.Truncate(strings.ToValidUTF8(s, "\uFFFD"), n) }

// adopt continues with the state of a session. The commands in its functions are decided when they are called,
// as all others.
func (r *run) adopt(s *runner.State) error {
	for name, text := range s.Functions {
		read, refusal := script.Parse(text)
		if refusal != nil {
			return fmt.Errorf("%w: the function %s: %w", errState, name, refusal)
		}
		if !read.Defines(name) {
			return fmt.Errorf("%w: the text of %s is no function of that name", errState, name)
		}
	}
	r.session = s
	return nil
}

// functions returns the names of the session's functions.
func (r *run) functions() []string {
	if r.session == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.session.Functions))
}

// finish sends the state of a session, and the result.
func (r *run) finish(res executors.Result) error {
	if r.o.Keep && res.State != executors.StatePaused {
		if err := r.keep(&res); err != nil {
			return err
		}
	}
	return r.p.s.Send(res)
}

// keep sends the state of a script that ended cleanly. Otherwise it records the reason, and the state that was
// kept before stays valid.
func (r *run) keep(res *executors.Result) error {
	if r.kept == nil {
		res.Unkept = "the script did not end cleanly"
		return nil
	}
	b, err := state{Session: r.kept}.encode()
	if err != nil {
		res.Unkept = short(err.Error(), maxFailure)
		return nil
	}
	return r.p.send(b)
}
