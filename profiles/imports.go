package profiles

import (
	"time"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/spelling"
)

// importIndex decides the imports of one executor. The decisions on listed names are precomputed. A decision
// on a name costs one map lookup for each dot in the name.
type importIndex struct {
	modules.Index[*Decision]
	executor string
	rule     *Rule // rule of the allow list
	any      *Rule
}

func newImportIndex(im *Imports, executor, revision string, now time.Time) *importIndex {
	x := &importIndex{executor: executor, rule: ruleOrNil(&im.Rule), any: im.Any}
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
			dec := &Decision{Verdict: v, Code: code, Rule: ruleOrNil(&r.Rule), Revision: revision,
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

// Import decides whether the program of an executor may load a module. A Python name covers its submodules. A
// JavaScript specifier is allowed only exactly as listed, but a denied specifier also covers its sub-paths.
// If a module is both allowed and denied, it is denied.
func (d *Decider) Import(executor, module string) Decision {
	return d.ImportFor(executor, module, OriginAgent)
}

// ImportFor is [Decider.Import] for an origin. A Python library may load the whole standard library, even if
// the program is denied a part of it: pandas needs ctypes, and asyncio needs sockets. A third-party module
// that is denied, and a denial for the whole process, bind libraries too. The environment, not the policy,
// decides which other packages a library finds: those that the listed packages declare as dependencies. A
// guest has only the files of the listed packages and of their dependencies.
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

// decision turns an answer of the index into a decision of d.
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
		addEnded(&dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Module(!x.JavaScript, module) })
		return dec
	case modules.Unlisted:
	}
	dec := d.deny(CodeImportNotAllowed, x.rule, "import of %q is not allowed", clip(module))
	if names := x.Names(); len(names) > 0 {
		dec.Instead = spelling.Instead(module, names)
	}
	addEnded(&dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Module(!x.JavaScript, module) })
	return dec
}
