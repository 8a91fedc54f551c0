package layers

import (
	"maps"
	"slices"

	"github.com/ringd/ringd/schema"
)

// specials maps Go paths to the fields that have merge code of their own. If such code also merges
// neighbouring fields, those have no entry.
func specials() map[string]special {
	none := func(*step, any, any, site) {}
	return map[string]special{
		"Spec.Mode":       on(mergeMode),
		"Spec.Agents":     on(mergeAgents),
		"Spec.Limits":     on(mergeSpecLimits),
		"Spec.Executors":  on(mergeExecutors),
		"Spec.Modules":    on(mergeModules),
		"Spec.Bridges":    on(mergeBridges),
		"Spec.Exceptions": on(mergeExceptions),
		"Spec.Guardrails": on(mergeGuardrails),

		"Executors.JS":     on(mergeJS),
		"Executors.Python": on(mergePython),
		"Executors.Shell":  on(mergeShell),

		"JS.Imports":                on(mergeJSImports),
		"JS.Limits":                 on(mergeJSLimits),
		"Imports.Allow":             on(mergeJSAllow),
		"Imports.Deny":              on(mergeJSDeny),
		"Python.Environment":        on(mergeEnvironments),
		"Python.Environments":       none,
		"Python.Limits":             on(mergePythonLimits),
		"PythonImports.Allow":       on(mergePythonAllow),
		"PythonImports.Deny":        on(mergePythonDeny),
		"PythonImports.DenyProcess": on(mergePythonDenyProcess),

		"Shell.Binaries":     on(mergeBinaries),
		"Shell.DenyPatterns": on(mergePatterns),
		"Shell.Env":          on(mergeShellEnv),
		"Shell.Limits":       on(mergeShellLimits),
		"Binary.Args":        on(mergeArgs),
		"Binary.Env":         on(mergeBinaryEnv),
		"Binary.Helpers":     on(mergeHelpers),
		"Binary.Acknowledge": on(mergeAcknowledge),
		"Args.Subcommands":   on(mergeSubcommands),
		"Args.Deny":          on(mergeDeniedWords),
		"Args.Ask":           on(mergeAskedWords),
		"Args.Force":         on(mergeForce),

		"Bridge.Arguments":  on(mergeArguments),
		"Bridge.Result":     on(mergeResult),
		"Bridge.Approval":   on(mergeApproval),
		"Approval.Required": none,
		"Approval.When":     on(mergeCondition),

		"Filesystem.Read":    on(mergeRead),
		"Filesystem.Write":   on(mergeWrite),
		"Network.Egress":     on(mergeEgress),
		"Network.Gateways":   on(mergeGateways),
		"Gateway.Upstream":   on(mergeUpstream),
		"Gateway.Addresses":  on(mergeAddresses),
		"Gateway.Credential": on(mergeCredential),
		"Gateway.Limits":     on(mergeGatewayLimits),
	}
}

// mergeMode merges modes. A layer without a mode gets the mode of the layer above. The outermost layer
// without a mode has enforce. An agent without a mode has enforce too, since its author did not ask for
// audit.
func mergeMode(s *step, own, above *schema.Spec, w site) {
	w = w.field("mode")
	switch {
	case above.Mode == "" && own.Mode == "audit":
		s.refuse(CodeWidens, site{w.own, "kind"}, "leave it out, or let "+s.owner("kind")+" write mode: audit",
			"audit is looser than enforce, and %s does not allow it", s.shown("kind"))
		own.Mode = ""
		delete(s.child.Origins, w.own)
	case above.Mode == "" || above.Mode == "audit" && own.Mode == "" && s.grants:
	case own.Mode == "":
		own.Mode = inherit(s, w, above.Mode)
	case own.Mode == "audit" && above.Mode == "enforce":
		s.refuse(CodeWidens, w, "write enforce, or leave it out", "audit is looser than enforce at %s",
			s.shown(w.above))
		own.Mode = inherit(s, w, above.Mode)
	}
}

// mergeKeyed merges the items of a list. It calls bound for each item, with the index j of the item of the
// layer above that has the same key, or -1 if there is none. names are the keys of the layer above, for a
// suggestion. The item stays if bound returns true.
func mergeKeyed[T any](s *step, at string, own, above []T, key func(*T) string,
	bound func(item *T, i, j int, names []string) bool) []T {
	offered := make(map[string]int, len(above))
	names := make([]string, len(above))
	for j := range above {
		names[j] = key(&above[j])
		offered[names[j]] = j
	}
	own = slices.Clone(own)
	refused := map[int]bool{}
	for i := range own {
		j, ok := offered[key(&own[i])]
		if !ok {
			j = -1
		}
		if !bound(&own[i], i, j, names) {
			refused[i] = true
		}
	}
	return keep(s, at, own, refused)
}

// mergeAgents merges agent names. If the layer above has a list of names, no others are allowed.
func mergeAgents(s *step, own, above *schema.Spec, w site) {
	w = w.field("agents")
	match := func(a *schema.AgentMatch) string { return a.Match }
	switch {
	case above.Agents == nil:
		return
	case own.Agents == nil && !s.grants:
		own.Agents = inherit(s, w, above.Agents)
		return
	case own.Agents == nil:
		mergeKeyed(s, w.own, []schema.AgentMatch{{Match: s.child.Metadata.Name}}, above.Agents, match,
			func(a *schema.AgentMatch, _, j int, names []string) bool {
				if j < 0 {
					s.notAllowed(site{"metadata.name", w.above}, a.Match, names)
				}
				return true
			})
		return
	}
	own.Agents = mergeKeyed(s, w.own, own.Agents, above.Agents, match,
		func(a *schema.AgentMatch, i, j int, names []string) bool {
			if j < 0 {
				s.notAllowed(site{index(w.own, i) + ".match", w.above}, a.Match, names)
				return len(own.Agents) == 1
			}
			s.mergeStruct(a, &above.Agents[j], w.item(i, j))
			return true
		})
}

// mergeModules merges modules. All documents below a ceiling can use the ceiling's modules and cannot
// replace them.
func mergeModules(s *step, own, above *schema.Spec, w site) {
	if above.Modules == nil {
		return
	}
	w = w.field("modules")
	s.inheritOrigin(w)
	merged := maps.Clone(own.Modules)
	if merged == nil {
		merged = map[string]schema.ModuleSource{}
	}
	for _, name := range slices.Sorted(maps.Keys(above.Modules)) {
		here := w.field(name)
		if mine, redefined := merged[name]; redefined && mine != above.Modules[name] {
			s.refuse(CodeWidens, here, "leave it out, or give yours another name", "%s is another module than at %s",
				clip(name), s.shown(here.above))
			schema.ForgetOrigins(s.child.Origins, here.own, mine)
		} else if redefined {
			continue
		}
		merged[name] = inherit(s, here, above.Modules[name])
	}
	own.Modules = merged
}

func mergeExceptions(s *step, own, above *schema.Spec, w site) {
	own.Exceptions = accumulate(s, w.field("exceptions"), own.Exceptions, above.Exceptions,
		func(e schema.Exception) string { return e.ID })
}

// mergeGuardrails accumulates guardrails. Their names must be unique.
func mergeGuardrails(s *step, own, above *schema.Spec, w site) {
	w = w.field("guardrails")
	for i, g := range own.Guardrails {
		for j, other := range above.Guardrails {
			if g.Name == other.Name && g != other {
				here := w.item(i, j).field("name")
				s.refuse(CodeWidens, here, "give yours another name: the guardrail of the layer above stays in force",
					"%s is another guardrail than at %s", clip(g.Name), s.shown(here.above))
			}
		}
	}
	own.Guardrails = accumulate(s, w, own.Guardrails, above.Guardrails,
		func(g schema.Guardrail) string { return g.Name })
}
