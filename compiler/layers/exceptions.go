package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// Codes of findings about exceptions. They are API.
const (
	CodeExpired         = "exception-expired"   // it has ended, or the time is unknown
	codeApprover        = "exception-approver"  // an owner of a layer whose ceiling it exceeds has not approved it
	codeUnneeded        = "exception-unneeded"  // its grants are within every ceiling
	codeDenied          = "denied-by-parent"    // a layer denies the grant, and an exception cannot end a denial
	codeExceptionWidens = "widens-parent"       // a layer offers it with restrictions, which the exception would bypass
	codeDuplicate       = "exception-duplicate" // a layer above has one with the same ID
	codeDate            = "date"                // not a date
)

// Chain holds the documents of one chain as their authors wrote them, the outermost first. The exceptions
// that are checked are those of the last document.
type Chain []*schema.Policy

func (c Chain) last() *schema.Policy { return c[len(c)-1] }

// grant is one thing that an exception grants.
type grant struct {
	path     string // in the author's document
	name     string
	executor string // for an import
	program  bool
	egress   *schema.Egress
}

// says returns what a document says about the grant.
func (g grant) says(p *schema.Policy) Answer {
	switch {
	case g.egress != nil:
		return answerHost(p, *g.egress)
	case g.program:
		return answerProgram(p, g.name)
	default:
		a := answerImport(p, g.executor, g.name)
		if g.executor == "python" && a.Word == offers && a.Path == atPython && holdsOutside(g.name) {
			a.Word = withholds // the default set has only a part of it
		}
		return a
	}
}

// holdsOutside reports whether a module has submodules that are not in the default set.
func holdsOutside(name string) bool {
	below := strings.TrimSuffix(name, ".*") + "."
	return slices.ContainsFunc(modules.OutsideNames(), func(o string) bool { return strings.HasPrefix(o, below) })
}

// same reports whether e grants the item of g, or an item that covers it.
func (g grant) same(e *schema.Exception) bool {
	alone := &schema.Policy{Spec: schema.Spec{
		Executors: &schema.Executors{JS: &schema.JS{Imports: &schema.Imports{Allow: e.Grants.Imports}},
			Python: &schema.Python{Imports: &schema.PythonImports{Allow: e.Grants.Imports}},
			Shell:  &schema.Shell{Binaries: programs(e)}},
		Network: &schema.Network{Egress: e.Grants.Egress}}}
	if len(e.Grants.Imports) == 0 && g.egress == nil && !g.program || len(e.Grants.Egress) == 0 && g.egress != nil ||
		len(e.Grants.Binaries) == 0 && g.program {
		return false
	}
	return g.says(alone).Word == offers
}

func programs(e *schema.Exception) []schema.Binary {
	out := make([]schema.Binary, len(e.Grants.Binaries))
	for i, p := range e.Grants.Binaries {
		out[i] = schema.Binary{Path: p}
	}
	return out
}

// exceptionExecutors returns the executor for which a document's exception grants a module. A JavaScript
// specifier is for JavaScript, a dotted name for Python. A plain name is for Python if the document allows
// Python, and otherwise for JavaScript.
func exceptionExecutors(p *schema.Policy, name string) string {
	switch {
	case strings.ContainsAny(name, ":@/-"):
		return "js"
	case strings.Contains(name, "."):
		return "python"
	case p.Kind == "AgentPolicy" && p.Spec.Executors != nil && !slices.Contains(p.Spec.Executors.Allowed, "python"):
		return "js"
	default:
		return "python"
	}
}

func grants(p *schema.Policy, i int) (out []grant) {
	e := &p.Spec.Exceptions[i]
	at := fmt.Sprintf("spec.exceptions[%d].grants", i)
	for j, name := range e.Grants.Imports {
		out = append(out, grant{path: fmt.Sprintf("%s.imports[%d]", at, j), name: name,
			executor: exceptionExecutors(p, name)})
	}
	for j := range e.Grants.Egress {
		out = append(out, grant{path: fmt.Sprintf("%s.egress[%d]", at, j), name: e.Grants.Egress[j].Host,
			egress: &e.Grants.Egress[j]})
	}
	for j, name := range e.Grants.Binaries {
		out = append(out, grant{path: fmt.Sprintf("%s.binaries[%d]", at, j), name: name, program: true})
	}
	return out
}

// ExceptionEnd parses the end of an exception or another grant. A date means its first moment.
func ExceptionEnd(text string) (time.Time, bool) {
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04:05Z"} {
		if at, err := time.Parse(form, text); err == nil && !at.IsZero() {
			return at, true
		}
	}
	return time.Time{}, false
}

// exceeded lists the layers above whose ceiling a grant exceeds: they do not offer the grant, and no document
// between the layer and the last document has an exception for it. denied is the layer that denies the grant,
// or -1.
func (c Chain) exceeded(g grant) (over []int, denied int) {
	denied = -1
	for i, p := range c[:len(c)-1] {
		switch g.says(p).Word {
		case Denies:
			denied = i
		case withholds:
			if c.lifted(g, i+1, len(c)-1) == nil {
				over = append(over, i)
			}
		case silent, offers:
		}
	}
	return over, denied
}

// lifted returns an exception that covers a grant, in the documents from..to-1, or nil.
func (c Chain) lifted(g grant, from, to int) *schema.Exception {
	for _, p := range c[from:to] {
		for i := range p.Spec.Exceptions {
			if e := &p.Spec.Exceptions[i]; g.same(e) {
				return e
			}
		}
	}
	return nil
}

// stands returns the exception with which a grant ends, or nil if all layers offer the grant. Each layer that
// does not offer the grant needs an exception that the layer's owner has approved. If a layer has several,
// the one that ends last is used. Of the exceptions of all layers, the one that ends first is returned.
func (c Chain) stands(g grant) (by *schema.Exception) {
	for i, layer := range c[:len(c)-1] {
		if g.says(layer).Word != withholds {
			continue
		}
		e := c[i+1:].lasting(g, layer.Metadata.Owner)
		if own := c[i:i+1].lasting(g, ""); own != nil && (e == nil || sooner(e, own)) {
			e = own // the layer's own exception makes its list longer as well
		}
		if e == nil {
			e = c.lifted(g, i+1, len(c)) // the missing owner is already a finding
		}
		if e != nil && (by == nil || sooner(e, by)) {
			by = e
		}
	}
	return by
}

// lasting returns the exception that covers a grant and that ends last. Only exceptions that approver has
// approved are used. If approver is empty, all exceptions are used.
func (c Chain) lasting(g grant, approver string) (out *schema.Exception) {
	for _, p := range c {
		for i := range p.Spec.Exceptions {
			e := &p.Spec.Exceptions[i]
			if (approver == "" || slices.Contains(e.ApprovedBy, approver)) && g.same(e) &&
				(out == nil || sooner(out, e)) {
				out = e
			}
		}
	}
	return out
}

// sooner reports whether an exception ends before another one.
func sooner(a, b *schema.Exception) bool {
	x, _ := ExceptionEnd(a.Expires)
	y, _ := ExceptionEnd(b.Expires)
	return x.Before(y)
}

// checkExceptions reports the errors in the exceptions of the last document. At the zero time every exception
// has ended.
func checkExceptions(c Chain, now time.Time) (found schema.Diagnostics) {
	p := c.last()
	for i := range p.Spec.Exceptions {
		e := &p.Spec.Exceptions[i]
		at := fmt.Sprintf("spec.exceptions[%d]", i)
		k := &checker{chain: c, doc: p, e: e, at: at}
		k.unique()
		k.ending(now)
		k.lifts(i)
		found = append(found, k.found...)
	}
	return found
}

// checker checks one exception.
type checker struct {
	chain Chain
	doc   *schema.Policy
	e     *schema.Exception
	at    string
	found schema.Diagnostics
}

func (k *checker) add(path, code, hint, msg string, related ...schema.Pos) {
	o := schema.OriginOf(k.doc, path)
	if o.Path != "" {
		msg = o.Path + ": " + msg
	}
	k.found = append(k.found, schema.Diagnostic{Pos: o.Pos, Code: code, Msg: msg, Hint: hint, Related: related})
}

func (k *checker) warn(path, code, hint, msg string, related ...schema.Pos) {
	k.add(path, code, hint, msg, related...)
	k.found[len(k.found)-1].Severity = schema.Warning
}

// unique checks the ID, because records name exceptions by ID.
func (k *checker) unique() {
	for _, p := range k.chain[:len(k.chain)-1] {
		for i := range p.Spec.Exceptions {
			if p.Spec.Exceptions[i].ID != k.e.ID {
				continue
			}
			other := schema.OriginOf(p, fmt.Sprintf("spec.exceptions[%d].id", i)).Pos
			k.add(k.at+".id", codeDuplicate, "give it a unique id: records name the exception by it",
				fmt.Sprintf("%s is another exception at %s", k.e.ID, other), other)
			return
		}
	}
}

func (k *checker) ending(now time.Time) {
	end, ok := ExceptionEnd(k.e.Expires)
	switch {
	case !ok:
		k.add(k.at+".expires", codeDate, "write a day such as 2026-12-31, or a time such as 2026-12-31T12:00:00Z",
			fmt.Sprintf("%q is no day of the calendar, or no time of a day", k.e.Expires))
	case now.IsZero():
		k.add(k.at+".expires", CodeExpired, "leave the exception out where the time is not known",
			k.e.ID+" ends, and the time is not known here")
	case !now.Before(end):
		k.add(k.at+".expires", CodeExpired, "leave the exception out, or let its approvers set a later end",
			fmt.Sprintf("%s ended at %s", k.e.ID, end.Format(time.RFC3339)))
	}
}

// lifts checks the approvals of the exception, and whether its grants exceed the ceiling of any layer.
func (k *checker) lifts(i int) {
	all := grants(k.doc, i)
	over := map[int]string{} // the layers whose ceiling it exceeds, and where each one lists what it offers
	var idle []grant
	for _, g := range all {
		layers, denied := k.chain.exceeded(g)
		switch {
		case denied >= 0:
			other := schema.OriginOf(k.chain[denied], g.says(k.chain[denied]).Path)
			k.add(g.path, codeDenied, "leave it out: an exception can lift a ceiling, never a denial",
				fmt.Sprintf("%s is denied by %s (%s)", clip(g.name), other.Pos, layerName(k.chain[denied])), other.Pos)
			continue
		case !k.within(g):
			continue
		case len(layers) == 0:
			idle = append(idle, g)
		}
		for _, l := range layers {
			if _, known := over[l]; !known {
				over[l] = g.says(k.chain[l]).Path
			}
		}
	}
	k.approvers(over)
	const hint = "grant it like any other grant, and leave it out here"
	switch {
	case len(all) == 0:
		k.warn(k.at+".grants", codeUnneeded, "leave the exception out", k.e.ID+" grants nothing")
	case len(idle) == len(all):
		k.warn(k.at+".id", codeUnneeded, "move its grants to the other grants, and leave the exception out",
			k.e.ID+" has no effect: "+k.inside())
	default:
		for _, g := range idle {
			k.warn(g.path, codeUnneeded, hint, fmt.Sprintf("%s needs no exception: %s", clip(g.name), k.inside()))
		}
	}
}

func (k *checker) inside() string {
	if len(k.chain) == 1 {
		return "there is no layer above"
	}
	return "no layer above forbids it"
}

func (k *checker) approvers(over map[int]string) {
	for _, l := range slices.Sorted(maps.Keys(over)) {
		p := k.chain[l]
		if slices.Contains(k.e.ApprovedBy, p.Metadata.Owner) {
			continue
		}
		other := schema.OriginOf(p, over[l]).Pos
		k.add(k.at+".approvedBy", codeApprover, fmt.Sprintf("ask %s, and name it here when it has agreed",
			p.Metadata.Owner),
			fmt.Sprintf("%s exceeds %s (%s), and %s, who owns that, has not approved it", k.e.ID, other, layerName(p),
				p.Metadata.Owner), other)
	}
}

func layerName(p *schema.Policy) string { return p.Kind + " " + p.Metadata.Name }
