package profiles

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// maxArgs is the largest number of arguments of an exec action, including the program's name.
const maxArgs = 4096

// Exec decides the start of one program with its final arguments. argv[0] is the absolute path or the name
// of a listed program. If a denied pattern or a rule of the program matches the arguments, the start is
// denied. Some arguments make the program start other programs, and those starts are decided as well. A
// listed shell is interpreted, never started. Program text for another interpreter is allowed only if
// Environment.Script allows it.
//
// If it is unknown which options a program has, a denied pattern matches in case of doubt. If the decision
// does not deny, its Start has the program start.
func (d *Decider) Exec(a ExecAction) Decision {
	if dec, closed := d.noShell(); closed {
		return dec
	}
	return execution{d, a}.decide()
}

// execution is one exec action that is being decided.
type execution struct {
	*Decider
	ExecAction
}

func (e execution) decide() Decision {
	j, dec := e.judge()
	if dec.Verdict == Deny {
		return dec
	}
	if j.Path == "" {
		return e.withEvidence(e.deny(CodeShellOpaque, &e.agent.Shell.Rule,
			"%s is a shell: the shell executor interprets what it is given, and never starts it", clip(e.Argv[0])))
	}
	for _, s := range j.Scripts {
		if refused := e.nestedScript(s); refused.Verdict != Allow {
			return e.withEvidence(refused)
		}
	}
	binaries := e.agent.Shell.Binaries
	argv, env, at, ok := command.Force(e.Argv, j.Program, j.Nested, func(i int) command.Forced {
		return command.Forced{Args: binaries[i].ForceArgs, Env: binaries[i].ForceEnv}
	})
	if !ok {
		b := &binaries[at]
		return e.withEvidence(e.deny(CodeShellStarts, &b.Rule,
			"the arguments that the policy forces on %s cannot be inserted when %s starts it",
			b.Path, clip(e.Argv[0])))
	}
	dec.Start = &Start{Path: j.Path, Argv: argv, Env: env}
	return dec
}

// judge decides the arguments and the environment.
func (e execution) judge() (command.Judgement, Decision) {
	none := command.Judgement{}
	if len(e.Argv) == 0 || len(e.Argv) > maxArgs {
		return none, e.deny(CodeActionMalformed, nil, "argv has %d words", len(e.Argv))
	}
	if slices.ContainsFunc(e.Argv, func(w string) bool { return strings.IndexByte(w, 0) >= 0 }) {
		return none, e.deny(CodeActionMalformed, nil, "argv holds a NUL byte")
	}
	c := argv.Command{Words: argv.AllKnown(e.Argv), Outside: true}
	var forced []string
	if at, ok := e.shell.rules.Find(e.Argv[0]); ok {
		forced = e.agent.Shell.Binaries[at].ForceEnv
	}
	for _, set := range e.Env {
		name, value, ok := strings.Cut(set, "=")
		if !ok || name == "" || strings.IndexByte(set, 0) >= 0 {
			return none, e.deny(CodeActionMalformed, nil, "env holds NAME=value")
		}
		if !slices.Contains(forced, set) {
			c.Set = append(c.Set, argv.Assignment{Name: name, Value: argv.Known(value)})
		}
	}
	j := e.shell.rules.Judge(c)
	return j, shellJudgement{e.Decider, j}.decision()
}

// nestedScript decides a script that the program would pass to a shell.
func (e execution) nestedScript(s argv.Script) Decision {
	text, ok := s.Standalone()
	if ok && e.script != nil {
		return e.script(e.Decider, ShellAction{Script: text, Cwd: e.Cwd})
	}
	reason, instead := s.Unread()
	dec := e.deny(CodeShellOpaque, &e.agent.Shell.Rule, "%s", reason)
	dec.Instead = instead
	return dec
}

// withEvidence adds the action's arguments to a denial as its evidence, unless the denial has evidence.
func (e execution) withEvidence(dec Decision) Decision {
	if dec.Evidence == nil {
		dec.Evidence = &Evidence{Argv: e.Argv}
	}
	return dec
}

// Approval returns the approval that a start needs, or nil unless Exec decides Ask.
func (d *Decider) Approval(a ExecAction) *Approval {
	if _, closed := d.noShell(); closed {
		return nil
	}
	j, dec := execution{d, a}.judge()
	if dec.Verdict != Ask {
		return nil
	}
	if rule := d.agent.Shell.askRule(j.Finding); rule != nil {
		return &rule.Approval
	}
	return nil
}
