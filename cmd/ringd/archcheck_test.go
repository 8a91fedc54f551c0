package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is the parsed non-test source of the module.
type tree struct {
	fset *token.FileSet
	pkgs map[string][]source // by folder
}

type source struct {
	name string // path from the root
	file *ast.File
}

func parseTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	tr := tree{fset: token.NewFileSet(), pkgs: map[string][]source{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(tr.fset, name, files[name], parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		tr.pkgs[dir] = append(tr.pkgs[dir], source{name, f})
	}
	return tr
}

// each calls f for every file in the order of names.
func (tr tree) each(f func(pkg string, s source)) {
	for _, pkg := range slices.Sorted(maps.Keys(tr.pkgs)) {
		for _, s := range tr.pkgs[pkg] {
			f(pkg, s)
		}
	}
}

// imports calls f for every import of every file.
func (tr tree) imports(f func(pkg, place, path string)) {
	tr.each(func(pkg string, s source) {
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err == nil {
				f(pkg, tr.place(imp), p)
			}
		}
	})
}

func (tr tree) place(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// local turns an import path into a folder of this module.
func local(p string) (string, bool) { return strings.CutPrefix(p, module+"/") }

// below reports whether p is root or lies under it.
func below(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func checkLayers(tr tree, table map[string][]string) (out []string) {
	for _, pkg := range slices.Sorted(maps.Keys(tr.pkgs)) {
		if _, ok := table[pkg]; !ok {
			out = append(out, fmt.Sprintf("%s/: not in the layers table: a new package is a decision", pkg))
		}
	}
	tr.imports(func(pkg, place, p string) {
		to, ok := local(p)
		if !ok {
			return
		}
		may, listed := table[pkg]
		if listed && !slices.Contains(may, "...") && !slices.Contains(may, to) {
			out = append(out, fmt.Sprintf("%s: imports %s; %s may import %v", place, to, pkg, may))
		}
	})
	return out
}

// checkReach follows imports: none of from may reach a package below to.
func checkReach(tr tree, from, to []string) (out []string) {
	next := map[string][]string{}
	tr.imports(func(pkg, _, p string) {
		if d, ok := local(p); ok {
			next[pkg] = append(next[pkg], d)
		}
	})
	for _, start := range from {
		seen, todo := map[string]bool{}, []string{start}
		for len(todo) > 0 {
			pkg := todo[0]
			todo = todo[1:]
			if seen[pkg] {
				continue
			}
			seen[pkg] = true
			if slices.ContainsFunc(to, func(r string) bool { return below(pkg, r) }) {
				out = append(out, fmt.Sprintf("%s: reaches %s", start, pkg))
			}
			todo = append(todo, next[pkg]...)
		}
	}
	return out
}

// checkOwners looks an import up by its longest prefix in the table. Paths of
// the standard library that are not listed are free.
func checkOwners(tr tree, table map[string][]string) (out []string) {
	tr.imports(func(pkg, place, p string) {
		if _, ok := local(p); ok {
			return
		}
		owner := p
		may, listed := table[owner]
		for !listed && strings.Contains(owner, "/") {
			owner = path.Dir(owner)
			may, listed = table[owner]
		}
		first, _, _ := strings.Cut(p, "/")
		switch {
		case !listed && strings.Contains(first, "."):
			out = append(out, fmt.Sprintf("%s: %s is not in the owners table", place, p))
		case listed && !slices.ContainsFunc(may, func(r string) bool {
			return below(pkg, r) || strings.HasPrefix(place, r+":")
		}):
			who := strings.Join(may, ", ")
			if who == "" {
				who = "nobody"
			}
			out = append(out, fmt.Sprintf("%s: %s belongs to %s", place, p, who))
		}
	})
	return out
}

func checkPure(tr tree, pkgs, banned []string) (out []string) {
	tr.imports(func(pkg, place, p string) {
		if slices.Contains(pkgs, pkg) && slices.Contains(banned, p) {
			out = append(out, fmt.Sprintf("%s: a pure package imports %s", place, p))
		}
	})
	return out
}

// checkCalls finds the named calls. A selector is found under whatever name
// its package was imported, called or passed as a value.
func checkCalls(tr tree, table map[string][]string) (out []string) {
	tr.each(func(pkg string, s source) {
		names, found := map[string]string{}, func(n ast.Node, what string) {
			may := table[what]
			if _, ok := table[what]; !ok || slices.Contains(may, pkg) || slices.Contains(may, s.name) {
				return
			}
			out = append(out, fmt.Sprintf("%s: %s is allowed in %v only", tr.place(n), what, may))
		}
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				continue
			}
			name := path.Base(p)
			if imp.Name != nil {
				name = imp.Name.Name
			}
			if name == "." {
				out = append(out, fmt.Sprintf("%s: dot import of %s hides calls", tr.place(imp), p))
			}
			names[name] = p
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					found(n, "init")
				}
			case *ast.GoStmt:
				found(n, "go")
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "panic" || id.Name == "recover") {
					found(n, id.Name)
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "BestEffort" {
					found(n, "BestEffort")
				} else if id, ok := n.X.(*ast.Ident); ok && names[id.Name] != "" {
					found(n, names[id.Name]+"."+n.Sel.Name)
				}
			}
			return true
		})
	})
	return out
}

// checkContexts finds types that are contexts by methods of their own: what they leave
// out, a deadline or a cancellation, is left out of everything below them.
func checkContexts(tr tree) (out []string) {
	methods := map[string]map[string]bool{} // of a type, by its package and name
	tr.each(func(pkg string, s source) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !slices.Contains([]string{"Deadline", "Done", "Err", "Value"}, f.Name.Name) {
				continue
			}
			of := f.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			name, ok := of.(*ast.Ident)
			if !ok {
				continue
			}
			key := pkg + "." + name.Name
			if methods[key] == nil {
				methods[key] = map[string]bool{}
			}
			if methods[key][f.Name.Name] = true; len(methods[key]) == 4 {
				out = append(out, fmt.Sprintf("%s: %s is a context made by hand", tr.place(f), name.Name))
			}
		}
	})
	return out
}

// checkSinks finds ways around the edge below root. A row of the table is what the
// comment of sinks says.
func checkSinks(tr tree, root string, table map[string][]string) (out []string) {
	tr.each(func(pkg string, s source) {
		if !below(pkg, root) {
			return
		}
		names, found := map[string]string{}, func(n ast.Node, what string) {
			may, listed := table[what]
			if listed && !slices.Contains(may, pkg) && !slices.Contains(may, s.name) {
				out = append(out, fmt.Sprintf("%s: %s is a sink of raw text: write to the streams of cli.Program",
					tr.place(n), what))
			}
		}
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				continue
			}
			found(imp, p)
			names[path.Base(p)] = p
			if imp.Name != nil {
				names[imp.Name.Name] = p
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok {
					found(n, id.Name)
				}
			case *ast.BasicLit:
				for row := range table {
					if strings.HasPrefix(row, "/") && strings.HasPrefix(strings.Trim(n.Value, "\"`"), row) {
						found(n, row)
					}
				}
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && names[id.Name] != "" {
					found(n, names[id.Name]+"."+n.Sel.Name)
				} else {
					found(n, "."+n.Sel.Name)
				}
			}
			return true
		})
	})
	return out
}

// checkSizes finds functions with more lines than most.
func checkSizes(tr tree, most int) (out []string) {
	tr.each(func(pkg string, s source) {
		if generated(s.file) {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := pkg + "." + f.Name.Name
			if of := receiver(f); of != "" {
				name = pkg + "." + of + "." + f.Name.Name
			}
			if lines := tr.fset.Position(f.End()).Line - tr.fset.Position(f.Pos()).Line + 1; lines > most {
				out = append(out, fmt.Sprintf("%s: %s has %d lines, and may have %d", tr.place(f), name, lines, most))
			}
		}
	})
	return out
}

func generated(f *ast.File) bool { return ast.IsGenerated(f) }
