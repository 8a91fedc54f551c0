// This file owns the text of the grants that narrow what a policy gives an
// agent, for one run: what they may say, and how they are read. What they do to an
// agent is Agent.Narrow. It is pure.

package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/modules"
)

// Bounds of grants.
const (
	MaxGrantsBytes = 256 << 10
	most           = 1000 // of one kind
)

// ErrGrants means that grants cannot be used as they are: they are malformed,
// or name what the agent does not have. The error around it says which, in words
// for the one who wrote them.
var ErrGrants = errors.New("grants")

// Grants narrow what the policy gives an agent, for one run. They never widen:
// what stands in them counts only as far as the agent has it. A nil field leaves
// that part as the agent has it, an empty one takes all of it away.
type Grants struct {
	Bridges map[string]GrantOfBridge `json:"bridges,omitzero"` // the only bridges, by name
	// the only hosts: name, *.name, address, range, or gateway.ringd.internal
	Hosts    []string   `json:"hosts,omitzero"`
	Imports  []string   `json:"imports,omitzero"`  // the only modules, of every executor
	Deadline *time.Time `json:"deadline,omitzero"` // the run ends then, paused or not
}

// GrantOfBridge narrows one bridge.
type GrantOfBridge struct {
	Calls     *int64          `json:"calls,omitzero"`     // calls of the run; nil: as many as the agent has
	Arguments json.RawMessage `json:"arguments,omitzero"` // JSON Schema the argument must fit as well; nil: none
}

// UnmarshalJSON reads grants and refuses unknown, repeated and misspelt fields,
// null, and values that Narrow would refuse. The error wraps ErrInvalid.
func (g *Grants) UnmarshalJSON(b []byte) error {
	got, err := DecodeGrants(b)
	if err != nil {
		return err
	}
	*g = got
	return nil
}

// DecodeGrants reads grants as Grants.UnmarshalJSON does; the error wraps ErrGrants.
func DecodeGrants(b []byte) (Grants, error) {
	if len(b) > MaxGrantsBytes {
		return Grants{}, fmt.Errorf("%w: %d bytes are above the limit of %d", ErrGrants, len(b), MaxGrantsBytes)
	}
	if err := canonjson.Check(b); err != nil {
		return Grants{}, fmt.Errorf("%w: %w", ErrGrants, err)
	}
	var text struct {
		Bridges  map[string]json.RawMessage `json:"bridges"`
		Hosts    []string                   `json:"hosts"`
		Imports  []string                   `json:"imports"`
		Deadline *time.Time                 `json:"deadline"`
	}
	if err := canonjson.Strict("grants", b, &text); err != nil {
		return Grants{}, fmt.Errorf("%w: %w", ErrGrants, err)
	}
	g := Grants{Hosts: text.Hosts, Imports: text.Imports, Deadline: text.Deadline}
	if text.Bridges != nil {
		g.Bridges = make(map[string]GrantOfBridge, len(text.Bridges))
	}
	for name, raw := range text.Bridges {
		var one GrantOfBridge
		if err := canonjson.Strict("bridges."+canonjson.Clip(name), raw, &one); err != nil {
			return Grants{}, fmt.Errorf("%w: %w", ErrGrants, err)
		}
		g.Bridges[name] = one
	}
	return g, g.Check()
}

// Check refuses what cannot narrow anything as it is meant.
func (g *Grants) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrGrants, fmt.Sprintf(format, args...))
	}
	if len(g.Bridges) > most || len(g.Hosts) > most || len(g.Imports) > most {
		return wrong("more than %d of one kind", most)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Bridges)) {
		b := g.Bridges[name]
		if !modules.Dotted(name) || len(name) > 255 {
			return wrong("bridges: %q is not a valid bridge name", canonjson.Clip(name))
		}
		if b.Calls != nil && *b.Calls < 0 {
			return wrong("bridges.%s.calls is below 0", name)
		}
		if b.Arguments != nil {
			if _, err := canonicalArguments(b.Arguments); err != nil {
				return wrong("bridges.%s.arguments: %s", name, err)
			}
		}
	}
	for _, h := range g.Hosts {
		if _, err := egress.ReadPattern(h); err != nil {
			return wrong("hosts: %q: %s", canonjson.Clip(h), err)
		}
	}
	for _, name := range g.Imports {
		if name = strings.TrimSuffix(name, ".*"); !modules.Valid(true, name) && !modules.Valid(false, name) {
			return wrong("imports: %q is not the name of a module", canonjson.Clip(name))
		}
	}
	return nil
}

// Handed are the grants that narrow the subagents of a run which these narrow. A
// number of calls is for that run alone: two runs that each count to it would
// have it twice, so its subagents have no call of that bridge. The result shares
// what stays the same.
func (g Grants) Handed() Grants {
	kept := make(map[string]GrantOfBridge, len(g.Bridges))
	for name, b := range g.Bridges {
		if b.Calls == nil {
			kept[name] = b
		}
	}
	if g.Bridges != nil {
		g.Bridges = kept
	}
	return g
}
