package layers

import (
	"maps"
	"slices"

	"github.com/ringd/ringd/schema"
)

// Orders of words, from loose to strict.
func modes() []string    { return []string{"audit", "enforce"} }
func audits() []string   { return []string{"metadata", "full"} }
func onThrees() []string { return []string{"require-approval", "deny"} }
func scopes() []string   { return []string{"run", "session"} }
func twoModes() []string { return []string{"report", "dynamic", "enforce"} }
func tiers() []string {
	return []string{"process", "wasm", "os-sandbox", "container", "microvm", "remote"}
}
func classes() []string     { return []string{"restricted", "confidential", "internal", "public"} }
func networks() []string    { return []string{"allowlist", "gateway-only", "off"} }
func onDenieds() []string   { return []string{"report", "end"} }
func strictness() []string  { return []string{"", "strict"} }
func bridgeClass() []string { return []string{"public", "internal", "confidential", "restricted"} }

// spec puts the body of a document under the ceiling.
func (s *step) spec() {
	own, above := &s.child.Spec, &s.parent.Spec
	s.mode(own, above)
	s.word("spec.audit", "spec.audit", &own.Audit, above.Audit, strictness()...)
	s.agents(own, above)
	s.data(own, above)
	s.ruleOfTwo(own, above)
	s.inputs(own, above)
	own.Limits = s.limits("spec.limits", own.Limits, above.Limits, "", nil)
	s.executors(own, above)
	s.modules(own, above)
	s.bridges(own, above)
	s.filesystem(own, above)
	s.networkOf(own, above)
	s.sessions(own, above)
	own.Exceptions = accumulate(s, "spec.exceptions", "spec.exceptions", own.Exceptions, above.Exceptions, func(e schema.Exception) string { return e.ID })
	s.guardrails(own, above)
}

// mode: a layer that leaves it out has that of the one above, and the first of them has
// enforce. An agent that leaves it out enforces, since nobody asked for audit.
func (s *step) mode(own, above *schema.Spec) {
	const at = "spec.mode"
	switch {
	case above.Mode == "" && own.Mode == "audit":
		s.refuse(CodeWidens, at, "kind", "leave it out, or let "+s.owner("kind")+" write mode: audit", "audit is looser than enforce, and %s does not allow it", shown(s.above("kind")))
		own.Mode = ""
		delete(s.child.Origins, at)
	case above.Mode == "audit" && own.Mode == "" && s.grants:
	default:
		s.word(at, at, &own.Mode, above.Mode, modes()...)
	}
}

// agents: a list above holds the only names that a document may be for.
func (s *step) agents(own, above *schema.Spec) {
	const at = "spec.agents"
	if above.Agents == nil {
		return
	}
	var names []string
	offered := map[string]int{}
	for i, a := range above.Agents {
		names = append(names, a.Match)
		offered[a.Match] = i
	}
	if own.Agents == nil {
		if !s.grants {
			own.Agents = inherit(s, at, at, above.Agents)
		} else if _, ok := offered[s.child.Metadata.Name]; !ok {
			s.notAllowed("metadata.name", at, s.child.Metadata.Name, names)
		}
		return
	}
	own.Agents = slices.Clone(own.Agents)
	refused := map[int]bool{}
	for i := range own.Agents {
		a := &own.Agents[i]
		j, ok := offered[a.Match]
		if !ok {
			s.notAllowed(index(at, i)+".match", at, a.Match, names)
			refused[i] = len(own.Agents) > 1
			continue
		}
		a.Identities = s.subset(index(at, i)+".identities", index(at, j)+".identities", a.Identities, above.Agents[j].Identities, true)
	}
	own.Agents = keep(s, at, own.Agents, refused)
}

func (s *step) data(own, above *schema.Spec) {
	const at = "spec.data"
	if above.Data == nil {
		return
	}
	s.place(at, at)
	own.Data = copied(own.Data)
	s.word(at+".maxClass", at+".maxClass", &own.Data.MaxClass, above.Data.MaxClass, classes()...)
	own.Data.Residency = s.subset(at+".residency", at+".residency", own.Data.Residency, above.Data.Residency, true)
}

// ruleOfTwo: what a layer leaves out of it is what is strictest.
func (s *step) ruleOfTwo(own, above *schema.Spec) {
	const at = "spec.ruleOfTwo"
	if above.RuleOfTwo == nil && own.RuleOfTwo == nil {
		return
	}
	s.place(at, at)
	own.RuleOfTwo = copied(own.RuleOfTwo)
	up := copied(above.RuleOfTwo)
	for _, f := range []struct {
		name  string
		own   *string
		above string
		order []string
	}{
		{"onThree", &own.RuleOfTwo.OnThree, up.OnThree, onThrees()},
		{"scope", &own.RuleOfTwo.Scope, up.Scope, scopes()},
		{"mode", &own.RuleOfTwo.Mode, up.Mode, twoModes()},
	} {
		path, strictest := at+"."+f.name, f.order[len(f.order)-1]
		if f.above == "" && *f.own != "" && *f.own != strictest {
			s.refuse(CodeWidens, path, at, "leave it out, or let "+s.owner(at)+" write it",
				"%s is looser than %s, which it is where %s leaves it out", clip(*f.own), strictest, shown(s.above(at)))
			*f.own = ""
			delete(s.child.Origins, path)
			continue
		}
		s.word(path, path, f.own, f.above, f.order...)
	}
}

func (s *step) inputs(own, above *schema.Spec) {
	const at = "spec.inputs"
	if above.Inputs == nil {
		return
	}
	s.place(at, at)
	own.Inputs = copied(own.Inputs)
	own.Inputs.Powers = s.touches(at+".powers", at+".powers", own.Inputs.Powers, above.Inputs.Powers)
}

// touches: what the outermost layer says of a power stands.
func (s *step) touches(path, up string, own, above *schema.Touches) *schema.Touches {
	if above == nil {
		return own
	}
	s.place(path, up)
	own = copied(own)
	for _, f := range []struct {
		name  string
		own   **bool
		above *bool
	}{{"sensitive", &own.Sensitive, above.Sensitive}, {"untrusted", &own.Untrusted, above.Untrusted}, {"external", &own.External, above.External}} {
		here, there := path+"."+f.name, up+"."+f.name
		switch {
		case f.above == nil:
		case *f.own == nil:
			*f.own = inherit(s, here, there, f.above)
		case **f.own != *f.above:
			s.refuse(CodePowerMismatch, here, there, hintPowers, "is %t, and %s says %t", **f.own, shown(s.above(there)), *f.above)
			*f.own = inherit(s, here, there, f.above)
		}
	}
	return own
}

const hintPowers = "leave it out: powers belong to the layer that states them first"

// modules: those of a ceiling are there for all below it, and nobody writes them anew.
func (s *step) modules(own, above *schema.Spec) {
	const at = "spec.modules"
	if above.Modules == nil {
		return
	}
	s.place(at, at)
	merged := maps.Clone(own.Modules)
	if merged == nil {
		merged = map[string]schema.ModuleSource{}
	}
	for _, name := range slices.Sorted(maps.Keys(above.Modules)) {
		here := at + "." + name
		if mine, redefined := merged[name]; redefined && mine != above.Modules[name] {
			s.refuse(CodeWidens, here, here, "leave it out, or give yours another name", "%s is another module than at %s", clip(name), shown(s.above(here)))
			schema.ForgetOrigins(s.child.Origins, here, mine)
		} else if redefined {
			continue
		}
		merged[name] = inherit(s, here, here, above.Modules[name])
	}
	own.Modules = merged
}

// sessions: an agent that leaves them out has none.
func (s *step) sessions(own, above *schema.Spec) {
	const at = "spec.sessions"
	if above.Sessions == nil || own.Sessions == nil && s.grants {
		return
	}
	s.place(at, at)
	own.Sessions = copied(own.Sessions)
	s.atMost(duration, at+".maxAge", at+".maxAge", &own.Sessions.MaxAge, above.Sessions.MaxAge)
	s.atMost(size, at+".maxSize", at+".maxSize", &own.Sessions.MaxSize, above.Sessions.MaxSize)
}

// guardrails accumulate; a name means one of them.
func (s *step) guardrails(own, above *schema.Spec) {
	const at = "spec.guardrails"
	for i, g := range own.Guardrails {
		for j, other := range above.Guardrails {
			if g.Name == other.Name && g != other {
				s.refuse(CodeWidens, index(at, i)+".name", index(at, j)+".name", "give yours another name: that of the layer above stands",
					"%s is another guardrail than at %s", clip(g.Name), shown(s.above(index(at, j)+".name")))
			}
		}
	}
	own.Guardrails = accumulate(s, at, at, own.Guardrails, above.Guardrails, func(g schema.Guardrail) string { return g.Name })
}
