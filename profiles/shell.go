package profiles

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

// Variable decides setting a variable.
func (d *Decider) Variable(a VariableAction) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell)
	}
	return d.deny(CodeVariable, &d.agent.Shell.Rule, "setting %s is not decided yet", clip(a.Name))
}
