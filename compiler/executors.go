package compiler

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// executors compiles the executors. Only those in executors.allowed are granted.
func (d *document) executors(agent *profiles.Agent) {
	e := d.policy.Spec.Executors
	if e == nil {
		agent.Limits = limiter{d}.agentLimits()
		return
	}
	agent.ExecutorsRule = d.rule("spec.executors.allowed")
	if e.MinTier != "" {
		agent.MinTier, agent.MinTierRule = profiles.Tier(e.MinTier), d.rule("spec.executors.minTier")
		if !knownTier(agent.MinTier) {
			d.report("spec.executors.minTier", CodeUnsupported, "", "no tier is called %q", clip(e.MinTier))
		}
	}
	var limits []*profiles.Limits
	for i, name := range e.Allowed {
		at := fmt.Sprintf("spec.executors.allowed[%d]", i)
		rule := d.rule(at)
		switch name {
		case profiles.ExecutorJS:
			agent.JS = code{d}.js(e.JS, rule)
			limits = append(limits, &agent.JS.Limits)
		case profiles.ExecutorPython:
			agent.Python = code{d}.python(e.Python, rule)
			limits = append(limits, &agent.Python.Limits)
		case profiles.ExecutorShell:
			agent.Shell = scripts{d}.shell(e.Shell, rule)
			limits = append(limits, &agent.Shell.Limits)
		default:
			d.report(at, CodeUnsupported, "", "no executor is called %q", clip(name))
		}
	}
	for _, block := range []struct {
		name string
		set  bool
	}{{profiles.ExecutorJS, e.JS != nil}, {profiles.ExecutorPython, e.Python != nil},
		{profiles.ExecutorShell, e.Shell != nil}} {
		if block.set && !slices.Contains(e.Allowed, block.name) {
			d.report("spec.executors."+block.name, codeNotAllowed,
				fmt.Sprintf("add %s to executors.allowed, or leave this out", block.name),
				"%s is configured but not allowed", block.name)
		}
	}
	agent.Limits = limiter{d}.agentLimits(limits...)
}

func knownTier(t profiles.Tier) bool {
	switch t {
	case profiles.TierProcess, profiles.TierWasm, profiles.TierOS, profiles.TierContainer, profiles.TierMicroVM,
		profiles.TierRemote:
		return true
	default:
		return false
	}
}

func (d code) js(js *schema.JS, rule profiles.Rule) *profiles.JS {
	if js == nil {
		js = &schema.JS{}
	}
	const at = "spec.executors.js"
	out := &profiles.JS{Limits: limiter(d).limits(profiles.ExecutorJS, at+".limits", js.Limits), Rule: rule,
		Imports: profiles.Imports{Rule: d.ruleOr(at+".imports.allow", rule)}}
	if js.Imports != nil {
		for i, name := range js.Imports.Deny {
			out.Imports.Deny = append(out.Imports.Deny,
				profiles.ImportRule{Name: strings.TrimSuffix(name, ".*"),
					Rule: d.rule(fmt.Sprintf("%s.imports.deny[%d]", at, i))})
		}
		for i, name := range js.Imports.Allow {
			here := fmt.Sprintf("%s.imports.allow[%d]", at, i)
			if d.useModule(here, name) {
				rule := profiles.ImportRule{Name: name, Rule: d.rule(here)}
				rule.Exception, rule.Expires = d.grantingException(here)
				out.Imports.Allow = append(out.Imports.Allow, rule)
			} else {
				out.Imports.Absent = append(out.Imports.Absent,
					profiles.ImportRule{Name: strings.TrimSuffix(name, ".*"), Rule: d.rule(here)})
			}
		}
		d.overruled(at+".imports.allow", at+".imports.deny", js.Imports.Allow, js.Imports.Deny, '/')
	}
	for i, name := range js.DenyGlobals {
		here := fmt.Sprintf("%s.globals.deny[%d]", at, i)
		if !schema.Identifier(name) {
			d.report(here, codeNeverMatches, "", "%q is not the name of a global", clip(name))
			continue
		}
		if !schema.ReservedGlobal(name) && !d.grantsBridge(name) {
			d.warn(here, codeNeverMatches, "", "no program has a global called %q", clip(name))
		}
		out.DenyGlobals = append(out.DenyGlobals, profiles.ImportRule{Name: name, Rule: d.rule(here)})
	}
	return out
}

// grantsBridge reports whether a bridge has the name of a JavaScript global, or a name that begins with
// the global and a dot.
func (d code) grantsBridge(global string) bool {
	return slices.ContainsFunc(d.policy.Spec.Bridges, func(b schema.Bridge) bool {
		first, _, _ := strings.Cut(b.Name, ".")
		return first == global
	})
}

// filesystem compiles the file lists.
func (d *document) filesystem() profiles.Files {
	fs := d.policy.Spec.Filesystem
	if fs == nil {
		return profiles.Files{}
	}
	list := func(name string, paths []string, under map[string][]string) (out []profiles.PathRule) {
		for i, p := range paths {
			here := fmt.Sprintf("spec.filesystem.%s[%d]", name, i)
			if !schema.CleanFilePath(p) {
				d.report(here, codePath, schema.CleanHint(p), "%q is not a clean path from /, ~ or $WORKSPACE", clip(p))
				continue
			}
			if d.oddPath(here, p, "name the folder: a rule covers everything below its path") {
				continue
			}
			out = append(out, profiles.PathRule{Path: p, Rule: d.rule(here), Within: under[p]})
		}
		return out
	}
	out := profiles.Files{Read: list("read", fs.Read, fs.Under.Read), Write: list("write", fs.Write, fs.Under.Write),
		Deny: list("deny", fs.Deny, nil), Rule: d.rule("spec.filesystem")}
	out.Powers = touchedPowers(fs.Powers)
	for _, granted := range [][]profiles.PathRule{out.Read, out.Write} {
		d.deniedAbove(granted, out.Deny)
	}
	return out
}

// deniedAbove warns of a granted path below a denied one. For a path in both lists, package schema has a
// finding.
func (d *document) deniedAbove(granted, denied []profiles.PathRule) {
	by := make(map[string]*profiles.Rule, len(denied))
	for i := range denied {
		by[denied[i].Path] = &denied[i].Rule
	}
	for _, r := range granted {
		if rule := paths.Closest(by, path.Dir(r.Path), '/'); rule != nil && r.Path != "/" {
			d.reportAt(r.Rule, schema.Diagnostic{Code: codeDenyWins,
				Msg: fmt.Sprintf("%s is denied at %s, and a denial wins", clip(r.Path), posOf(*rule))}, true, *rule)
		}
	}
}

// oddPath reports a path that looks like a pattern. Paths are compared literally, so a denial of /keys/*
// would cover nothing. That would be worse than the cost of this check: a file whose name really has such
// a character cannot be listed.
func (d *document) oddPath(at, p, patternHint string) bool {
	why, hint := schema.OddPath(p, patternHint)
	if why != "" {
		d.report(at, codePath, hint, why, clip(p))
	}
	return why != ""
}
