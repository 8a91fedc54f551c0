package cli

import (
	"fmt"
	"strings"
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

// Executor is what one executor can give on this host.
type Executor struct {
	Name     string   `json:"name"`
	MinTiers []string `json:"min_tiers"`        // those that a policy may ask for
	Reason   string   `json:"reason,omitempty"` // nothing runs, or not all does
}

// Health is what this host can enforce.
type Health struct {
	Enforceable bool   `json:"enforceable"` // the default profile
	Tier        string `json:"tier"`        // the strongest that a guest gets
	Kernel      string `json:"kernel"`      // its release
	LandlockABI int    `json:"landlock_abi"`
	Container   string `json:"container,omitempty"` // that there are signs of around ringd
	// digest of the JavaScript engine, as snapshots.engines names one
	Engine    string     `json:"engine,omitempty"`
	Executors []Executor `json:"executors"`
	Layers    []Layer    `json:"layers"`
}

// Add adds a layer.
func (h *Health) Add(l Layer) {
	h.Layers = append(h.Layers, l)
	if l.Required && l.State != LayerEnforced {
		h.Enforceable = false
	}
}

// The columns of a line of Health: a mark, a name, a state, and what is left.
const (
	nameColumn  = 13
	stateColumn = 11
	wordsColumn = 2 + nameColumn + 1 + stateColumn + 2
	fixColumn   = 7
)

// Health writes the layers and what would help.
func (p Page) Health(h Health) {
	tier := h.Tier
	if tier == "" {
		tier = "none: nothing runs"
	}
	fmt.Fprintf(p.W, "strongest tier: %s\n", Clean(tier))
	if h.Kernel != "" {
		in := ""
		if h.Container != "" {
			in = ", signs of " + h.Container
		}
		fmt.Fprintf(p.W, "kernel: %s, Landlock version %d%s\n", Clean(h.Kernel), h.LandlockABI, Clean(in))
	}
	if h.Engine != "" {
		fmt.Fprintf(p.W, "engine: %s\n", Clean(h.Engine))
	}
	for _, e := range h.Executors {
		can := "minTier " + strings.Join(e.MinTiers, ", ")
		switch {
		case len(e.MinTiers) == 0:
			can = "nothing runs: " + e.Reason
		case e.Reason != "":
			can += "; " + e.Reason
		}
		for i, l := range fold(Block(can), width-2-nameColumn) {
			fmt.Fprintf(p.W, "  %-*s%s\n", nameColumn, map[bool]string{true: Clean(e.Name)}[i == 0], l)
		}
	}
	for _, l := range h.Layers {
		p.layer(l)
	}
}

func (p Page) layer(l Layer) {
	mark, state := " ", fmt.Sprintf("%-*s", stateColumn, Clean(l.State))
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
	words := fold(Block(l.Reason), width-wordsColumn)
	if len(words) == 0 {
		words = []string{""}
	}
	fmt.Fprintf(p.W, "%s %-*s %s  %s\n", mark, nameColumn, Clean(l.Name), state, words[0])
	for _, s := range words[1:] {
		fmt.Fprintf(p.W, "%*s%s\n", wordsColumn, "", s)
	}
	for i, s := range folded(Block(l.Fix), width-fixColumn) {
		fmt.Fprintf(p.W, "%*s%s\n", fixColumn, map[bool]string{true: "fix: "}[i == 0], s)
	}
}
