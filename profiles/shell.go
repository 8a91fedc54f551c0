package profiles

import (
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/words"
)

// Shell decides a script as Environment.Script reads it.
func (d *Decider) Shell(a ShellAction) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell)
	}
	if d.script == nil {
		return d.deny(CodeExecutorUnavailable, &d.agent.Shell.Rule, "this build has no shell executor to read the script")
	}
	return d.script(d, a)
}

// Command decides a command whose words may be known in part. Unsettled is a Deny
// with CodeShellUnsettled: the final words may be looser. What the Judgement has
// in Scripts is to be read by the caller: before that an Allow is none.
func (d *Decider) Command(c command.Command) (Decision, command.Judgement) {
	if dec, closed := d.refuse(); closed {
		return dec, command.Judgement{}
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell), command.Judgement{}
	}
	argv := make([]string, len(c.Words))
	for i, w := range c.Words {
		if w.Open {
			return d.deny(CodeShellUnsettled, &d.agent.Shell.Rule, "not decided yet"), command.Judgement{}
		}
		argv[i] = w.Text
	}
	dec := d.Exec(ExecAction{Argv: argv})
	j := command.Judgement{}
	if dec.Verdict == Allow {
		j.Verdict, j.Path = command.Allow, argv[0]
	}
	return dec, j
}

// Approval is what people have to approve before a program starts; nil when the
// action is not one that Exec answers with Ask.
func (d *Decider) Approval(a ExecAction) *Approval {
	if d == nil || len(a.Argv) == 0 || d.binaries[a.Argv[0]] == nil {
		return nil
	}
	if ask := asked(d.binaries[a.Argv[0]], words.Split(a.Argv)); ask != nil {
		return &ask.Approval
	}
	return nil
}

// Redirect decides a file that a redirect of a script, or source, would open. Op is
// read, write, append or readwrite; a relative target stands below cwd. False: the
// target is known in part, and the final one decides; the Decision is a Deny.
func (d *Decider) Redirect(op string, target words.Word, cwd string) (Decision, bool) {
	if dec, closed := d.refuse(); closed {
		return dec, true
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell), true
	}
	return d.deny(CodeShellRedirect, &d.agent.Shell.Rule, "%s of %s below %s is not decided yet", clip(op), clip(target.Text), clip(cwd)), true
}

// Variable decides setting a variable.
func (d *Decider) Variable(a VariableAction) Decision {
	dec, _ := d.Assign(a.Name, words.Known(a.Value))
	return dec
}

// Assign decides setting a variable to a value that may be known in part. False:
// the final value decides; the Decision is a Deny.
func (d *Decider) Assign(name string, _ words.Word) (Decision, bool) {
	if dec, closed := d.refuse(); closed {
		return dec, true
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell), true
	}
	return d.deny(CodeVariable, &d.agent.Shell.Rule, "setting %s is not decided yet", clip(name)), true
}

// Builtin decides whether scripts have a builtin of the shell at all; its words
// are Command's to decide. False: the shell has no builtin of that name.
func (d *Decider) Builtin(name string) (Decision, bool) {
	if dec, closed := d.refuse(); closed {
		return dec, true
	}
	return d.deny(CodeShellBuiltin, nil, "%s is not decided yet", clip(name)), false
}
