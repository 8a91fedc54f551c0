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

// Limits of grants.
const (
	MaxGrantsBytes = 256 << 10
	maxEntries     = 1000 // entries of one kind
)

// ErrGrants is wrapped by errors about grants that are malformed or name something that the agent does not
// have. The wrapping error is worded for the author of the grants.
var ErrGrants = errors.New("grants")

// Grants narrow the policy of an agent for one run. They never widen it: a grant that the agent does not have
// has no effect. A nil field changes nothing. An empty field removes all grants of that kind.
type Grants struct {
	Bridges map[string]GrantOfBridge `json:"bridges,omitzero"` // the only bridges, by name
	// the only hosts: name, *.name, address, range, or gateway.ringd.internal
	Hosts    []string   `json:"hosts,omitzero"`
	Imports  []string   `json:"imports,omitzero"`  // the only modules, for every executor
	Deadline *time.Time `json:"deadline,omitzero"` // the run ends then, even if it is paused
}

// GrantOfBridge narrows one bridge.
type GrantOfBridge struct {
	Calls     *int64          `json:"calls,omitzero"`     // maximum calls of the run; nil: unchanged
	Arguments json.RawMessage `json:"arguments,omitzero"` // JSON Schema that the argument must also match; nil: none
}

// UnmarshalJSON reads grants. It rejects unknown, repeated and misspelt fields, null, and values that Narrow
// would reject. The error wraps ErrGrants.
func (g *Grants) UnmarshalJSON(b []byte) error {
	got, err := DecodeGrants(b)
	if err != nil {
		return err
	}
	*g = got
	return nil
}

// DecodeGrants reads grants like [Grants.UnmarshalJSON]. The error wraps ErrGrants.
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

// Check rejects values that cannot narrow anything.
func (g *Grants) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrGrants, fmt.Sprintf(format, args...))
	}
	if len(g.Bridges) > maxEntries || len(g.Hosts) > maxEntries || len(g.Imports) > maxEntries {
		return wrong("more than %d of one kind", maxEntries)
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

// Handed returns the grants for subagents of a run with the grants g. A limit of calls is for that run alone.
// If each subagent had a count of its own, the limit would be multiplied. So subagents may not call a bridge
// that has such a limit. The result shares unchanged parts with g.
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
