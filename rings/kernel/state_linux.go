package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// The states of a ring that State returns, in the words of the API.
const (
	stateReady   = "ready"
	statePlain   = "plain" // guests have no layers
	stateClosed  = "closed"
	stateRestart = "restart_needed"
)

// State returns the state of the ring and the reason. "ready" is normal, also before the first guest. "plain":
// the host does not give the layers; the reason includes the remedy. "closed": the host reported a layer that
// it did not give. "restart_needed": the named guests go on with less than the policy in force grants. State
// does not wait, and starts nothing.
func (r *Ring) State() (state, reason string) {
	r.mu.Lock()
	found, closed := r.found, r.closed
	r.mu.Unlock()
	switch {
	case closed:
		return stateClosed, ErrClosed.Error()
	case found != nil && found.kind == initproto.KindLies:
		return stateClosed, "nothing is started: " + withRemedy(found.report)
	case found != nil && found.kind != "":
		return statePlain, "guests have no layers: " + withRemedy(found.report)
	}
	if over := namesOfRestart(r.Status()); len(over) > 0 {
		return stateRestart, "with less than the policy in force grants continues " + strings.Join(over, ", ")
	}
	return stateReady, ""
}

// Lacks says which layer this host does not give guests, why, and what would help. It is empty if the host
// gives all of them or if it was not examined yet. It does not wait.
func (r *Ring) Lacks() (reason, remedy string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil || r.found.kind == "" {
		return "", ""
	}
	report := r.found.report
	return fmt.Sprintf("layer %s: %s", report.Failed, report.Reason), report.Remedy
}

func withRemedy(r initproto.Report) string {
	s := fmt.Sprintf("layer %s: %s", r.Failed, r.Reason)
	if r.Remedy != "" {
		s += "; " + r.Remedy
	}
	return s
}

// maxNamed limits how many guests a state names.
const maxNamed = 8

// namesOfRestart names the guests that have less than the policy in force grants.
func namesOfRestart(all []Live) []string {
	var out []string
	for _, l := range all {
		if !l.Restart {
			continue
		}
		name := l.Executor + " of " + l.Agent
		if l.Run != "" {
			name += " (run " + l.Run + ")"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxNamed {
		out = append(out[:maxNamed], fmt.Sprintf("%d more", len(out)-maxNamed))
	}
	return out
}
