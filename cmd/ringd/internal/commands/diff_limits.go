package commands

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// A compiled limit has no rule of its own, so a change of a limit has the rule of its executor or bridge. If
// the sources are available, the line of the limit is searched in them: in the document of the agent, then in
// the layers above it, nearest first, because a limit that a document omits comes from the layer above.

// limitNames returns the names of limits in a policy by their names in a compiled set.
func limitNames() map[string]string {
	return map[string]string{
		"cpuMillis": "cpu", "memoryBytes": "memory", "wallMillis": "wall", "outputBytes": "output",
		"resultBytes": "result",
		"stackBytes":  "stack", "processes": "processes", "files": "files", "refusedCalls": "refusedCalls",
		"pauseMillis": "pause", "concurrent": "concurrent", "callsPerRun": "callsPerRun",
		"spawnPerCall": "spawnPerCall", "depth": "depth", "totalSpawn": "totalSpawn",
		"argumentBytes": "requestBytes", "timeoutMillis": "timeout",
	}
}

// limit returns where a document sets a limit of an agent. field is the name of the limit in the compiled set.
// If no document sets it, limit returns rule.
func (s *side) limit(agent, field string, rule *profiles.Rule) *profiles.Rule {
	of, name, ok := cutLast(field, "limits.")
	word := limitNames()[name]
	if name == "resultBytes" && strings.HasPrefix(of, "bridges.") {
		word = "responseBytes"
	}
	if !ok || word == "" || rule == nil {
		return rule
	}
	docs := s.documents(agent, rule.File)
	find := func(spot func(schema.Policy) string) *profiles.Rule {
		for i, p := range docs {
			o, ok := p.Origins[spot(p)+".limits."+word]
			if !ok {
				continue
			}
			out := &profiles.Rule{File: o.Pos.File, Line: o.Pos.Line, Column: o.Pos.Column, Path: o.Path}
			if i > 0 {
				out.Layer = p.Kind + " " + p.Metadata.Name
			}
			return out
		}
		return nil
	}
	var found *profiles.Rule
	if bridge, is := strings.CutPrefix(of, "bridges."); is {
		found = find(func(p schema.Policy) string { return bridgeAt(p, bridge) })
	} else if slices.Contains([]string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell, ""}, of) {
		if of != "" {
			found = find(func(schema.Policy) string { return "spec.executors." + of })
		}
		if found == nil {
			found = find(func(schema.Policy) string { return "spec" })
		}
	}
	if found == nil {
		return rule // a default, which no document has
	}
	return found
}

// cutLast cuts a text at the last separator, and removes a dot before it.
func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return strings.TrimSuffix(text[:i], "."), text[i+len(sep):], true
}

func bridgeAt(p schema.Policy, name string) string {
	i := slices.IndexFunc(p.Spec.Bridges, func(b schema.Bridge) bool { return b.Name == name })
	return fmt.Sprintf("spec.bridges[%d]", i) // -1 matches no path
}

// documents returns the YAML and JSON documents of an agent, its own first. Reading them evaluates nothing. A
// compiled set has none.
func (s *side) documents(agent, own string) []schema.Policy {
	if !s.decoded {
		s.decoded = true
		var plain []schema.Source
		for _, f := range s.files.Sources {
			if ext := strings.ToLower(path.Ext(f.Name)); ext == ".yaml" || ext == ".yml" || ext == ".json" {
				plain = append(plain, f)
			}
		}
		s.policies, _ = schema.Decode(plain) // the compiler has reported errors in them
	}
	files := []string{own}
	if a, ok := s.set.Agents[agent]; ok {
		for _, l := range slices.Backward(a.Layers) {
			files = append(files, l.File)
		}
	}
	var out []schema.Policy
	for i, f := range files {
		at := slices.IndexFunc(s.policies, func(p schema.Policy) bool { return p.File == f })
		if at >= 0 && !slices.Contains(files[:i], f) {
			out = append(out, s.policies[at])
		}
	}
	return out
}
