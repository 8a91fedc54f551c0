package compiler

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// FurtherFindings reports the other errors in documents that have rejected parts, so that an author sees every
// mistake at once. refused maps each file to the author's paths of its rejected parts, like
// [schema.Reading.Refused]. No set is built. Findings that a rejected part may have caused are left out, so
// that one mistake is one finding.
func FurtherFindings(cfg Config, refused map[string][]string) schema.Diagnostics {
	if len(cfg.Policies) == 0 {
		return nil
	}
	_, found := Compile(cfg)
	p := furtherCheck{refused: refused}
	for _, paths := range refused {
		whole := slices.Contains(paths, "")
		p.unnamed = p.unnamed || whole || slices.ContainsFunc(paths, func(at string) bool {
			return related(at, "metadata.name") || related(at, "metadata.parent") || related(at, "kind") ||
				related(at, "spec.agents")
		})
	}
	return slices.DeleteFunc(found, p.caused)
}

type furtherCheck struct {
	refused map[string][]string
	unnamed bool // a document whose name, kind or parent is unknown
}

// caused reports whether a rejected part may have caused a finding.
func (p *furtherCheck) caused(d schema.Diagnostic) bool {
	paths, here := p.refused[d.Pos.File]
	at, _, ok := strings.Cut(d.Msg, ": ")
	if !ok || strings.ContainsAny(at, " ") {
		at = ""
	}
	switch {
	case here && d.Severity == schema.Warning: // the intention of the rest is unknown
		return true
	case here && slices.ContainsFunc(paths, func(q string) bool { return related(at, q) || dependOnEachOther(at, q) }):
		return true
	case p.unnamed && slices.Contains([]string{layers.CodeNoParent, layers.CodeUnknownParent, layers.CodeParentKind,
		codeDuplicateAgent}, d.Code):
		return true
	}
	return slices.ContainsFunc(d.Related, func(o schema.Pos) bool {
		_, there := p.refused[o.File]
		return there && o.File != d.Pos.File // the document with which it is compared is incomplete
	})
}

// related reports whether one path equals or contains the other. An empty path contains everything.
func related(a, b string) bool {
	if a == "" || b == "" {
		return true
	}
	inside := func(a, b string) bool {
		rest, ok := strings.CutPrefix(a, b)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return inside(a, b) || inside(b, a)
}

// dependOnEachOther reports whether two paths of one policy depend on each other although neither contains
// the other: the list of languages and their configuration, a program's rules and their examples.
func dependOnEachOther(at, refused string) bool {
	if strings.HasPrefix(refused, "spec.executors.allowed") || refused == "spec.executors" {
		return strings.HasPrefix(at, "spec.executors.") && strings.Count(at, ".") == 2
	}
	for _, list := range []string{"spec.executors.shell.binaries[", "spec.executors.shell.denyPatterns["} {
		i, j := strings.Index(at, ".match["), strings.Index(at, ".notMatch[")
		if k := max(i, j); strings.HasPrefix(at, list) && k > 0 && strings.HasPrefix(refused, at[:k+1]) {
			return true
		}
	}
	return false
}
