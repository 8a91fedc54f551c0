package compiler

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// code compiles the JavaScript, Python and modules of a document.
type code struct{ *document }

func (d code) python(py *schema.Python, rule profiles.Rule) *profiles.Python {
	if py == nil {
		py = &schema.Python{}
	}
	const at = "spec.executors.python"
	out := &profiles.Python{Limits: limiter(d).limits(profiles.ExecutorPython, at+".limits", py.Limits),
		Rule: rule, JIT: grantedUnless(false, py.JIT),
		Imports:     profiles.Imports{Rule: d.ruleOr(at+".imports.allow", rule)},
		EndOnDenied: py.OnDenied == "end", Environments: d.environments(at, py)}
	d.pythonImports(at+".imports", py.Imports, &out.Imports)
	if out.EngineRule = d.ruleOr(at+".tier", profiles.Rule{}); py.Tier == "wasm" {
		if out.Engine = profiles.PythonWasm; !d.pythonWasm {
			d.report(at+".tier", CodeEngine,
				"`make python-wasm` places it beside ringd; or leave it out to run programs in the host's own "+
					"interpreter, in the kernel ring",
				"this host has no WebAssembly engine of Python, which the policy requires")
		}
	} else if py.Tier != "" && py.Tier != "os-sandbox" {
		d.report(at+".tier", CodeUnsupported, "", "no engine of Python is called %q", clip(py.Tier))
	}
	for i, name := range py.DenyBuiltins {
		here := fmt.Sprintf("%s.builtins.deny[%d]", at, i)
		if !schema.Identifier(name) {
			d.report(here, codeNeverMatches, "", "%q is not the name of a builtin", clip(name))
			continue
		}
		out.DenyBuiltins = append(out.DenyBuiltins, profiles.ImportRule{Name: name, Rule: d.rule(here)})
	}
	return out
}

// pythonImports compiles the import lists. An allow list that is absent or empty grants the default set,
// since an interpreter without json is useless.
func (d code) pythonImports(at string, im *schema.PythonImports, out *profiles.Imports) {
	if im == nil {
		im = &schema.PythonImports{}
	}
	for i, name := range im.Deny {
		out.Deny = d.pythonName(out.Deny, fmt.Sprintf("%s.deny[%d]", at, i), name)
	}
	for i, name := range im.DenyProcess {
		out.Process = d.pythonName(out.Process, fmt.Sprintf("%s.denyProcess[%d]", at, i), name)
	}
	written := 0
	for i, name := range im.Allow {
		here := fmt.Sprintf("%s.allow[%d]", at, i)
		if !d.appended(here) {
			written++
		}
		if name == "*" {
			if out.Any == nil {
				rule := d.rule(here)
				out.Any = &rule
			}
			continue
		}
		out.Allow = d.pythonName(out.Allow, here, name)
	}
	out.Default, out.Only = written == 0 && !im.Listed, im.Within
	d.overruled(at+".allow", at+".deny", im.Allow, im.Deny, '.')
	d.overruled(at+".allow", at+".denyProcess", im.Allow, im.DenyProcess, '.')
}

// pythonName adds a dotted name to the list. The name pandas.* means the same as pandas: the module and its
// submodules. The compact form also lists JavaScript modules here, whose names cannot be Python imports.
func (d code) pythonName(list []profiles.ImportRule, at, name string) []profiles.ImportRule {
	short := strings.TrimSuffix(name, ".*")
	if !schema.DottedName(short) {
		if !d.policy.Compact {
			d.report(at, codeNeverMatches, "", "%q is not a dotted module name", clip(name))
		}
		return list
	}
	rule := profiles.ImportRule{Name: short, Rule: d.rule(at)}
	rule.Exception, rule.Expires = d.grantingException(at)
	return append(list, rule)
}

// environments compiles the package folders, in their order.
func (d code) environments(at string, py *schema.Python) (out []profiles.PythonEnvironment) {
	add := func(at string, e schema.Environment) {
		here := at + ".path"
		if !schema.CleanAbsolute(e.Path) {
			d.report(here, codePath, schema.CleanHint(e.Path), "%q is not a clean absolute path", clip(e.Path))
		} else if !d.oddPath(here, e.Path, "name the folder of the environment") {
			out = append(out, profiles.PythonEnvironment{Path: e.Path, Digest: e.Digest, Rule: d.rule(here)})
		}
	}
	if py.Environment != nil {
		add(at+".environment", *py.Environment)
	}
	for i, e := range py.Environments {
		add(fmt.Sprintf("%s.environments[%d]", at, i), e)
	}
	return out
}

// overruled warns of allowed names that have no effect, because a denied name covers them. If a name is in
// both lists, package schema has a finding.
func (d code) overruled(allowAt, denyAt string, allow, deny []string, sep byte) {
	for _, o := range known.Overruled(allow, deny, sep) {
		here, other := d.rule(fmt.Sprintf("%s[%d]", allowAt, o.Allow)), d.rule(fmt.Sprintf("%s[%d]", denyAt, o.Deny))
		d.reportAt(here, schema.Diagnostic{Code: codeDenyWins, Msg: fmt.Sprintf("%s is denied at %s, and a denial wins",
			clip(allow[o.Allow]), posOf(other))}, true, other)
	}
}

// pythonFindings reports the findings about the import lists of a compiled agent.
func (d code) pythonFindings(agent profiles.Agent) {
	for _, f := range known.CheckImports(known.ImportsConfig{Agent: agent, Compact: d.policy.Compact}) {
		d.reportAt(f.Rule, schema.Diagnostic{Code: f.Code, Msg: f.Msg, Hint: f.Hint}, f.Warning)
	}
}
