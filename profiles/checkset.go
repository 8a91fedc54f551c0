package profiles

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"
)

// maxMillis is the longest duration of a time.Duration, in milliseconds.
const maxMillis = int64(math.MaxInt64 / time.Millisecond)

// CheckSet returns the reason why a set cannot have come from the compiler, or nil. If there are several,
// it returns the first in the order of agent names. Signed sets are applied without compiling, so
// combinations that the compiler never writes must be rejected here: a grant of an unapproved exception, an
// agent under another agent's name, an unknown mode. The error names the agent and quotes nothing else.
// Package trust calls it. Whether the host can enforce the set is decided by the rings.
func CheckSet(set *Set) error {
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		if !agentName.MatchString(name) || a.Name != name {
			return fmt.Errorf("agent %.70q: the name is invalid, or differs from its key in the set", name)
		}
		if err := checkAgent(&a); err != nil {
			return fmt.Errorf("agent %s: %w", name, err)
		}
	}
	return nil
}

var (
	agentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	owner     = regexp.MustCompile(`^(user|group|team):[^\s]+$`)
)

func checkAgent(a *Agent) error {
	switch a.Mode {
	case ModeEnforce:
		if a.Strict != nil {
			return fmt.Errorf("mode enforce with a strict profile of mode audit")
		}
	case ModeAudit:
		if err := checkStrict(a); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown mode %.20q", a.Mode)
	}
	if err := checkExceptions(a); err != nil {
		return err
	}
	return checkLimits(a)
}

// checkStrict checks Strict, the profile that mode enforce would use instead of mode audit. Strict must
// have the same exceptions as the agent.
func checkStrict(a *Agent) error {
	s := a.Strict
	if s == nil || s.Mode != ModeEnforce || s.Strict != nil || s.Name != a.Name {
		return fmt.Errorf("mode audit without a valid strict profile")
	}
	same := func(x, y Exception) bool {
		return x.ID == y.ID && x.Expires.Equal(y.Expires) && slices.Equal(x.ApprovedBy, y.ApprovedBy)
	}
	if !slices.EqualFunc(s.Exceptions, a.Exceptions, same) {
		return fmt.Errorf("mode audit, but the strict profile has other exceptions")
	}
	return checkAgent(s)
}

// checkExceptions checks that each grant of an exception expires when the exception expires, and that the
// exception is approved.
func checkExceptions(a *Agent) error {
	ends := map[string]time.Time{}
	for _, e := range a.Exceptions {
		if _, twice := ends[e.ID]; twice || e.ID == "" {
			return fmt.Errorf("exception %.40q is repeated or has no ID", e.ID)
		}
		if slices.ContainsFunc(e.ApprovedBy, func(by string) bool { return !owner.MatchString(by) }) {
			return fmt.Errorf("exception %.40q: an approver is not a user, group or team", e.ID)
		}
		ends[e.ID] = e.Expires
	}
	for id, end := range expiries(a) {
		until, listed := ends[id]
		switch {
		case id == "":
		case !listed:
			return fmt.Errorf("a grant of exception %.40q, which is not listed", id)
		case end == nil || end.After(until):
			return fmt.Errorf("a grant of exception %.40q that outlasts it", id)
		}
	}
	return nil
}

// checkLimits checks that every limit is valid. nil is the executor's default.
func checkLimits(a *Agent) error {
	all := []Limits{a.Limits}
	if a.JS != nil {
		all = append(all, a.JS.Limits)
	}
	if a.Python != nil {
		all = append(all, a.Python.Limits)
	}
	if a.Shell != nil {
		all = append(all, a.Shell.Limits)
	}
	for _, l := range all {
		for _, n := range []*int64{l.CPUMillis, l.WallMillis, l.PauseMillis} {
			if n != nil && *n > maxMillis {
				return fmt.Errorf("a limit of %d milliseconds is too large", *n)
			}
		}
		for _, n := range []*int64{l.CPUMillis, l.MemoryBytes, l.WallMillis, l.OutputBytes, l.ResultBytes, l.StackBytes,
			l.Processes, l.Files, l.RefusedCalls, l.PauseMillis} {
			if n != nil && *n < 0 {
				return fmt.Errorf("a limit is negative")
			}
		}
	}
	return nil
}
