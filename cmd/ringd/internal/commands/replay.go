// The replay repeats the decisions of an audit log under another policy. It knows what each kind of record
// holds. If a record does not hold enough, it reports that the decision cannot be repeated: a guess would be
// no proof. It writes nothing.

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

// replayConfig configures a replay.
type replayConfig struct {
	Log       string        // a folder of a log, a state folder, or a file of exported records
	Old       *profiles.Set // nil compares with the recorded decisions
	New       *profiles.Set
	Workspace string        // value of $WORKSPACE
	Home      string        // value of ~
	Agent     string        // empty means every agent
	Calls     *worker.Calls // evaluates guardrails and conditions; if nil, every call asks and no guardrail allows one
}

// maxGroups limits the groups of a replay.
const maxGroups = 500

// maxCount limits the number of decisions of one record. An exported record may contain any number, and sums
// must not overflow.
const maxCount = 1 << 40

// replay repeats every decision of the log, at the time of its record. An error is that of reading the log.
// ErrTampered is one of them, because an invalid log proves nothing.
func replay(ctx context.Context, cfg replayConfig) (*Impact, error) {
	r := &replayer{
		cfg:       cfg,
		executors: map[string]string{},
		groups:    map[Group]*Group{},
		decided:   map[decisionKey]outcome{},
		schemas:   jsonvalue.Known{},
		out:       &Impact{Log: cfg.Log, Counts: map[string]int{}, Groups: []Group{}},
	}
	for _, k := range []string{wouldAllow, wouldDeny, wouldAsk, Unchanged, notReplayable} {
		r.out.Counts[k] = 0
	}
	r.now = newSide(ctx, cfg.New, cfg)
	if cfg.Old != nil {
		r.old = newSide(ctx, cfg.Old, cfg)
	}
	head, err := eachRecord(ctx, cfg.Log, r.replayRecord)
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

// replayer is the state of a replay.
type replayer struct {
	cfg       replayConfig
	old, now  *replaySide
	executors map[string]string // by run
	groups    map[Group]*Group
	decided   map[decisionKey]outcome
	schemas   jsonvalue.Known
	out       *Impact
}

// replaySide is one of the two policies.
type replaySide struct {
	set      *profiles.Set
	env      profiles.Environment
	deciders map[string]*profiles.Decider
	script   bool // set if a decision needed the parse of a script
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

// decider returns the decider of an agent at a time, or false if the policy has no such agent.
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

// outcome is a repeated decision. If can is false, why says why the decision cannot be repeated.
type outcome struct {
	can     bool
	verdict profiles.Verdict
	why     string
}

func cannotRepeat(format string, args ...any) outcome {
	return outcome{why: fmt.Sprintf(format, args...)}
}

func outcomeOf(d profiles.Decision) outcome {
	return outcome{can: true, verdict: d.Verdict, why: fmt.Sprintf("%s: %s", d.Code, d.Reason)}
}

// decisionKey identifies equal decisions: all that a decision depends on, if the record has no full action.
type decisionKey struct {
	kind                            audit.Kind
	agent, capability, executor     string
	listener, method, path, answers string
	code                            profiles.Code
	second                          int64 // expiries are whole seconds
	old                             bool
}

// replayRecord repeats the decisions of one record.
func (r *replayer) replayRecord(e audit.Entry) {
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
				r.replayDecision(e.Seq, &one, 1)
			}
		}
	case audit.RunStarted:
		one := *rec
		one.Capability, one.Decision = "executor:"+r.executors[rec.Run], &audit.Decision{Verdict: profiles.Allow}
		r.replayDecision(e.Seq, &one, 1)
	case audit.RunRefused, audit.ImportDecided, audit.CallDecided, audit.CallOpened, audit.ExecDecided,
		audit.FileDecided, audit.VariableDecided,
		audit.EgressDecided, audit.EgressClosed, audit.EgressCounted, audit.RefusalsCounted, audit.ActionDecided:
		if rec.Decision != nil && rec.State != "loaded" {
			r.replayDecision(e.Seq, rec, decisionCount(rec))
		}
	}
}

// decisionCount returns the number of decisions of a record.
func decisionCount(rec *audit.Record) int {
	n, err := strconv.Atoi(rec.Detail["count"])
	if err != nil || n < 1 || n > maxCount {
		return 1
	}
	return n
}

// replayDecision repeats one decision, and counts it n times.
func (r *replayer) replayDecision(seq int64, rec *audit.Record, n int) {
	was := outcome{can: true, verdict: rec.Decision.Verdict}
	if rec.Detail["approved"] != "" {
		was.verdict = profiles.Ask // people had approved it
	}
	_, inOld := r.deciderOf(r.old, rec)
	is, inNew := r.decideCached(r.now, rec, false)
	switch {
	case rec.Agent == "":
		is = cannotRepeat("the record names no agent")
	case !inNew && inOld:
		is = outcome{can: true, verdict: profiles.Deny, why: "agent.unknown: the new policy has no agent " + rec.Agent}
	case !inNew:
		is = cannotRepeat("the new policy has no agent %s", rec.Agent)
	case r.old != nil && inOld:
		if again, _ := r.decideCached(r.old, rec, true); again.can {
			was = again // otherwise the recorded verdict counts
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

func (r *replayer) deciderOf(s *replaySide, rec *audit.Record) (*profiles.Decider, bool) {
	if s == nil {
		return nil, false
	}
	return s.decider(rec.Agent, rec.Time)
}

func (r *replayer) count(seq int64, g Group, n int) {
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

// decideCached decides under one policy, with a cache. It returns false if the policy has no such agent.
func (r *replayer) decideCached(s *replaySide, rec *audit.Record, old bool) (outcome, bool) {
	d, ok := r.deciderOf(s, rec)
	if !ok {
		return outcome{}, false
	}
	if rec.Full != nil {
		return r.decideRecord(s, d, rec), true
	}
	k := decisionKey{
		rec.Kind,
		rec.Agent,
		rec.Capability,
		r.executors[rec.Run],
		rec.Detail["door"],
		rec.Detail["method"],
		rec.Detail["path"],
		rec.Detail["answers"],
		rec.Decision.Code,
		rec.Time.Unix(),
		old,
	}
	if out, ok := r.decided[k]; ok {
		return out, true
	}
	if len(r.decided) > 100_000 {
		clear(r.decided)
	}
	out := r.decideRecord(s, d, rec)
	r.decided[k] = out
	return out, true
}

// decideRecord decides the action of a record.
func (r *replayer) decideRecord(s *replaySide, d *profiles.Decider, rec *audit.Record) outcome {
	kind, name, _ := strings.Cut(rec.Capability, ":")
	if rec.Claimed() && rec.Kind != audit.ImportDecided {
		return cannotRepeat("a guest refused it itself, and only the guest reported it")
	}
	switch rec.Kind {
	case audit.RunRefused, audit.RunStarted:
		return decideExecutor(d, kind, name, rec)
	case audit.ImportDecided:
		return r.decideImport(d, kind, name, rec)
	case audit.CallDecided, audit.CallOpened:
		if kind != "bridge" {
			return cannotRepeat("a record of %s has no call of a bridge", rec.Capability)
		}
		return r.decideCall(d, name, rec)
	case audit.EgressDecided, audit.EgressClosed, audit.EgressCounted:
		return decideEgress(d, name, rec)
	case audit.ExecDecided, audit.FileDecided, audit.VariableDecided:
		return decideAct(s, d, kind, name, rec)
	case audit.ActionDecided:
		return cannotRepeat("only a digest of the action is recorded")
	default:
		return cannotRepeat("records of this kind have no action")
	}
}

func decideExecutor(d *profiles.Decider, kind, name string, rec *audit.Record) outcome {
	if kind != "executor" || name == "" {
		return cannotRepeat("the record names no executor")
	}
	a := d.Profile()
	has := name == profiles.ExecutorJS && a.JS != nil || name == profiles.ExecutorPython && a.Python != nil ||
		name == profiles.ExecutorShell && a.Shell != nil
	switch {
	case !has:
		return outcome{can: true, why: fmt.Sprintf("%s: the policy does not grant the executor %s",
			profiles.CodeExecutorNotGranted, name)}
	case rec.Decision.Verdict == profiles.Deny && rec.Decision.Code != profiles.CodeExecutorNotGranted:
		return cannotRepeat("the run was refused by %s, which no policy decides", rec.Decision.Code)
	default:
		return outcome{can: true, verdict: profiles.Allow, why: "the policy grants the executor " + name}
	}
}

func (r *replayer) decideImport(d *profiles.Decider, kind, module string, rec *audit.Record) outcome {
	executor := cmp.Or(rec.Detail["executor"], r.executors[rec.Run])
	switch {
	case kind != "import" || module == "":
		return cannotRepeat("the record does not name the module")
	case executor == "":
		return cannotRepeat("the log does not name the executor of the run")
	default:
		return outcomeOf(d.Import(executor, module))
	}
}

// decideAct decides an act of a guest. The record has its words only with `audit: full`.
func decideAct(s *replaySide, d *profiles.Decider, kind, name string, rec *audit.Record) outcome {
	if rec.Full != nil {
		action, err := profiles.DecodeAction(rec.Full)
		if err != nil {
			return cannotRepeat("the action on record cannot be read: %s", err)
		}
		s.script = false
		dec := d.Decide(action)
		if s.script {
			return cannotRepeat("it starts a shell script, which a replay does not read")
		}
		return outcomeOf(dec)
	}
	if kind == "exec" && strings.HasPrefix(name, "/") {
		if dec := d.Exec(profiles.ExecAction{Argv: []string{name}}); dec.Code == profiles.CodeExecNotGranted ||
			dec.Code == profiles.CodeExecutorNotGranted {
			return outcomeOf(dec) // the same for any arguments
		}
	}
	if d.Profile().Shell == nil {
		return outcome{can: true, why: fmt.Sprintf("%s: the policy does not grant the executor shell",
			profiles.CodeExecutorNotGranted)}
	}
	return cannotRepeat("only its digest is recorded: set audit: full on the shell to record words and paths")
}

// replayReason describes an error of reading a log.
func replayReason(err error) string {
	if errors.Is(err, audit.ErrTampered) {
		return "the log is not valid, so its decisions cannot be repeated: " + err.Error()
	}
	return err.Error()
}
