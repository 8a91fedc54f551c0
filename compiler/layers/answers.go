package layers

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

// Word says how one document treats one thing that an agent could use, such as a module or a host. Exceptions
// are checked against it. The zero Word is silent.
type Word uint8

// The values of a Word.
const (
	silent    Word = iota // no list mentions the thing: the layer above decides
	offers                // a list contains the thing
	withholds             // there is a list, which does not contain the thing
	Denies                // a denial covers the thing
)

// String returns "silent", "offers", "leaves out" or "denies".
func (w Word) String() string {
	switch w {
	case offers:
		return "offers"
	case withholds:
		return "leaves out"
	case Denies:
		return "denies"
	case silent:
		return "silent"
	default:
		return "silent"
	}
}

// Answer is a Word with its position in the document: a path of the full language.
type Answer struct {
	Word Word
	Path string
}

// answerImport answers for a module of "js" or "python". A trailing .* of the name is ignored.
func answerImport(p *schema.Policy, executor, name string) Answer {
	e := p.Spec.Executors
	name = strings.TrimSuffix(name, ".*")
	switch {
	case e == nil:
	case executor == "js" && e.JS != nil && e.JS.Imports != nil:
		const at = "spec.executors.js.imports"
		im := e.JS.Imports
		if i := covered(name, im.Deny, '/'); i >= 0 {
			return Answer{Denies, index(at+".deny", i)}
		}
		if im.Allow != nil {
			return listed(at+".allow", slices.IndexFunc(im.Allow,
				func(n string) bool { return strings.TrimSuffix(n, ".*") == name }))
		}
	case executor == "python" && e.Python != nil && e.Python.Imports != nil:
		return pythonImport(e.Python.Imports, name)
	}
	return Answer{}
}

func pythonImport(im *schema.PythonImports, name string) Answer {
	const at = "spec.executors.python.imports"
	for _, list := range []struct {
		name string
		deny []string
	}{{".deny", im.Deny}, {".denyProcess", im.DenyProcess}} {
		if i := covered(name, list.deny, '.'); i >= 0 {
			return Answer{Denies, index(at+list.name, i)}
		}
	}
	switch {
	case im.Allow == nil:
		return Answer{}
	case (len(im.Allow) == 0 || im.Beside) && modules.PythonDefault(name) &&
		(im.Within == nil || modules.Covered(name, im.Within)) || modules.Own(name):
		return Answer{offers, at + ".allow"}
	}
	if i := slices.Index(im.Allow, "*"); i >= 0 {
		return Answer{offers, index(at+".allow", i)}
	}
	return listed(at+".allow", covered(name, im.Allow, '.'))
}

// covered returns the position of the list entry that equals name or is its parent, or -1.
func covered(name string, list []string, sep byte) int {
	return slices.IndexFunc(list, func(n string) bool {
		n = strings.TrimSuffix(n, ".*")
		return n != "" && (name == n || strings.HasPrefix(name, n) && name[len(n)] == sep)
	})
}

func listed(at string, i int) Answer {
	if i < 0 {
		return Answer{withholds, at}
	}
	return Answer{offers, index(at, i)}
}

// answerExecutor answers for an executor.
func answerExecutor(p *schema.Policy, name string) Answer {
	if e := p.Spec.Executors; e != nil && e.Allowed != nil {
		return listed("spec.executors.allowed", slices.Index(e.Allowed, name))
	}
	return Answer{}
}

// answerProgram answers for a program of scripts, given by its path or its bare name.
func answerProgram(p *schema.Policy, word string) Answer {
	e := p.Spec.Executors
	if e == nil || e.Shell == nil || e.Shell.Binaries == nil {
		return Answer{}
	}
	return listed("spec.executors.shell.binaries", slices.IndexFunc(e.Shell.Binaries, func(b schema.Binary) bool {
		return b.Path == word || !strings.Contains(word, "/") && b.Path[strings.LastIndexByte(b.Path, '/')+1:] == word
	}))
}

// answerBridge answers for a bridge.
func answerBridge(p *schema.Policy, name string) Answer {
	if p.Spec.Bridges == nil {
		return Answer{}
	}
	return listed("spec.bridges", slices.IndexFunc(p.Spec.Bridges,
		func(b schema.Bridge) bool { return b.Name == name }))
}

// answerFile answers for reading or writing a path, which may begin with $WORKSPACE or ~ like the paths of
// policies. expand returns the real path of such a path. If expand is nil, paths are compared as text.
func answerFile(p *schema.Policy, op, path string, expand func(string) (string, bool)) Answer {
	fs := p.Spec.Filesystem
	if fs == nil {
		return Answer{}
	}
	above := func(rule string) bool {
		if expand != nil {
			var ok bool
			if rule, ok = expand(rule); !ok {
				return false
			}
		}
		return paths.Of(rule).Cover(path)
	}
	if i := slices.IndexFunc(fs.Deny, above); i >= 0 {
		return Answer{Denies, index("spec.filesystem.deny", i)}
	}
	list := fs.Read
	if op == "write" {
		list = fs.Write
	}
	if list == nil {
		return Answer{}
	}
	return listed("spec.filesystem."+op, slices.IndexFunc(list, above))
}

// answerHost answers for the host, ports, methods and paths of an entry of a list of hosts.
func answerHost(p *schema.Policy, asked schema.Egress) Answer {
	n := p.Spec.Network
	if n == nil {
		return Answer{}
	}
	want := ReadEntry(&asked, false)
	if !want.Readable {
		return Answer{}
	}
	for i, host := range n.Deny {
		d := ReadEntry(&schema.Egress{Host: host}, true)
		if d.Readable && d.Pattern.Covers(want.Pattern) && want.Within(&d) {
			return Answer{Denies, index("spec.network.deny", i)}
		}
	}
	if n.Egress == nil {
		if n.Mode == "off" || n.Mode == "gateway-only" {
			return Answer{withholds, "spec.network.mode"}
		}
		return Answer{}
	}
	return listed("spec.network.egress", slices.IndexFunc(n.Egress, func(e schema.Egress) bool {
		o := ReadEntry(&e, false)
		return o.Readable && o.Pattern.Holds(want.Pattern) && want.Within(&o) && subset(asked.Methods, e.Methods) &&
			below(asked.Paths, e.Paths) && (!is(asked.ECH) || is(e.ECH))
	}))
}

func is(b *bool) bool { return b != nil && *b }

// answerGateway answers for a gateway.
func answerGateway(p *schema.Policy, name string) Answer {
	n := p.Spec.Network
	switch {
	case n == nil:
		return Answer{}
	case n.Mode == "off":
		return Answer{withholds, "spec.network.mode"}
	case n.Gateways == nil:
		return Answer{}
	}
	return listed("spec.network.gateways", slices.IndexFunc(n.Gateways,
		func(g schema.Gateway) bool { return g.Name == name }))
}

// meets reports whether two host entries have a target in common.
func meets(a, b *schema.Egress) bool {
	x, y := ReadEntry(a, false), ReadEntry(b, false)
	return x.Readable && y.Readable && (x.Pattern.Covers(y.Pattern) || y.Pattern.Covers(x.Pattern)) && x.Meets(&y)
}

// subset reports whether an entry allows all of the wanted methods. An empty list means all methods.
func subset(want, of []string) bool {
	return len(of) == 0 || len(want) > 0 && !slices.ContainsFunc(want,
		func(m string) bool { return !slices.Contains(of, m) })
}

// below reports whether each of the wanted paths equals a path of the entry or is below one. An empty list
// means all paths.
func below(want, of []string) bool {
	return len(of) == 0 || len(want) > 0 && !slices.ContainsFunc(want, func(p string) bool {
		return !slices.ContainsFunc(of, func(o string) bool {
			return paths.Of(o).Cover(p) || strings.HasSuffix(o, "/") && strings.HasPrefix(p, o)
		})
	})
}
