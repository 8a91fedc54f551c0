package layers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema"
)

// Codes of findings about chains. They are API.
const (
	CodeNoParent        = "no-parent"        // a policy that is not below the OrgPolicy of its folder
	CodeUnknownParent   = "unknown-parent"   // metadata.parent names no policy
	CodeParentKind      = "parent-kind"      // metadata.parent names a policy of a kind that cannot be its ceiling
	codeParentCycle     = "parent-cycle"     // policies that are parents of each other
	codeDuplicatePolicy = "duplicate-policy" // two policies with one name, or two organisations
)

// Kinds of documents.
const (
	KindOrg   = "OrgPolicy"
	kindTeam  = "TeamPolicy"
	KindAgent = "AgentPolicy"
)

// IsCeiling reports whether a document is a ceiling for others.
func IsCeiling(p *schema.Policy) bool {
	return !p.Compact && (p.Kind == KindOrg || p.Kind == kindTeam)
}

// LayerName returns the name of a layer, such as "OrgPolicy acme".
func LayerName(kind, name string) string { return kind + " " + name }

// Chains holds the parents of all documents.
type Chains struct {
	Parents []int  // of each document; -1: none
	Broken  []bool // the document's chain is incomplete
	Found   schema.Diagnostics
}

// chainsOf finds the parent of every document of a folder, and the errors in the chains.
func chainsOf(policies []schema.Policy) Chains {
	m := &finder{policies: policies, parents: make([]int, len(policies)), broken: make([]bool, len(policies))}
	m.chains()
	return Chains{m.parents, m.broken, m.found}
}

type finder struct {
	policies []schema.Policy
	parents  []int
	broken   []bool
	found    schema.Diagnostics
}

// chains fills in Parents and Broken. A document is broken if its own chain of parents is incomplete.
func (m *finder) chains() {
	byName, org := m.names()
	for i := range m.policies {
		m.parents[i] = -1
		p := &m.policies[i]
		switch {
		case p.Compact:
			if org >= 0 {
				m.unparented(i, org)
			}
		case p.Kind == KindOrg:
			if p.Metadata.Parent != "" {
				m.report(i, "metadata.parent", schema.Diagnostic{Code: CodeParentKind,
					Msg: "nothing is above an OrgPolicy", Hint: "leave it out, or make this a TeamPolicy"})
				m.broken[i] = true
			}
		case p.Metadata.Parent == "":
			if org >= 0 {
				m.unparented(i, org)
			}
		default:
			m.parent(i, byName)
		}
	}
	m.cycles()
	for i := range m.policies {
		for up := m.parents[i]; up >= 0 && !m.broken[i]; up = m.parents[up] {
			m.broken[i] = m.broken[up]
		}
	}
}

// names indexes the documents by name, and finds the organisation, or -1 if there is none. If the folder has
// layers, names must be unique.
func (m *finder) names() (byName map[string]int, org int) {
	byName, org = map[string]int{}, -1
	layered := slices.ContainsFunc(m.policies, func(p schema.Policy) bool {
		return IsCeiling(&p) || p.Metadata.Parent != ""
	})
	order := make([]int, len(m.policies))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return m.origin(a, "metadata.name").Pos.Compare(m.origin(b, "metadata.name").Pos)
	})
	for _, i := range order {
		p := &m.policies[i]
		if p.Compact {
			continue
		}
		name := p.Metadata.Name
		if first, twice := byName[name]; !twice {
			byName[name] = i
		} else if layered {
			other := m.origin(first, "metadata.name").Pos
			m.report(i, "metadata.name", schema.Diagnostic{Code: codeDuplicatePolicy, Related: []schema.Pos{other},
				Msg:  fmt.Sprintf("%q is the name of the policy at %s already", name, other),
				Hint: "give each policy its own name: parent has to name exactly one policy"})
			m.broken[i] = true
			continue
		}
		switch {
		case p.Kind != KindOrg:
		case org < 0:
			org = i
		default:
			other := m.origin(org, "kind").Pos
			m.report(i, "kind", schema.Diagnostic{Code: codeDuplicatePolicy, Related: []schema.Pos{other},
				Msg:  fmt.Sprintf("the organisation has its policy at %s already", other),
				Hint: "make this a TeamPolicy below it; a second organisation would bypass the first"})
			m.broken[i] = true
		}
	}
	return byName, org
}

// parent finds the parent of a document.
func (m *finder) parent(i int, byName map[string]int) {
	p := &m.policies[i]
	twice := m.broken[i] // another policy has the same name
	m.broken[i] = true
	up, ok := byName[p.Metadata.Parent]
	if !ok {
		m.report(i, "metadata.parent", schema.Diagnostic{Code: CodeUnknownParent,
			Msg:  fmt.Sprintf("no policy is called %q", p.Metadata.Parent),
			Hint: m.ceilingNames(p.Metadata.Parent)})
		return
	}
	if above := &m.policies[up]; !IsCeiling(above) {
		pos := m.origin(up, "kind").Pos
		m.report(i, "metadata.parent", schema.Diagnostic{Code: CodeParentKind, Related: []schema.Pos{pos},
			Msg: fmt.Sprintf("%q is of kind %s at %s, and this kind is not a ceiling", p.Metadata.Parent,
				above.Kind, pos),
			Hint: m.ceilingNames("")})
		return
	}
	m.parents[i], m.broken[i] = up, twice
}

// ceilingNames lists the possible parents.
func (m *finder) ceilingNames(word string) string {
	var names []string
	for i := range m.policies {
		if IsCeiling(&m.policies[i]) {
			names = append(names, m.policies[i].Metadata.Name)
		}
	}
	slices.Sort(names)
	if meant := nearestName(word, names); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	if len(names) == 0 {
		return "the folder holds no OrgPolicy and no TeamPolicy: add the one that is meant, or leave parent out"
	}
	return "a parent is an OrgPolicy or a TeamPolicy of the same folder: " +
		strings.Join(names[:min(len(names), 8)], ", ")
}

func nearestName(word string, names []string) string {
	if at := spelling.Of(word, names, spelling.Effort{Names: 1000, Letters: 100_000}); word != "" && at >= 0 {
		return names[at]
	}
	return ""
}

// unparented reports a document that is in the same folder as an OrgPolicy and not below it.
func (m *finder) unparented(i, org int) {
	m.broken[i] = true
	p := &m.policies[i]
	above := LayerName(KindOrg, m.policies[org].Metadata.Name)
	other := m.origin(org, "kind").Pos
	path, msg, hint := "metadata", "names no parent", fmt.Sprintf("write metadata.parent: %s, or a team below it",
		m.policies[org].Metadata.Name)
	if p.Compact {
		path, msg, hint = "", "the compact form names no parent", "write it as an AgentPolicy with metadata.parent"
	}
	m.report(i, path, schema.Diagnostic{Code: CodeNoParent, Related: []schema.Pos{other}, Hint: hint,
		Msg: fmt.Sprintf("%s, and every policy in the folder of %s (%s) has to be under it", msg, above, other)})
}

// cycles reports each cycle of parents once, at its first document.
func (m *finder) cycles() {
	seen := make([]int, len(m.policies)) // 0: not visited; otherwise 1 + the document at which the walk began
	for i := range m.policies {
		at := i
		for at >= 0 && seen[at] == 0 {
			seen[at] = i + 1
			at = m.parents[at]
		}
		if at < 0 || seen[at] != i+1 {
			continue
		}
		circle := []int{at}
		for next := m.parents[at]; next != at; next = m.parents[next] {
			circle = append(circle, next)
		}
		m.circle(circle)
	}
}

func (m *finder) circle(circle []int) {
	first := slices.MinFunc(circle, func(a, b int) int {
		return m.origin(a, "metadata.parent").Pos.Compare(m.origin(b, "metadata.parent").Pos)
	})
	var names []string
	var related []schema.Pos
	for i := first; ; {
		m.broken[i] = true
		name := m.policies[i].Metadata.Name
		if i != first {
			other := m.origin(i, "metadata.parent").Pos
			related = append(related, other)
			name = fmt.Sprintf("%s (%s)", name, other)
		}
		names = append(names, name)
		if i = m.parents[i]; i == first {
			break
		}
	}
	names = append(names, m.policies[first].Metadata.Name)
	m.report(first, "metadata.parent", schema.Diagnostic{Code: codeParentCycle, Related: related,
		Msg:  "policies are above each other: " + strings.Join(names, " -> "),
		Hint: "make one of them name the policy of the organisation, or none"})
	for _, i := range circle {
		m.parents[i] = -1
	}
}

// origin returns the position of a value of a document, or of its nearest parent value.
func (m *finder) origin(i int, path string) schema.Origin {
	return schema.OriginOf(&m.policies[i], path)
}

func (m *finder) report(i int, path string, d schema.Diagnostic) {
	m.found = append(m.found, schema.WithOrigin(m.origin(i, path), d))
}
