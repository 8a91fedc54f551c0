package profiles

import (
	"time"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/spelling"
)

// importIndex answers imports of one executor. Decisions for listed names are
// made once, so that a decision costs a map lookup a dot.
type importIndex struct {
	modules.Index[*Decision]
	executor string
	rule     *Rule // where the allow list stands
	any      *Rule
}

func newImportIndex(im *Imports, executor, revision string, now time.Time) *importIndex {
	x := &importIndex{executor: executor, rule: known(&im.Rule), any: im.Any}
	x.JavaScript = executor == ExecutorJS
	if x.Only = im.Only; !x.JavaScript {
		x.Defaults, x.Any = im.Default, im.Any != nil
	}
	put := func(into *map[string]*Decision, rules []ImportRule, v Verdict, code Code, text string) {
		for i := range rules {
			r := &rules[i]
			if v == Allow && !r.Live(now) {
				continue
			}
			dec := &Decision{Verdict: v, Code: code, Rule: known(&r.Rule), Revision: revision,
				Reason: clip(r.Name) + text}
			if v == Allow && r.Exception != "" {
				dec.Exception, dec.Reason = r.Exception, dec.Reason+" by exception "+r.Exception
			}
			modules.Put(into, r.Name, dec)
		}
	}
	put(&x.Allow, im.Allow, Allow, CodeAllowed, " is allowed")
	put(&x.Everybody, im.Process, Deny, CodeImportDenied, " is denied to everybody, libraries too")
	put(&x.Deny, im.Deny, Deny, CodeImportDenied, " is denied")
	put(&x.Absent, im.Absent, Deny, CodeImportNotAllowed, " is listed, and the policy ships no module of that name")
	x.Ready()
	for name, dec := range x.Absent {
		dec.Instead = spelling.Instead(name, x.Names())
	}
	return x
}

// Import decides whether the program of an executor may load a module. A
// Python name covers its submodules; a JavaScript specifier is allowed exactly
// as listed, and a denied one covers its sub-paths. Deny wins.
func (d *Decider) Import(executor, module string) Decision {
	return d.ImportFor(executor, module, OriginAgent)
}

// ImportFor decides the same by who imports. A library of Python may load the
// standard library, also what the program is denied of it: pandas needs ctypes, and
// asyncio sockets. A third-party module that is denied, and what is denied to the
// whole process, is denied to libraries too. Which packages a library finds beside
// the listed ones is what these declare to need: the environment says it, not the
// policy, and its files are all that a guest has.
func (d *Decider) ImportFor(executor, module, origin string) Decision {
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
	if !modules.Valid(executor == ExecutorJS, module) {
		return d.deny(CodeImportNotAllowed, x.rule, "%q is not a module name of %s", clip(module), executor)
	}
	switch {
	case origin == OriginAgent || origin == "":
		return x.decision(d, module, x.Program(module))
	case origin == OriginLibrary && executor == ExecutorPython:
		return x.decision(d, module, x.Library(module))
	default:
		return d.deny(CodeImportNotAllowed, x.rule, "%s has no imports of a %q", executor, clip(origin))
	}
}

// decision makes an answer of the index a decision of d.
func (x *importIndex) decision(d *Decider, module string, a modules.Answer[*Decision]) Decision {
	allow := func(rule *Rule, why string) Decision {
		return Decision{Verdict: Allow, Code: CodeAllowed, Rule: rule, Revision: d.revision, Reason: module + why}
	}
	switch a.Kind {
	case modules.Listed, modules.Missing:
		return *a.D
	case modules.InDefault:
		return allow(x.rule, " is in the default set of python")
	case modules.Whatever:
		return allow(x.any, " is denied by nothing, and that is allowed")
	case modules.Owned:
		return allow(nil, " is there for every program")
	case modules.Dependency:
		return allow(x.rule, ": a library may load it, where it is there")
	case modules.Denied:
		out := *a.D
		if out.Reason = "import of " + out.Reason; a.Entry != module {
			out.Reason = "import of " + clip(module) + " is denied: " + a.D.Reason
		}
		return out
	case modules.Private:
		return d.deny(CodeImportDenied, nil, "import of %q is denied to everybody: it bypasses the guard of the "+
			"program, and no policy can allow it", clip(module))
	case modules.TakenAway:
		return d.deny(CodeImportNotAllowed, x.rule, "import of %q is not among the grants of the run", clip(module))
	case modules.Beyond:
		dec := d.deny(CodeImportNotAllowed, x.rule, "import of %q is not allowed: it is not in the default set of "+
			"python, and has to be listed", clip(module))
		nameLapsed(&dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Module(!x.JavaScript, module) })
		return dec
	case modules.Unlisted:
	}
	dec := d.deny(CodeImportNotAllowed, x.rule, "import of %q is not allowed", clip(module))
	if names := x.Names(); len(names) > 0 {
		dec.Instead = spelling.Instead(module, names)
	}
	nameLapsed(&dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Module(!x.JavaScript, module) })
	return dec
}
