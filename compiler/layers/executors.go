package layers

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// mergeExecutors merges the executors with those of the ceiling. Each executor is also bounded by the
// ceiling's limits for all executors.
func mergeExecutors(s *step, own, above *schema.Spec, w site) {
	if above.Executors == nil && (above.Limits == nil || own.Executors == nil) || own.Executors == nil && s.grants {
		return
	}
	w = w.field("executors")
	s.inheritOrigin(w)
	own.Executors = copied(own.Executors)
	e := own.Executors
	asked := e.Allowed
	s.mergeStruct(e, copied(above.Executors), w)
	for _, name := range asked {
		if !slices.Contains(e.Allowed, name) {
			unset(e, name) // so that the configuration of the executor is not a second mistake
		}
	}
}

// unset removes the configuration of an executor.
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

func mergeJS(s *step, own, above *schema.Executors, w site) {
	own.JS = mergeExecutor(s, "js", own.JS, above.JS, w)
}

func mergePython(s *step, own, above *schema.Executors, w site) {
	own.Python = mergeExecutor(s, "python", own.Python, above.Python, w)
}

func mergeShell(s *step, own, above *schema.Executors, w site) {
	own.Shell = mergeExecutor(s, "shell", own.Shell, above.Shell, w)
}

// mergeExecutor merges the configuration of one executor with the ceiling. An agent has an executor only if
// the agent allows or configures it. If neither the agent nor a layer above configures the executor, the
// result is nil.
func mergeExecutor[T any](s *step, name string, own, above *T, w site) *T {
	if above == nil && s.parent.Spec.Limits == nil ||
		own == nil && s.grants && !slices.Contains(s.child.Spec.Executors.Allowed, name) {
		return own
	}
	w = w.field(name)
	if above != nil {
		s.inheritOrigin(w)
	}
	out := copied(own)
	s.mergeStruct(out, copied(above), w)
	if own == nil && reflect.ValueOf(*out).IsZero() {
		return nil
	}
	return out
}

func mergeJSImports(s *step, own, above *schema.JS, w site) {
	if above.Imports == nil || own.Imports == nil && s.grants && above.Imports.Deny == nil {
		return
	}
	w = w.field("imports")
	s.inheritOrigin(w)
	own.Imports = copied(own.Imports)
	s.mergeStruct(own.Imports, above.Imports, w)
}

// mergeJSAllow merges specifiers, which are allowed only as listed.
func mergeJSAllow(s *step, own, above *schema.Imports, w site) {
	allow, deny := w.field("allow"), w.field("deny")
	if own.Allow == nil {
		if !s.grants && above.Allow != nil {
			own.Allow = inherit(s, allow, above.Allow)
		}
		return
	}
	denied, offered := namesOf(above.Deny), namesOf(above.Allow)
	refused := map[int]bool{}
	for i, name := range own.Allow {
		name = plainName(name)
		here := index(allow.own, i)
		if j, ok := denied.cover(name, '/'); ok {
			s.denied(site{here, index(deny.above, j)}, name)
		} else if _, ok := offered[name]; above.Allow != nil && !ok {
			s.notAllowed(site{here, allow.above}, name, above.Allow)
		} else {
			continue
		}
		refused[i] = true
	}
	own.Allow = keep(s, allow.own, own.Allow, refused)
}

func mergeJSDeny(s *step, own, above *schema.Imports, w site) {
	own.Deny = accumulate(s, w.field("deny"), own.Deny, above.Deny, plainName)
}

// plainName returns a module name without a redundant .* at its end.
func plainName(name string) string { return strings.TrimSuffix(name, ".*") }

// nameSet maps names to their position in a list.
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

// cover returns the position of name, or of its nearest parent.
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

// mergePythonAllow merges a module list with the list of the layer above. A list that is absent or empty
// means the default set. A child without a list gets the modules of the default set that the layer above
// allows.
func mergePythonAllow(s *step, own, above *schema.PythonImports, w site) {
	allow := w.field("allow")
	switch {
	case own.Allow == nil && !s.grants:
		own.Within, own.Beside = above.Within, above.Beside
		if above.Allow != nil {
			own.Allow = inherit(s, allow, above.Allow)
		}
	case len(own.Allow) == 0:
		if within := pythonWithin(above); own.Within == nil {
			own.Within = within
		} else if within != nil && !slices.Equal(own.Within, within) {
			own.Within = modules.Within(own.Within, within)
		}
	default:
		own.Within = nil
		own.Allow = pythonAllowed(s, own.Allow, above, w)
		if len(own.Allow) == 0 { // every entry was rejected, and an empty list must not become the default set
			own.Within = []string{}
		}
	}
}

func mergePythonDeny(s *step, own, above *schema.PythonImports, w site) {
	own.Deny = accumulate(s, w.field("deny"), own.Deny, above.Deny, plainName)
}

func mergePythonDenyProcess(s *step, own, above *schema.PythonImports, w site) {
	own.DenyProcess = accumulate(s, w.field("denyProcess"), own.DenyProcess, above.DenyProcess, plainName)
}

// pythonWithin returns the modules of the default set that a list of the layer above allows. It returns nil
// if there are none.
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

// pythonAllowed returns the modules of a list that the layer above allows.
func pythonAllowed(s *step, own []string, above *schema.PythonImports, w site) []string {
	allow := w.field("allow")
	denied, process, offered := namesOf(above.Deny), namesOf(above.DenyProcess), namesOf(above.Allow)
	var within nameSet
	if above.Within != nil {
		within = namesOf(above.Within)
	}
	_, all := offered["*"]
	refused := map[int]bool{}
	for i, name := range own {
		here := site{index(allow.own, i), allow.above}
		name = plainName(name)
		if j, ok := denied.cover(name, '.'); ok {
			s.denied(site{here.own, index(w.above+".deny", j)}, name)
		} else if j, ok := process.cover(name, '.'); ok {
			s.denied(site{here.own, index(w.above+".denyProcess", j)}, name)
		} else if all || above.Allow == nil && within == nil {
			continue
		} else if _, ok := offered.cover(name, '.'); ok || modules.Own(name) {
			continue
		} else if len(above.Allow) > 0 && !above.Beside {
			refuseModule(s, here, name, above.Allow)
		} else if why := outsideDefault(name, within); why != "" {
			s.refuse(CodeWidens, here, "let "+s.owner(here.above)+" list it there",
				"%s %s, which is all that %s allows", clip(name), why, s.shown(here.above))
		} else {
			continue
		}
		refused[i] = true
	}
	return keep(s, allow.own, own, refused)
}

// refuseModule reports a module that is not in the list of the layer above.
func refuseModule(s *step, w site, name string, names []string) {
	if name == "*" {
		s.refuse(CodeWidens, w, "list the modules that the agent needs",
			"%q means every module that nothing denies, and %s has a list of allowed modules", "*", s.shown(w.above))
		return
	}
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i] = plainName(n)
	}
	s.notAllowed(w, name, plain)
}

// outsideDefault explains why the default set and within do not contain all submodules of a name.
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

// mergeEnvironments merges package folders. If the layer above has a list of folders, no others are allowed,
// and a child without a list gets all of them.
func mergeEnvironments(s *step, own, above *schema.Python, w site) {
	one, list := w.field("environment"), w.field("environments")
	switch {
	case above.Environment == nil && above.Environments == nil:
		return
	case own.Environment == nil && own.Environments == nil:
		own.Environment = inherit(s, one, above.Environment)
		own.Environments = inherit(s, list, above.Environments)
		return
	}
	offered, where := map[string]schema.Environment{}, map[string]string{}
	var names []string
	add := func(at string, e schema.Environment) {
		offered[e.Path], where[e.Path] = e, at
		names = append(names, e.Path)
	}
	if above.Environment != nil {
		add(one.above, *above.Environment)
	}
	for i, e := range above.Environments {
		add(index(list.above, i), e)
	}
	lists := list.above
	if above.Environments == nil {
		lists = one.above
	}
	refused := func(at string, e *schema.Environment) bool {
		up, ok := offered[e.Path]
		if !ok {
			s.notAllowed(site{at + ".path", lists}, e.Path, names)
			return true
		}
		s.mergeStruct(e, &up, site{at, where[e.Path]})
		return false
	}
	if own.Environment != nil { // a rejected folder stays: the list of the layer must not replace it
		own.Environment = copied(own.Environment)
		refused(one.own, own.Environment)
	}
	own.Environments = slices.Clone(own.Environments)
	out := map[int]bool{}
	for i := range own.Environments {
		if refused(index(list.own, i), &own.Environments[i]) {
			out[i] = true
		}
	}
	own.Environments = keep(s, list.own, own.Environments, out)
}
