package compiler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// bridging compiles the bridges of a document.
type bridging struct{ *document }

// bridges compiles the grants of capabilities.
func (d bridging) bridges(agent *profiles.Agent) {
	taken := newNames()
	for i := range d.policy.Spec.Bridges {
		b := &d.policy.Spec.Bridges[i]
		at := fmt.Sprintf("spec.bridges[%d]", i)
		if !d.bridgeName(taken, at+".name", b.Name) {
			continue
		}
		d.bridgeExecutors(agent, at, b)
		grant := profiles.Bridge{
			Name:      b.Name,
			Powers:    profiles.Powers(b.Powers),
			Executors: b.Executors,
			Arguments: d.jsonSchema(at+".arguments", b.Arguments),
			Result:    d.jsonSchema(at+".result", b.Result),
			Limits:    d.bridgeLimits(at+".limits", b.Limits),
			Audit:     b.Audit,
			Rule:      d.rule(at),
			Approval:  approvals(d).approval(at+".approval", b.Approval, *agent.Limits.PauseMillis),

			Also: d.alsoSchemas(at+".arguments", b.Also), AlsoResult: d.alsoSchemas(at+".result", b.AlsoResult),
		}
		if b.Approval != nil && b.Approval.Hold != "" && (agent.Python == nil || len(b.Executors) > 0 &&
			!slices.Contains(b.Executors, profiles.ExecutorPython)) {
			d.warn(at+".approval.hold", codeNeverMatches,
				"leave it out: a JavaScript program is paused, and costs nothing while it waits",
				"only Python programs are held, and %s is not granted to Python", b.Name)
		}
		if grant.Audit == "" {
			grant.Audit = "metadata"
		}
		agent.Bridges[b.Name] = grant
	}
}

// bridgeExecutors checks that the agent has the executors of a bridge.
func (d bridging) bridgeExecutors(agent *profiles.Agent, at string, b *schema.Bridge) {
	if b.Executors != nil && len(b.Executors) == 0 {
		d.report(at+".executors", codeNeverMatches, "leave the field out to grant the bridge to every executor",
			"names no executor")
	}
	for i, name := range b.Executors {
		granted := name == profiles.ExecutorJS && agent.JS != nil ||
			name == profiles.ExecutorPython && agent.Python != nil ||
			name == profiles.ExecutorShell && agent.Shell != nil
		if !granted {
			d.report(fmt.Sprintf("%s.executors[%d]", at, i), codeNotAllowed,
				fmt.Sprintf("add %s to executors.allowed", clip(name)),
				"the policy does not grant the executor %s", clip(name))
		}
	}
}

// names holds the dotted names of bridges and their parent objects.
type names struct{ bridges, folders map[string]string }

func newNames() *names { return &names{map[string]string{}, map[string]string{}} }

// bridgeName checks a name against the globals of the JavaScript guest and the other bridges. tools and
// tools.search cannot both exist: the first would be a function, and the second needs an object of that name.
func (d bridging) bridgeName(taken *names, at, name string) bool {
	parts := strings.Split(name, ".")
	if !schema.DottedName(name) || len(parts) > 4 || len(name) > 255 {
		d.report(at, codeBridgeName, "write a camelCase name such as spawnSubagent, or dotted such as tools.search",
			"%q is not a valid bridge name", clip(name))
		return false
	}
	if schema.ReservedGlobal(parts[0]) {
		d.report(at, codeBridgeName, "", "%q is reserved: it has another meaning in the program", parts[0])
		return false
	}
	for _, p := range parts {
		if schema.ReservedProperty(p) {
			d.report(at, codeBridgeName, "", "%q cannot be part of a name: it is reserved in the program", p)
			return false
		}
	}
	clash := taken.bridges[name]
	if clash == "" {
		clash = taken.folders[name]
	}
	for i := 1; i < len(parts) && clash == ""; i++ {
		clash = taken.bridges[strings.Join(parts[:i], ".")]
	}
	if clash != "" {
		here, other := d.origin(at), d.origin(clash)
		d.add(here, schema.Diagnostic{Code: codeBridgeName, Related: []schema.Pos{other.Pos},
			Msg: fmt.Sprintf("%q collides with the bridge at %s", name, other.Pos)})
		return false
	}
	taken.bridges[name] = at
	for i := 1; i < len(parts); i++ {
		if folder := strings.Join(parts[:i], "."); taken.folders[folder] == "" {
			taken.folders[folder] = at
		}
	}
	return true
}

// bridgeLimits compiles the limits of a bridge with all defaults filled in.
func (d bridging) bridgeLimits(at string, l *schema.BridgeLimits) profiles.BridgeLimits {
	if l == nil {
		l = &schema.BridgeLimits{}
	}
	count := func(name string, n *int64, least, standard int64) int64 {
		if n == nil {
			return standard
		}
		if *n < least || *n > mostCount {
			d.report(at+"."+name, CodeLimit, "", "must be from %d to %d", least, mostCount)
			return least
		}
		return *n
	}
	size := func(name, text string, most, standard int64) int64 {
		n, ok := standard, true
		if text != "" {
			n, ok = d.size(at+"."+name, text)
		}
		if ok && (n < 1 || n > most) {
			d.report(at+"."+name, CodeLimit, "", "must be from 1B to %s", schema.ShowSize(most))
		}
		return n
	}
	// A bridge may start subagents if its policy has any limit of subagents. Then the other limits of
	// subagents get their defaults. Calls of any other bridge are not counted as subagents and cannot start
	// runs.
	spawns := func(standard int64) int64 {
		if l.SpawnPerCall == nil && l.Depth == nil && l.TotalSpawn == nil {
			return 0
		}
		return standard
	}
	out := profiles.BridgeLimits{
		Concurrent:    count("concurrent", l.Concurrent, 1, defaultConcurrent),
		CallsPerRun:   count("callsPerRun", l.CallsPerRun, 0, defaultCallsPerRun),
		SpawnPerCall:  count("spawnPerCall", l.SpawnPerCall, 1, spawns(defaultSpawnPerCall)),
		Depth:         count("depth", l.Depth, 0, spawns(defaultDepth)),
		TotalSpawn:    count("totalSpawn", l.TotalSpawn, 0, spawns(defaultTotalSpawn)),
		ArgumentBytes: size("requestBytes", l.RequestBytes, 16<<20, defaultArgumentBytes),
		ResultBytes:   size("responseBytes", l.ResponseBytes, 64<<20, defaultBridgeResult),
		TimeoutMillis: defaultTimeoutMillis,
	}
	out.Queue = count("queue", l.Queue, 0, mostCount)
	if l.WhenFull == "refuse" {
		out.Queue = 0
	}
	if l.Timeout != "" {
		n, ok := d.duration(at+".timeout", l.Timeout)
		if ok && (n < 1 || n > 30*day) {
			d.report(at+".timeout", CodeLimit, "", "must be from 1ms to %s", schema.ShowDuration(30*day))
		}
		out.TimeoutMillis = n
	}
	return out
}

// jsonSchema checks a JSON Schema and returns its canonical form. The result is cached, because bridges often
// share a schema.
func (d bridging) jsonSchema(at string, text []byte) json.RawMessage {
	if text == nil {
		return nil
	}
	known, seen := d.schemas[string(text)]
	if !seen {
		known.canonical, known.err = checkBridgeSchema(text)
		d.schemas[string(text)] = known
	}
	if known.err != nil {
		d.report(at, CodeJSONSchema, "", "%s", known.err)
		return nil
	}
	return known.canonical
}

// alsoSchemas compiles the schemas that the layers above set.
func (d bridging) alsoSchemas(at string, texts [][]byte) (out []json.RawMessage) {
	for _, text := range texts {
		if s := d.jsonSchema(at, text); s != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	return slices.CompactFunc(out, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// checkedSchema is the cached check of a JSON Schema text.
type checkedSchema struct {
	canonical json.RawMessage
	err       error
}
