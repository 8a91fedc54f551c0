package profiles

import (
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/paths"
)

// importIndex answers imports of one executor. Decisions for listed names are
// made once, so that a decision costs a map lookup a dot.
type importIndex struct {
	executor string
	allow    map[string]*Decision
	deny     map[string]*Decision
	absent   map[string]*Decision
	defaults bool
	only     []string // nil: every module
	rule     *Rule
	names    []string // allowed, sorted
	covers   byte     // the byte after which a name covers more names
}

func newImportIndex(im *Imports, executor, revision string) *importIndex {
	x := &importIndex{executor: executor, defaults: im.Default, only: im.Only, rule: known(&im.Rule), covers: '.',
		allow: make(map[string]*Decision, len(im.Allow)), deny: make(map[string]*Decision, len(im.Deny))}
	if executor == ExecutorJS {
		x.covers = '/'
	}
	for i := range im.Allow {
		r := &im.Allow[i]
		if x.allow[r.Name] == nil {
			x.names = append(x.names, r.Name)
			x.allow[r.Name] = &Decision{Verdict: Allow, Code: CodeAllowed, Rule: known(&r.Rule), Revision: revision,
				Reason: clip(r.Name) + " is allowed"}
		}
	}
	slices.Sort(x.names)
	for i := range im.Absent {
		r := &im.Absent[i]
		if x.absent == nil {
			x.absent = make(map[string]*Decision, len(im.Absent))
		}
		x.absent[r.Name] = &Decision{Code: CodeImportNotAllowed, Rule: known(&r.Rule), Revision: revision, Instead: nearest(r.Name, x.names),
			Reason: fmt.Sprintf("%s is listed, and the policy ships no module of that name", clip(r.Name))}
	}
	for i := range im.Deny {
		r := &im.Deny[i]
		if x.deny[r.Name] == nil {
			x.deny[r.Name] = &Decision{Code: CodeImportDenied, Rule: known(&r.Rule), Revision: revision,
				Reason: "import of " + clip(r.Name) + " is denied"}
		}
	}
	return x
}

// Import decides whether the program of an executor may load a module. A
// Python name covers its submodules; a JavaScript specifier is allowed exactly
// as listed, and a denied one covers its sub-paths. Deny wins.
func (d *Decider) Import(executor, module string) Decision {
	if dec, closed := d.refuse(); closed {
		return dec
	}
	var x *importIndex
	switch executor {
	case ExecutorJS:
		x = d.js
	case ExecutorPython:
		x = d.python
	default:
		return d.deny(CodeExecutorUnavailable, nil, "no executor that imports modules is called %q", clip(executor))
	}
	if x == nil {
		return d.notGranted(executor)
	}
	if !validModule(executor, module) {
		return d.deny(CodeImportNotAllowed, x.rule, "%q is not a module name of %s", clip(module), executor)
	}
	return d.decideImport(x, module)
}

func (d *Decider) decideImport(x *importIndex, module string) Decision {
	if x.only != nil && !modules.Covered(module, x.only) {
		return d.deny(CodeImportNotAllowed, x.rule, "import of %q is not among the grants of the run", clip(module))
	}
	if dec := paths.Closest(x.deny, module, x.covers); dec != nil {
		out := *dec
		if x.deny[module] == nil {
			out.Reason = "import of " + clip(module) + " is denied: " + out.Reason[len("import of "):]
		}
		return out
	}
	if x.executor == ExecutorJS {
		if dec := x.allow[module]; dec != nil {
			return *dec
		}
	} else if dec := paths.Closest(x.allow, module, x.covers); dec != nil {
		return *dec
	}
	if x.executor == ExecutorPython && x.defaults && modules.PythonDefault(module) {
		return Decision{Verdict: Allow, Code: CodeAllowed, Rule: x.rule, Revision: d.revision,
			Reason: module + " is in the default set of python"}
	}
	if dec := x.absent[module]; dec != nil {
		return *dec
	}
	dec := d.deny(CodeImportNotAllowed, x.rule, "import of %q is not allowed", clip(module))
	if len(x.names) > 0 {
		dec.Instead = nearest(module, x.names)
	}
	return dec
}

// validModule reports whether a name is one that an executor imports.
func validModule(executor, name string) bool {
	if executor == ExecutorPython {
		return len(name) <= 255 && modules.Dotted(name)
	}
	return modules.Specifier(name)
}
