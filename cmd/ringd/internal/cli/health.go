package cli

import (
	"fmt"
	"strings"
)

// States of a layer.
const (
	LayerEnforced    = "enforced"
	LayerPartly      = "best-effort"
	LayerUnavailable = "unavailable"
)

// Layer is one layer between a program and the host.
type Layer struct {
	Name     string `json:"name"`
	State    string `json:"state"`    // enforced, best-effort or unavailable
	Required bool   `json:"required"` // the default profile needs it
	Reason   string `json:"reason"`
	Fix      string `json:"fix,omitempty"`
}

// Executor is the state of one executor on this host.
type Executor struct {
	Name     string   `json:"name"`
	MinTiers []string `json:"min_tiers"`        // tiers that a policy may require
	Reason   string   `json:"reason,omitempty"` // why no program can run, or not every one
}

// Health is what this host can enforce.
type Health struct {
	Enforceable bool       `json:"enforceable"` // the default profile
	Tier        string     `json:"tier"`        // strongest tier of a guest
	Kernel      string     `json:"kernel"`      // kernel release
	LandlockABI int        `json:"landlock_abi"`
	Container   string     `json:"container,omitempty"` // container that ringd seems to run in
	Engine      string     `json:"engine,omitempty"`    // digest of the JavaScript engine, for snapshots.engines
	Executors   []Executor `json:"executors"`
	Layers      []Layer    `json:"layers"`
}

// Add adds a layer.
func (h *Health) Add(l Layer) {
	h.Layers = append(h.Layers, l)
	if l.Required && l.State != LayerEnforced {
		h.Enforceable = false
	}
}

// Columns of a line of Health: mark, name, state, and text.
const (
	nameColumn  = 13
	stateColumn = 11
	wordsColumn = 2 + nameColumn + 1 + stateColumn + 2
	fixColumn   = 7
)

// Health prints the layers, with remedies.
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
	for i, s := range foldCommands(Block(l.Fix), width-fixColumn) {
		fmt.Fprintf(p.W, "%*s%s\n", fixColumn, map[bool]string{true: "fix: "}[i == 0], s)
	}
}
