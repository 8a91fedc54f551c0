package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

const (
	atJS         = "spec.executors.js.imports.allow"
	atPython     = "spec.executors.python.imports.allow"
	atProgram    = "spec.executors.shell.binaries"
	atEgressList = "spec.network.egress"
)

// widenCeiling returns a ceiling with the grants of the exceptions in doc, which is a document below the
// ceiling or the ceiling itself. Lists that exist get the missing grants, with the positions of the
// exceptions. The ceiling that was passed is not changed.
func widenCeiling(ceiling schema.Policy, doc *schema.Policy) schema.Policy {
	w := &widener{to: &ceiling, doc: doc}
	if len(doc.Spec.Exceptions) == 0 {
		return ceiling
	}
	w.own()
	for i := range doc.Spec.Exceptions {
		for _, g := range grants(doc, i) {
			if g.says(&ceiling).Word == withholds {
				w.add(g)
			}
		}
	}
	return ceiling
}

// widener adds grants to the lists of its own copy of a policy.
type widener struct {
	to     *schema.Policy
	doc    *schema.Policy // the document of the exceptions
	create bool           // create absent lists
}

// own copies everything that may be modified.
func (w *widener) own() {
	w.to.Origins = maps.Clone(w.to.Origins)
	if w.to.Origins == nil {
		w.to.Origins = map[string]schema.Origin{}
	}
	if e := w.to.Spec.Executors; e != nil {
		e = copiedPolicy(e)
		if e.JS != nil {
			e.JS = copiedPolicy(e.JS)
			e.JS.Imports = copiedPolicy(e.JS.Imports)
			e.JS.Imports.Allow = slices.Clip(e.JS.Imports.Allow)
		}
		if e.Python != nil {
			e.Python = copiedPolicy(e.Python)
			e.Python.Imports = copiedPolicy(e.Python.Imports)
			e.Python.Imports.Allow = slices.Clip(e.Python.Imports.Allow)
		}
		if e.Shell != nil {
			e.Shell = copiedPolicy(e.Shell)
			e.Shell.Binaries = slices.Clip(e.Shell.Binaries)
		}
		w.to.Spec.Executors = e
	}
	if n := w.to.Spec.Network; n != nil {
		w.to.Spec.Network = copiedPolicy(n)
		w.to.Spec.Network.Egress = slices.Clip(n.Egress)
	}
}

func copiedPolicy[T any](p *T) *T {
	out := new(T)
	if p != nil {
		*out = *p
	}
	return out
}

// add appends a grant to its list and returns its path, or "" if there is no such list.
func (w *widener) add(g grant) string {
	spec := &w.to.Spec
	if w.create && spec.Executors == nil {
		spec.Executors = &schema.Executors{}
	}
	switch {
	case g.egress != nil:
		if w.create && spec.Network == nil {
			spec.Network = &schema.Network{}
		}
		if spec.Network == nil || spec.Network.Egress == nil && !w.create {
			return ""
		}
		spec.Network.Egress = append(spec.Network.Egress, *g.egress)
		return w.place(g, atEgressList, len(spec.Network.Egress)-1)
	case g.program:
		sh := spec.Executors.Shell
		if w.create && sh == nil {
			sh = &schema.Shell{}
			spec.Executors.Shell = sh
		}
		if sh == nil || sh.Binaries == nil && !w.create {
			return ""
		}
		sh.Binaries = append(sh.Binaries, schema.Binary{Path: g.name})
		return w.place(g, atProgram, len(sh.Binaries)-1)
	case g.executor == "js":
		js := spec.Executors.JS
		if w.create && (js == nil || js.Imports == nil) {
			js = copiedPolicy(js)
			js.Imports = copiedPolicy(js.Imports)
			spec.Executors.JS = js
		}
		if js == nil || js.Imports == nil || js.Imports.Allow == nil && !w.create {
			return ""
		}
		js.Imports.Allow = append(js.Imports.Allow, g.name)
		return w.place(g, atJS, len(js.Imports.Allow)-1)
	default:
		return w.python(g)
	}
}

func (w *widener) python(g grant) string {
	py := w.to.Spec.Executors.Python
	if w.create && (py == nil || py.Imports == nil) {
		py = copiedPolicy(py)
		py.Imports = copiedPolicy(py.Imports)
		w.to.Spec.Executors.Python = py
	}
	if py == nil || py.Imports == nil || py.Imports.Allow == nil && !w.create {
		return ""
	}
	py.Imports.Beside = py.Imports.Beside || !w.create && len(py.Imports.Allow) == 0
	py.Imports.Allow = append(py.Imports.Allow, g.name)
	return w.place(g, atPython, len(py.Imports.Allow)-1)
}

// place copies the positions of a grant to its new path.
func (w *widener) place(g grant, list string, i int) string {
	at := fmt.Sprintf("%s[%d]", list, i)
	for path, o := range w.doc.Origins {
		if rest, ok := strings.CutPrefix(path, g.path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			if rest == "" && g.program {
				w.to.Origins[at+".path"] = o
			}
			w.to.Origins[at+rest] = o
		}
	}
	return at
}

// grantExceptions adds the grants of exceptions to an effective policy. The grants of the last document are
// added to its lists. Every grant that some layer offers only through an exception is recorded in Excepted.
// The policy that was passed is not changed.
func grantExceptions(effective schema.Policy, c Chain) schema.Policy {
	if !slices.ContainsFunc(c, func(p *schema.Policy) bool { return len(p.Spec.Exceptions) > 0 }) {
		return effective
	}
	doc := c.last()
	w := &widener{to: &effective, doc: doc, create: true}
	w.own()
	effective.Excepted = map[string]string{}
	w.defaults(c)
	note(&effective, c)
	for i := range doc.Spec.Exceptions {
		for _, g := range grants(doc, i) {
			if _, denied := c.exceeded(g); denied >= 0 || !w.granted(g) || w.has(g) {
				continue
			}
			if at := w.add(g); at != "" {
				if by := c.own(g); by != nil { // nil: an invalid host, which the compiler rejects
					effective.Excepted[at] = by.ID
				}
				effective.Appended = append(effective.Appended, at)
			}
		}
	}
	lifts(&effective, c)
	return effective
}

// own returns the exception whose end is the end of a grant of the last document: the document's own
// exception, or an exception of the layers above if that one ends sooner.
func (c Chain) own(g grant) *schema.Exception {
	own := c[len(c)-1:].lasting(g, "")
	if by := c.stands(g); by != nil && sooner(by, own) {
		return by
	}
	return own
}

// has reports whether the agent already has a grant that does not end before the current exception.
func (w *widener) has(g grant) bool {
	a := g.says(w.to)
	if a.Word != offers {
		return false
	}
	_, ends := w.to.Excepted[a.Path]
	return !ends || slices.ContainsFunc(w.to.Appended, func(at string) bool { return at == a.Path && w.named(at, g) })
}

// named reports whether a listed name is exactly the grant.
func (w *widener) named(at string, g grant) (same bool) {
	eachGrant(w.to, func(path string, o grant) {
		same = same || path == at && o.executor == g.executor && strings.TrimSuffix(o.name,
			".*") == strings.TrimSuffix(g.name, ".*") && g.egress == nil
	})
	return same
}

// defaults writes out Python's default set if layers have removed some of its modules. The remaining modules
// must outlast the exceptions, and an exception gives no list to an agent that has none.
func (w *widener) defaults(c Chain) {
	e := w.to.Spec.Executors
	if e == nil || e.Python == nil || e.Python.Imports == nil || len(e.Python.Imports.Allow) > 0 ||
		e.Python.Imports.Within == nil || !c.imports() {
		return
	}
	var within []string
	from := map[string]schema.Origin{}
	for _, p := range c[:len(c)-1] {
		up := p.Spec.Executors
		if up == nil || up.Python == nil || up.Python.Imports == nil || len(up.Python.Imports.Allow) == 0 ||
			slices.Contains(up.Python.Imports.Allow, "*") {
			continue
		}
		within = modules.Within(within, up.Python.Imports.Allow)
		for i, name := range up.Python.Imports.Allow {
			o := schema.OriginOf(p, fmt.Sprintf("%s[%d]", atPython, i))
			o.Layer = layerName(p)
			from[strings.TrimSuffix(name, ".*")] = o
		}
	}
	im := e.Python.Imports
	im.Within, im.Listed = nil, true
	im.Deny = slices.Clip(im.Deny)
	for _, name := range within {
		if !modules.PythonDefault(name) {
			continue
		}
		w.to.Origins[fmt.Sprintf("%s[%d]", atPython, len(im.Allow))] = from[name]
		im.Allow = append(im.Allow, name)
		for _, out := range modules.OutsideNames() {
			if strings.HasPrefix(out, name+".") && !slices.Contains(im.Deny, out) {
				im.Deny = append(im.Deny, out)
			}
		}
	}
}

// imports reports whether an exception grants a module.
func (c Chain) imports() bool {
	return slices.ContainsFunc(c, func(p *schema.Policy) bool {
		return slices.ContainsFunc(p.Spec.Exceptions,
			func(e schema.Exception) bool { return len(e.Grants.Imports) > 0 })
	})
}

// granted reports whether the agent has the executor of a grant. An exception cannot grant an executor.
func (w *widener) granted(g grant) bool {
	language := g.executor
	switch {
	case g.egress != nil:
		return true
	case g.program:
		language = "shell"
	}
	e := w.to.Spec.Executors
	return e != nil && slices.Contains(e.Allowed, language)
}

// note records the list items that the agent has because of an exception. There are few exceptions and long
// lists, so the layers are only asked about items that an exception covers.
func note(p *schema.Policy, c Chain) {
	eachGrant(p, func(at string, g grant) {
		if _, known := p.Excepted[at]; known || c.lifted(g, 1, len(c)) == nil {
			return
		}
		if e := c.stands(g); e != nil {
			p.Excepted[at] = e.ID
		}
	})
}

// lifts records for each exception the layers whose ceiling it exceeds.
func lifts(p *schema.Policy, c Chain) {
	p.Spec.Exceptions = slices.Clone(p.Spec.Exceptions)
	for i := range p.Spec.Exceptions {
		e := &p.Spec.Exceptions[i]
		for d, doc := range c {
			j := slices.IndexFunc(doc.Spec.Exceptions, func(o schema.Exception) bool { return o.ID == e.ID })
			if j < 0 {
				continue
			}
			var over []int
			for _, g := range grants(doc, j) {
				more, _ := c[:d+1].exceeded(g)
				over = append(over, more...)
			}
			slices.Sort(over)
			e.Lifts = nil
			for _, l := range slices.Compact(over) {
				e.Lifts = append(e.Lifts, layerName(c[l]))
			}
			break
		}
	}
}

// eachGrant calls f for every list item that an exception could grant.
func eachGrant(p *schema.Policy, f func(at string, g grant)) {
	if e := p.Spec.Executors; e != nil {
		if e.JS != nil && e.JS.Imports != nil {
			for i, name := range e.JS.Imports.Allow {
				f(fmt.Sprintf("%s[%d]", atJS, i), grant{name: name, executor: "js"})
			}
		}
		if e.Python != nil && e.Python.Imports != nil {
			for i, name := range e.Python.Imports.Allow {
				f(fmt.Sprintf("%s[%d]", atPython, i), grant{name: name, executor: "python"})
			}
		}
		if e.Shell != nil {
			for i, b := range e.Shell.Binaries {
				f(fmt.Sprintf("%s[%d]", atProgram, i), grant{name: b.Path, program: true})
			}
		}
	}
	if n := p.Spec.Network; n != nil {
		for i := range n.Egress {
			f(fmt.Sprintf("%s[%d]", atEgressList, i), grant{name: n.Egress[i].Host, egress: &n.Egress[i]})
		}
	}
}
