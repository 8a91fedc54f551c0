package render

import (
	"fmt"

	"github.com/ringd/ringd/profiles"
)

// The states of a layer.
const (
	LayerEnforced    = "enforced"
	LayerPartly      = "best-effort"
	LayerUnavailable = "unavailable"
)

// Layer is one thing that stands between a program and the host.
type Layer struct {
	Name     string `json:"name"`
	State    string `json:"state"`    // enforced | best-effort | unavailable
	Required bool   `json:"required"` // the default profile needs it
	Reason   string `json:"reason"`
	Fix      string `json:"fix,omitempty"`
}

// Health is what this host can enforce.
type Health struct {
	Enforceable bool    `json:"enforceable"` // the default profile
	Tier        string  `json:"tier"`        // the strongest that a guest gets
	Layers      []Layer `json:"layers"`
}

// Add adds a layer.
func (h *Health) Add(l Layer) {
	h.Layers = append(h.Layers, l)
	if l.Required && l.State != LayerEnforced {
		h.Enforceable = false
	}
}

// LayerOf words a layer of the kernel ring.
func LayerOf(name, state string) Layer {
	known := map[string]struct{ holds, fix string }{
		"process":      {"every guest is a process of its own", ""},
		"environment":  {"the environment of a guest is empty", ""},
		"descriptors":  {"a guest has one descriptor, its connection", ""},
		"rlimits":      {"processor time, memory, files and descriptors of a guest are bounded by the kernel", ""},
		"no_new_privs": {"a guest cannot gain privileges by exec", ""},
		"parent_death": {"a guest dies with the daemon", ""},
		"namespaces":   {"own user, mount, network and process namespaces", "not in this version"},
		"mounts":       {"a file tree of its own", "not in this version"},
		"landlock":     {"files by Landlock rules", "not in this version"},
		"seccomp":      {"a list of system calls", "not in this version"},
		"cgroups":      {"memory and processes by control group", "not in this version"},
	}
	k := known[name]
	l := Layer{Name: name, State: state, Reason: k.holds, Required: k.fix == ""}
	if state != LayerEnforced {
		l.Reason = "not there: " + k.holds
		l.Fix = k.fix
		if !l.Required {
			l.Fix += "; a policy that asks for minTier " + string(profiles.TierOS) + " or above is refused"
		}
	}
	return l
}

// Health writes the layers and what would help.
func (p Page) Health(h Health) {
	fmt.Fprintf(p.W, "strongest tier: %s\n", h.Tier)
	for _, l := range h.Layers {
		mark, state := " ", fmt.Sprintf("%-11s", l.State)
		if l.Required {
			mark = "*"
		}
		switch {
		case l.State == LayerEnforced:
			state = p.Good(state)
		case l.Required:
			state = p.Bad(state)
		default:
			state = p.Middling(state)
		}
		fmt.Fprintf(p.W, "%s %-13s %s  %s\n", mark, l.Name, state, l.Reason)
		if l.Fix != "" {
			fmt.Fprintf(p.W, "  %-13s fix: %s\n", "", l.Fix)
		}
	}
}
