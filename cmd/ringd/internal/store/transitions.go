package store

// Final reports whether a run in this state has ended.
func (s State) Final() bool {
	switch s {
	case Done, Denied, Failed, Limit, Cancelled, Unknown:
		return true
	case Asked, Started, CallOpen, Paused, Answered, Claimed, Executing:
		return false
	default:
		return false
	}
}

// Known reports whether s is a valid state.
func (s State) Known() bool { return s.Final() || s.live() }

func (s State) live() bool {
	return s.running() || s == Asked || s == Paused || s == Answered || s == Claimed
}

// running reports whether the run has a live program, which can make calls.
func (s State) running() bool { return s == Started || s == CallOpen || s == Executing }

// May reports whether Advance may move a run from s to next. Transitions that are not listed are not allowed.
func (s State) May(next State) bool {
	switch s {
	case Asked:
		return next == Started || (next.Final() && next != Done && next != Unknown)
	case Started:
		return next == CallOpen || next.Final()
	case Executing:
		return next == CallOpen || next == Paused || next.Final()
	case CallOpen:
		return next == Started || next == Paused || next.Final()
	case Paused:
		return next == Answered || (next.Final() && next != Done && next != Unknown)
	case Answered:
		return next == Claimed || (next.Final() && next != Done && next != Unknown)
	case Claimed:
		// Back to Answered: its claimer is gone and nothing was done.
		return next == Executing || next == Answered || (next.Final() && next != Done)
	default:
		return false
	}
}

// Known reports whether s is a valid state.
func (s CallState) Known() bool {
	return s == CallPending || s == CallExecuting || s == CallClosed || s == CallUnknown
}

// May reports whether a call may go from s to next.
func (s CallState) May(next CallState) bool {
	switch s {
	case CallPending:
		return next == CallExecuting || next == CallClosed
	case CallExecuting:
		return next == CallClosed || next == CallUnknown
	default:
		return false
	}
}

// Known reports whether a is a valid answerer.
func (a Answerer) Known() bool { return a == ByHost || a == ByApprover || a == ByHarness }
