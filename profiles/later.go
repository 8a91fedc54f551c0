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

// Egress decides reaching a host. What can be said without reading the request
// is said; the rest needs the egress ring, which this build does not have.
func (d *Decider) Egress(EgressAction) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	e := &d.agent.Egress
	switch e.Mode {
	case EgressGatewayOnly:
	case EgressAllowlist:
		if len(e.Allow) == 0 {
			return d.deny(CodeEgressNotGranted, &e.Rule, "the policy lists no host")
		}
	default:
		return d.deny(CodeEgressOff, &e.Rule, "the policy gives no network")
	}
	return d.deny(CodeRingUnavailable, &e.Rule, "this build has no egress ring to decide and hold the connection")
}
