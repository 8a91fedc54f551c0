package profiles

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// maxArgs bounds the words of one exec action.
const maxArgs = 4096

// Exec decides starting one program with its final words: argv[0] is its absolute
// path or the name of a listed one, and no denied pattern and no rule of the
// program matches the words. What it would start by its words is decided as well.
// A listed shell is interpreted, never started; the text that another program would
// hand to it is allowed only as Environment.Script decides.
//
// Where the options of a program are not known, a denied pattern matches rather
// than not. An answer that is no Deny says in Start what is started.
func (d *Decider) Exec(a ExecAction) Decision {
	if dec, closed := d.noShell(); closed {
		return dec
	}
	j, dec := d.judgeExec(a)
	if dec.Verdict == Deny {
		return dec
	}
	if j.Path == "" {
		return d.evident(a, d.deny(CodeShellOpaque, &d.agent.Shell.Rule,
			"%s is a shell: the shell executor interprets what it is given, and never starts it", clip(a.Argv[0])))
	}
	for _, s := range j.Scripts {
		if refused := d.nested(s, a.Cwd); refused.Verdict != Allow {
			return d.evident(a, refused)
		}
	}
	argv, env, at, ok := command.Force(a.Argv, j.Program, j.Nested, func(i int) command.Forced {
		return command.Forced{Args: d.agent.Shell.Binaries[i].ForceArgs, Env: d.agent.Shell.Binaries[i].ForceEnv}
	})
	if !ok {
		b := &d.agent.Shell.Binaries[at]
		return d.evident(a, d.deny(CodeShellStarts, &b.Rule, "what the policy forces on %s cannot be put in where %s starts it", b.Path, clip(a.Argv[0])))
	}
	dec.Start = &Start{Path: j.Path, Argv: argv, Env: env}
	return dec
}

// judgeExec decides the words and the environment.
func (d *Decider) judgeExec(a ExecAction) (command.Judgement, Decision) {
	none := command.Judgement{}
	if len(a.Argv) == 0 || len(a.Argv) > maxArgs {
		return none, d.deny(CodeActionMalformed, nil, "argv has %d words", len(a.Argv))
	}
	if slices.ContainsFunc(a.Argv, func(w string) bool { return strings.IndexByte(w, 0) >= 0 }) {
		return none, d.deny(CodeActionMalformed, nil, "argv holds a NUL byte")
	}
	c := argv.Command{Words: argv.AllKnown(a.Argv), Outside: true}
	var forced []string
	if at, ok := d.shell.rules.Find(a.Argv[0]); ok {
		forced = d.agent.Shell.Binaries[at].ForceEnv
	}
	for _, e := range a.Env {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.IndexByte(e, 0) >= 0 {
			return none, d.deny(CodeActionMalformed, nil, "env holds NAME=value")
		}
		if !slices.Contains(forced, e) {
			c.Set = append(c.Set, argv.Assignment{Name: name, Value: argv.Known(value)})
		}
	}
	j := d.shell.rules.Judge(c)
	return j, d.judged(j)
}

// nested decides text that the program would hand to a shell.
func (d *Decider) nested(s argv.Script, cwd string) Decision {
	text, ok := s.Standalone()
	if ok && d.script != nil {
		return d.script(d, ShellAction{Script: text, Cwd: cwd})
	}
	reason, instead := s.Unread()
	dec := d.deny(CodeShellOpaque, &d.agent.Shell.Rule, "%s", reason)
	dec.Instead = instead
	return dec
}

// evident adds the words to a refusal that has none.
func (d *Decider) evident(a ExecAction, dec Decision) Decision {
	if dec.Evidence == nil {
		dec.Evidence = &Evidence{Argv: a.Argv}
	}
	return dec
}

// Approval says who is to approve a start that Exec answers with Ask; nil for
// another.
func (d *Decider) Approval(a ExecAction) *Approval {
	if _, closed := d.noShell(); closed {
		return nil
	}
	j, dec := d.judgeExec(a)
	if dec.Verdict != Ask {
		return nil
	}
	if rule := d.asked(j.Finding); rule != nil {
		return &rule.Approval
	}
	return nil
}
