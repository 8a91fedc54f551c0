package profiles

// Shell decides a script. Deciding one needs the shell executor, which this
// build does not have, so every script is refused by name.
func (d *Decider) Shell(ShellAction) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell)
	}
	return d.deny(CodeExecutorUnavailable, &d.agent.Shell.Rule, "this build has no shell executor to read the script")
}
