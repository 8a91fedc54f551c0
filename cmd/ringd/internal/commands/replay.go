// This file makes the decisions of an audit log again, under another policy. It
// knows what each kind of record holds, and says of what it does not hold that the
// decision cannot be made again: a guess would be no proof. It writes nothing.

package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// replayConfig is a replay.
type replayConfig struct {
	Log       string        // a folder of a log, a state folder, or a file of exported records
	Old       *profiles.Set // nil: what is on record is what was decided
	New       *profiles.Set
	Workspace string        // what $WORKSPACE stands for
	Home      string        // what ~ stands for
	Agent     string        // "": those of every agent
	Calls     *worker.Calls // what is asked about calls; nil: all of them ask, and no guardrail lets one pass
}

// maxGroups bounds what a replay tells apart.
const maxGroups = 500

// maxCount bounds how many decisions one record stands for. An exported record may say
// anything, and sums must not overflow.
const maxCount = 1 << 40

// replay makes every decision of the log again, at the time of its record. An error is
// that of reading the log; ErrTampered is among them: a log that does not hold proves
// nothing.
func replay(ctx context.Context, cfg replayConfig) (*Impact, error) {
	r := &replayReplay{cfg: cfg, executors: map[string]string{}, groups: map[Group]*Group{}, known: map[known]outcome{},
		schemas: jsonvalue.Known{},
		out:     &Impact{Log: cfg.Log, Counts: map[string]int{}, Groups: []Group{}}}
	for _, k := range []string{wouldAllow, wouldDeny, wouldAsk, Unchanged, notReplayable} {
		r.out.Counts[k] = 0
	}
	r.now = newSide(ctx, cfg.New, cfg)
	if cfg.Old != nil {
		r.old = newSide(ctx, cfg.Old, cfg)
	}
	head, err := each(ctx, cfg.Log, r.record)
	if err != nil {
		return nil, err
	}
	r.out.Head = head
	for _, g := range r.groups {
		r.out.Groups = append(r.out.Groups, *g)
	}
	order := []string{wouldAllow, wouldAsk, wouldDeny, notReplayable, Unchanged}
	slices.SortFunc(r.out.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Result), slices.Index(order, b.Result)),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Capability, b.Capability), cmp.Compare(a.Why, b.Why))
	})
	return r.out, nil
}

// replay is the state of one.
type replayReplay struct {
	cfg       replayConfig
	old, now  *replaySide
	executors map[string]string // by run
	groups    map[Group]*Group
	known     map[known]outcome
	schemas   jsonvalue.Known
	out       *Impact
}

// side is one policy that decides.
type replaySide struct {
	set      *profiles.Set
	env      profiles.Environment
	deciders map[string]*profiles.Decider
	script   bool // a script would have to be read
}

func newSide(ctx context.Context, set *profiles.Set, cfg replayConfig) *replaySide {
	s := &replaySide{set: set, deciders: map[string]*profiles.Decider{}}
	s.env = profiles.Environment{Workspace: cfg.Workspace, Home: cfg.Home, Condition: cfg.Calls.Condition(ctx),
		Guardrail: cfg.Calls.Guardrail(ctx),
		Script: func(*profiles.Decider, profiles.ShellAction) profiles.Decision {
			s.script = true
			return profiles.Decision{Code: profiles.CodeShellOpaque}
		}}
	return s
}

// decider is that of an agent at a time; false: the policy has no such agent.
func (s *replaySide) decider(agent string, at time.Time) (*profiles.Decider, bool) {
	if _, ok := s.set.Agent(agent); !ok {
		return nil, false
	}
	d := s.deciders[agent]
	if d == nil {
		d = s.set.Decider(agent, s.env)
		s.deciders[agent] = d
	}
	return d.At(at), true
}

// outcome is one decision made again; a why without a verdict cannot be.
type outcome struct {
	can     bool
	verdict profiles.Verdict
	why     string
}

func no(format string, args ...any) outcome { return outcome{why: fmt.Sprintf(format, args...)} }

func did(d profiles.Decision) outcome {
	return outcome{can: true, verdict: d.Verdict, why: fmt.Sprintf("%s: %s", d.Code, d.Reason)}
}

// known is what a decision depends on that is not in full on record.
type known struct {
	kind                        audit.Kind
	agent, capability, executor string
	door, method, path, answers string
	code                        profiles.Code
	second                      int64 // expiries are whole seconds
	old                         bool
}

// record takes one record.
func (r *replayReplay) record(e audit.Entry) {
	r.out.Records++
	rec := &e.Record
	if r.cfg.Agent != "" && rec.Agent != r.cfg.Agent {
		return
	}
	if name, ok := strings.CutPrefix(rec.Capability, "executor:"); ok && rec.Run != "" {
		r.executors[rec.Run] = name
	} else if name := rec.Detail["executor"]; name != "" && rec.Kind == audit.RunStarted {
		r.executors[rec.Run] = name
	}
	switch rec.Kind {
	case audit.RunEnded:
		if list := rec.Detail["imports"]; list != "" {
			for module := range strings.SplitSeq(list, ",") {
				one := *rec
				one.Kind, one.Capability, one.Decision = audit.ImportDecided, "import:"+module,
					&audit.Decision{Verdict: profiles.Allow}
				r.decision(e.Seq, &one, 1)
			}
		}
	case audit.RunStarted:
		one := *rec
		one.Capability, one.Decision = "executor:"+r.executors[rec.Run], &audit.Decision{Verdict: profiles.Allow}
		r.decision(e.Seq, &one, 1)
	case audit.RunRefused, audit.ImportDecided, audit.CallDecided, audit.CallOpened, audit.ExecDecided,
		audit.FileDecided, audit.VariableDecided,
		audit.EgressDecided, audit.EgressClosed, audit.EgressCounted, audit.RefusalsCounted, audit.ActionDecided:
		if rec.Decision != nil && rec.State != "loaded" {
			r.decision(e.Seq, rec, times(rec))
		}
	}
}

// times is how many decisions a record stands for.
func times(rec *audit.Record) int {
	n, err := strconv.Atoi(rec.Detail["count"])
	if err != nil || n < 1 || n > maxCount {
		return 1
	}
	return n
}

// decision makes one decision again, and counts it.
func (r *replayReplay) decision(seq int64, rec *audit.Record, n int) {
	was := outcome{can: true, verdict: rec.Decision.Verdict}
	if rec.Detail["approved"] != "" {
		was.verdict = profiles.Ask // people had let it
	}
	_, inOld := r.agent(r.old, rec)
	is, inNew := r.make(r.now, rec, false)
	switch {
	case rec.Agent == "":
		is = no("the record names no agent")
	case !inNew && inOld:
		is = outcome{can: true, verdict: profiles.Deny, why: "agent.unknown: the new policy has no agent " + rec.Agent}
	case !inNew:
		is = no("the new policy has no agent %s", rec.Agent)
	case r.old != nil && inOld:
		if again, _ := r.make(r.old, rec, true); again.can {
			was = again // else what is on record stands for it
		}
	}
	g := Group{Result: notReplayable, Agent: rec.Agent, Capability: rec.Capability, Was: was.verdict.String(),
		Why: is.why}
	if is.can {
		g.Now, g.Result = is.verdict.String(), Unchanged
		switch is.verdict {
		case was.verdict:
			g.Why = ""
		case profiles.Allow:
			g.Result = wouldAllow
		case profiles.Ask:
			g.Result = wouldAsk
		case profiles.Deny:
			fallthrough
		default:
			g.Result = wouldDeny
		}
	}
	r.count(seq, g, n)
}

func (r *replayReplay) agent(s *replaySide, rec *audit.Record) (*profiles.Decider, bool) {
	if s == nil {
		return nil, false
	}
	return s.decider(rec.Agent, rec.Time)
}

func (r *replayReplay) count(seq int64, g Group, n int) {
	r.out.Decisions += n
	r.out.Counts[g.Result] += n
	if r.groups[g] == nil && len(r.groups) >= maxGroups {
		g = Group{Result: g.Result, Capability: "others"}
	}
	if r.groups[g] == nil {
		first := g
		first.Example = seq
		r.groups[g] = &first
	}
	r.groups[g].Count += n
}

// make decides under one policy; false: it has no such agent.
func (r *replayReplay) make(s *replaySide, rec *audit.Record, old bool) (outcome, bool) {
	d, ok := r.agent(s, rec)
	if !ok {
		return outcome{}, false
	}
	if rec.Full != nil {
		return r.again(s, d, rec), true
	}
	k := known{rec.Kind, rec.Agent, rec.Capability, r.executors[rec.Run], rec.Detail["door"], rec.Detail["method"],
		rec.Detail["path"], rec.Detail["answers"], rec.Decision.Code, rec.Time.Unix(), old}
	if out, ok := r.known[k]; ok {
		return out, true
	}
	if len(r.known) > 100_000 {
		clear(r.known)
	}
	out := r.again(s, d, rec)
	r.known[k] = out
	return out, true
}

// again decides what a record is about.
func (r *replayReplay) again(s *replaySide, d *profiles.Decider, rec *audit.Record) outcome {
	kind, name, _ := strings.Cut(rec.Capability, ":")
	if rec.Claimed() && rec.Kind != audit.ImportDecided {
		return no("a guest refused it itself, and only the guest reported it")
	}
	switch rec.Kind {
	case audit.RunRefused, audit.RunStarted:
		return executor(d, kind, name, rec)
	case audit.ImportDecided:
		return r.imported(d, kind, name, rec)
	case audit.CallDecided, audit.CallOpened:
		if kind != "bridge" {
			return no("a record of %s has no call of a bridge", rec.Capability)
		}
		return r.call(d, name, rec)
	case audit.EgressDecided, audit.EgressClosed, audit.EgressCounted:
		return reached(d, name, rec)
	case audit.ExecDecided, audit.FileDecided, audit.VariableDecided:
		return act(s, d, kind, name, rec)
	case audit.ActionDecided:
		return no("only a digest of the action is recorded")
	default:
		return no("records of this kind have no action")
	}
}

func executor(d *profiles.Decider, kind, name string, rec *audit.Record) outcome {
	if kind != "executor" || name == "" {
		return no("the record names no executor")
	}
	a := d.Profile()
	has := name == profiles.ExecutorJS && a.JS != nil || name == profiles.ExecutorPython && a.Python != nil ||
		name == profiles.ExecutorShell && a.Shell != nil
	switch {
	case !has:
		return outcome{can: true, why: fmt.Sprintf("%s: the policy does not grant the executor %s",
			profiles.CodeExecutorNotGranted, name)}
	case rec.Decision.Verdict == profiles.Deny && rec.Decision.Code != profiles.CodeExecutorNotGranted:
		return no("the run was refused by %s, which no policy decides", rec.Decision.Code)
	default:
		return outcome{can: true, verdict: profiles.Allow, why: "the policy grants the executor " + name}
	}
}

func (r *replayReplay) imported(d *profiles.Decider, kind, module string, rec *audit.Record) outcome {
	executor := cmp.Or(rec.Detail["executor"], r.executors[rec.Run])
	switch {
	case kind != "import" || module == "":
		return no("the record does not name the module")
	case executor == "":
		return no("the log does not name the executor of the run")
	default:
		return did(d.Import(executor, module))
	}
}

// act decides what a guest did itself: its words are on record with audit: full alone.
func act(s *replaySide, d *profiles.Decider, kind, name string, rec *audit.Record) outcome {
	if rec.Full != nil {
		action, err := profiles.DecodeAction(rec.Full)
		if err != nil {
			return no("the action on record cannot be read: %s", err)
		}
		s.script = false
		dec := d.Decide(action)
		if s.script {
			return no("it starts a shell script, which a replay does not read")
		}
		return did(dec)
	}
	if kind == "exec" && strings.HasPrefix(name, "/") {
		if dec := d.Exec(profiles.ExecAction{Argv: []string{name}}); dec.Code == profiles.CodeExecNotGranted ||
			dec.Code == profiles.CodeExecutorNotGranted {
			return did(dec) // whatever its words were
		}
	}
	if d.Profile().Shell == nil {
		return outcome{can: true, why: fmt.Sprintf("%s: the policy does not grant the executor shell",
			profiles.CodeExecutorNotGranted)}
	}
	return no("only its digest is recorded: set audit: full on the shell to record words and paths")
}

// replayReason words an error of reading a log for people.
func replayReason(err error) string {
	if errors.Is(err, audit.ErrTampered) {
		return "the log is not valid, so its decisions cannot be repeated: " + err.Error()
	}
	return err.Error()
}
