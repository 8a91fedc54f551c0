package layers

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// executors puts the languages under the ceiling.
func (s *step) executors(own, above *schema.Spec) {
	const at = "spec.executors"
	all := above.Limits
	switch {
	case above.Executors == nil && (all == nil || own.Executors == nil), own.Executors == nil && s.grants:
		return
	}
	s.place(at, at)
	own.Executors = copied(own.Executors)
	e, up := own.Executors, copied(above.Executors)
	asked := e.Allowed
	e.Allowed = s.subset(at+".allowed", at+".allowed", e.Allowed, up.Allowed, false)
	s.word(at+".minTier", at+".minTier", &e.MinTier, up.MinTier, tiers()...)
	if (up.JS != nil || all != nil) && s.has("js", e.JS != nil) {
		e.JS = s.js(e.JS, up.JS, all)
	}
	if (up.Python != nil || all != nil) && s.has("python", e.Python != nil) {
		e.Python = s.python(e.Python, up.Python, all)
	}
	if (up.Shell != nil || all != nil) && s.has("shell", e.Shell != nil) {
		e.Shell = s.shell(e.Shell, up.Shell, all)
	}
	for _, name := range asked {
		if !slices.Contains(e.Allowed, name) {
			unset(e, name) // that it is set up and not allowed is no second mistake
		}
	}
}

// unset takes out what is set up for a language.
func unset(e *schema.Executors, name string) {
	switch name {
	case "js":
		e.JS = nil
	case "python":
		e.Python = nil
	case "shell":
		e.Shell = nil
	}
}

// has reports whether a ceiling's part for an executor is of use to the child: an agent
// has only what it is granted, and sets up.
func (s *step) has(executor string, set bool) bool {
	return set || !s.grants || slices.Contains(s.child.Spec.Executors.Allowed, executor)
}

func (s *step) js(own, above *schema.JS, all *schema.Limits) *schema.JS {
	const at = "spec.executors.js"
	written := own != nil
	if own = copied(own); above == nil {
		above = &schema.JS{}
	} else {
		s.place(at, at)
	}
	if above.Imports != nil && (own.Imports != nil || !s.grants || above.Imports.Deny != nil) {
		s.place(at+".imports", at+".imports")
		own.Imports = copied(own.Imports)
		own.Imports.Allow = s.jsAllow(own.Imports.Allow, above.Imports)
		own.Imports.Deny = accumulate(s, at+".imports.deny", at+".imports.deny", own.Imports.Deny, above.Imports.Deny, plainName)
	}
	if above.DenyGlobals != nil {
		s.place(at+".globals", at+".globals")
		own.DenyGlobals = accumulate(s, at+".globals.deny", at+".globals.deny", own.DenyGlobals, above.DenyGlobals, same)
	}
	own.Limits = s.limits(at+".limits", own.Limits, above.Limits, "spec.limits", all)
	if !written && own.Imports == nil && own.DenyGlobals == nil && own.Limits == nil {
		return nil
	}
	return own
}

// jsAllow: a specifier is allowed as it is listed.
func (s *step) jsAllow(own []string, above *schema.Imports) []string {
	const at = "spec.executors.js.imports.allow"
	if own == nil {
		if s.grants || above.Allow == nil {
			return nil
		}
		return inherit(s, at, at, above.Allow)
	}
	denied := namesOf(above.Deny)
	offered := namesOf(above.Allow)
	refused := map[int]bool{}
	for i, name := range own {
		name = plainName(name)
		if j, ok := denied.cover(name, '/'); ok {
			s.denied(index(at, i), index("spec.executors.js.imports.deny", j), name)
		} else if _, ok := offered[name]; above.Allow != nil && !ok {
			s.notAllowed(index(at, i), at, name, above.Allow)
		} else {
			continue
		}
		refused[i] = true
	}
	return keep(s, at, own, refused)
}

// plainName is a module without .*, which says nothing more.
func plainName(name string) string { return strings.TrimSuffix(name, ".*") }

// nameSet are names by their place in a list.
type nameSet map[string]int

func namesOf(list []string) nameSet {
	out := make(nameSet, len(list))
	for i, name := range list {
		if name = plainName(name); name != "" {
			if _, twice := out[name]; !twice {
				out[name] = i
			}
		}
	}
	return out
}

// cover gives the place of the nearest name that is name, or that it lies below.
func (p nameSet) cover(name string, sep byte) (int, bool) {
	for len(p) > 0 {
		if i, ok := p[name]; ok {
			return i, true
		}
		cut := strings.LastIndexByte(name, sep)
		if cut < 0 {
			break
		}
		name = name[:cut]
	}
	return 0, false
}

func (s *step) python(own, above *schema.Python, all *schema.Limits) *schema.Python {
	const at = "spec.executors.python"
	written := own != nil
	if own = copied(own); above == nil {
		above = &schema.Python{}
	} else {
		s.place(at, at)
	}
	if above.Imports != nil {
		s.place(at+".imports", at+".imports")
		own.Imports = s.pythonImports(copied(own.Imports), above.Imports)
	}
	if above.DenyBuiltins != nil {
		s.place(at+".builtins", at+".builtins")
		own.DenyBuiltins = accumulate(s, at+".builtins.deny", at+".builtins.deny", own.DenyBuiltins, above.DenyBuiltins, same)
	}
	s.environments(own, above)
	s.word(at+".onDenied", at+".onDenied", &own.OnDenied, above.OnDenied, onDenieds()...)
	s.equal(at+".tier", at+".tier", &own.Tier, above.Tier)
	s.may(at+".jit", at+".jit", &own.JIT, above.JIT)
	own.Limits = s.limits(at+".limits", own.Limits, above.Limits, "spec.limits", all)
	if !written && own.Imports == nil && own.DenyBuiltins == nil && own.Environment == nil && own.Environments == nil &&
		own.OnDenied == "" && own.Tier == "" && own.JIT == nil && own.Limits == nil {
		return nil
	}
	return own
}

// pythonImports puts import lists under those above. A list that is absent or empty is
// the default set, of which a child has what the layer above has as well.
func (s *step) pythonImports(own, above *schema.PythonImports) *schema.PythonImports {
	const at = "spec.executors.python.imports"
	allow := at + ".allow"
	switch {
	case own.Allow == nil && !s.grants:
		own.Within, own.Beside = above.Within, above.Beside
		if above.Allow != nil {
			own.Allow = inherit(s, allow, allow, above.Allow)
		}
	case len(own.Allow) == 0:
		if within := pythonWithin(above); own.Within == nil {
			own.Within = within
		} else if within != nil && !slices.Equal(own.Within, within) {
			own.Within = modules.Within(own.Within, within)
		}
	default:
		own.Within = nil
		own.Allow = s.pythonAllow(own.Allow, above)
		if len(own.Allow) == 0 { // all of it was refused, and nothing is no default
			own.Within = []string{}
		}
	}
	own.Deny = accumulate(s, at+".deny", at+".deny", own.Deny, above.Deny, plainName)
	own.DenyProcess = accumulate(s, at+".denyProcess", at+".denyProcess", own.DenyProcess, above.DenyProcess, plainName)
	return own
}

// pythonWithin is what the default set is cut to under a list; nil: nothing.
func pythonWithin(above *schema.PythonImports) []string {
	if len(above.Allow) == 0 || above.Beside || slices.Contains(above.Allow, "*") {
		return above.Within
	}
	out := make([]string, len(above.Allow))
	for i, name := range above.Allow {
		out[i] = plainName(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *step) pythonAllow(own []string, above *schema.PythonImports) []string {
	const at = "spec.executors.python.imports"
	denied, process, offered := namesOf(above.Deny), namesOf(above.DenyProcess), namesOf(above.Allow)
	var within nameSet
	if above.Within != nil {
		within = namesOf(above.Within)
	}
	_, all := offered["*"]
	refused := map[int]bool{}
	for i, name := range own {
		here := index(at+".allow", i)
		name = plainName(name)
		if j, ok := denied.cover(name, '.'); ok {
			s.denied(here, index(at+".deny", j), name)
		} else if j, ok := process.cover(name, '.'); ok {
			s.denied(here, index(at+".denyProcess", j), name)
		} else if all || above.Allow == nil && within == nil {
			continue
		} else if _, ok := offered.cover(name, '.'); ok || modules.Own(name) {
			continue
		} else if len(above.Allow) > 0 && !above.Beside {
			s.notListed(here, name, above.Allow)
		} else if why := outsideDefault(name, within); why != "" {
			s.refuse(CodeWidens, here, at+".allow", "let "+s.owner(at+".allow")+" list it there", "%s %s, which is all that %s allows", clip(name), why, shown(s.above(at+".allow")))
		} else {
			continue
		}
		refused[i] = true
	}
	return keep(s, at+".allow", own, refused)
}

// notListed reports a module that the list above does not have.
func (s *step) notListed(path, name string, names []string) {
	const up = "spec.executors.python.imports.allow"
	if name == "*" {
		s.refuse(CodeWidens, path, up, "list the modules that the agent needs", "%q is whatever nothing denies, and %s lists what is allowed", "*", shown(s.above(up)))
		return
	}
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i] = plainName(n)
	}
	s.notAllowed(path, up, name, plain)
}

// outsideDefault says why a name is not wholly in the default set, and in within.
func outsideDefault(name string, within nameSet) string {
	if modules.Own(name) {
		return ""
	}
	if _, ok := within.cover(name, '.'); within != nil && !ok || name == "*" || !modules.PythonDefault(name) {
		return "is not in the default set"
	}
	for _, other := range modules.OutsideNames() {
		if strings.HasPrefix(other, name+".") {
			return "holds " + other + ", which is not in the default set"
		}
	}
	return ""
}

// environments: a list above holds the only folders of packages there are; a child that
// names none has them all.
func (s *step) environments(own, above *schema.Python) {
	const at = "spec.executors.python"
	if above.Environment == nil && above.Environments == nil {
		return
	}
	if own.Environment == nil && own.Environments == nil {
		if above.Environment != nil {
			own.Environment = inherit(s, at+".environment", at+".environment", above.Environment)
		}
		if above.Environments != nil {
			own.Environments = inherit(s, at+".environments", at+".environments", above.Environments)
		}
		return
	}
	offered := map[string]schema.Environment{}
	where := map[string]string{}
	var names []string
	add := func(path string, e schema.Environment) {
		offered[e.Path], where[e.Path] = e, path
		names = append(names, e.Path)
	}
	if above.Environment != nil {
		add(at+".environment", *above.Environment)
	}
	for i, e := range above.Environments {
		add(index(at+".environments", i), e)
	}
	list := at + ".environments"
	if above.Environments == nil {
		list = at + ".environment"
	}
	check := func(path string, e *schema.Environment) bool {
		up, ok := offered[e.Path]
		if !ok {
			s.notAllowed(path+".path", list, e.Path, names)
			return false
		}
		s.equal(path+".digest", where[e.Path]+".digest", &e.Digest, up.Digest)
		return true
	}
	if own.Environment != nil {
		own.Environment = copied(own.Environment)
		check(at+".environment", own.Environment)
	}
	own.Environments = slices.Clone(own.Environments)
	refused := map[int]bool{}
	for i := range own.Environments {
		if !check(index(at+".environments", i), &own.Environments[i]) {
			refused[i] = true
		}
	}
	own.Environments = keep(s, at+".environments", own.Environments, refused)
}
