package main_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// walls says why a package with a single importer is no file of that importer: one of
// reasons, or "owns" and the dependency that it keeps from everybody else.
var walls = map[string]string{
	"cmd/ringd/internal/api":            "bytes",
	"cmd/ringd/internal/api/typescript": "pure",
	"cmd/ringd/internal/commands":       "owns github.com/spf13/cobra",
	"cmd/ringd/internal/daemon/network": "owns rings/kernel/proxy",
	"compiler":                          "pure",
	"compiler/enforcement":              "pure",
	"compiler/policytest":               "pure",
	"executors/js":                      "process",
	"executors/js/engine/snapshot":      "owns github.com/klauspost/compress",
	"executors/js/jsguest":              "guest",
	"executors/python/wasm":             "process",
	"executors/python/wasm/wasmguest":   "guest",
	"executors/shell":                   "process",
	"executors/shell/bashcompat":        "pure",
	"executors/shell/dryrun":            "pure",
	"executors/shell/shellguest":        "guest",
	"profiles/egress/dnsmsg":            "bytes",
	"rings/kernel":                      "os",
	"rings/kernel/cgroup":               "os",
	"rings/kernel/rootfs":               "os",
	"rings/kernel/seccomp":              "os",
	"rings/kernel/spawn":                "os",
	"rings/kernel/violations":           "os",
	"schema/convert":                    "owns github.com/pelletier/go-toml",
	"schema/format":                     "pure",
}

// reasons is the closed list: code without effects; a guest's half; what starts and
// watches processes; an interface of the kernel; a parser of bytes from outside; a
// double for tests.
var reasons = []string{"pure", "guest", "process", "os", "bytes", "testkit"}

// checkWalls compares the packages with a single importer with the table.
func checkWalls(tr tree, table map[string]string) (out []string) {
	by := map[string]map[string]bool{}
	tr.imports(func(pkg, _, p string) {
		if to, ok := local(p); ok && tr.pkgs[to] != nil {
			if by[to] == nil {
				by[to] = map[string]bool{}
			}
			by[to][pkg] = true
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(by)) {
		if table[pkg] == "" && len(by[pkg]) == 1 {
			out = append(out, fmt.Sprintf("%s: only %s imports it: make it files of that package, or write a reason "+
				"into walls", pkg, slices.Collect(maps.Keys(by[pkg]))[0]))
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if len(by[pkg]) != 1 {
			out = append(out, fmt.Sprintf("walls: %s has %d importers, and needs no reason", pkg, len(by[pkg])))
		}
		if _, owns := strings.CutPrefix(table[pkg], "owns "); !owns && !slices.Contains(reasons, table[pkg]) {
			out = append(out, fmt.Sprintf("walls: %s: %q is no reason", pkg, table[pkg]))
		}
	}
	return out
}

// checkNames finds two packages of one name.
func checkNames(tr tree) (out []string) {
	first := map[string]string{}
	for _, pkg := range slices.Sorted(maps.Keys(tr.pkgs)) {
		name := tr.pkgs[pkg][0].file.Name.Name
		if name == "main" {
			continue
		}
		if other := first[name]; other != "" {
			out = append(out, fmt.Sprintf("%s: %s is called %s, too", pkg, other, name))
		}
		first[name] = pkg
	}
	return out
}

// size is how many methods and fields a type has.
type size struct{ methods, fields int }

// mostOfType is what a type may have.
var mostOfType = size{methods: 30, fields: 20}

// large lists the types that have more than mostOfType. Their numbers may only fall.
var large = map[string]size{
	"cmd/ringd/internal/api.Server":             {45, 11},
	"cmd/ringd/internal/audit.Log":              {45, 28},
	"cmd/ringd/internal/cli.Page":               {32, 4},
	"cmd/ringd/internal/config.File":            {3, 23},
	"cmd/ringd/internal/daemon/metrics.Metrics": {26, 27},
	"cmd/ringd/internal/store.Call":             {1, 29},
	"cmd/ringd/internal/store.Store":            {56, 6},
	"cmd/ringd/internal/store.tx":               {33, 2},
	"executors.linkRun":                         {48, 45},
	"executors/js/engine.VM":                    {64, 22},
	"executors/js/jsguest.run":                  {27, 23},
	"executors/python.Executor":                 {41, 9},
	"executors/shell/preflight.walker":          {45, 11},
	"executors/shell/runner.runState":           {56, 19},
	"executors/shell/script.check":              {40, 11},
	"profiles.Agent":                            {8, 26},
	"rings/kernel.Ring":                         {86, 1},
	"rings/kernel.guest":                        {32, 37},
	"rings/kernel/guestinit.guest":              {79, 19},
	"rings/kernel/initproto.Order":              {1, 21},
	"rings/kernel/rootfs.resolver":              {31, 20},
	"schema/convert.draft":                      {38, 6},
	"schema/wire.Run":                           {1, 25},
}

// checkTypes compares large types with the table.
func checkTypes(tr tree, most size, table map[string]size) (out []string) {
	have := map[string]size{}
	tr.each(func(pkg string, s source) {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name := receiver(d); name != "" {
					was := have[pkg+"."+name]
					have[pkg+"."+name] = size{was.methods + 1, was.fields}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if st, ok := ts.Type.(*ast.StructType); ok {
						key := pkg + "." + ts.Name.Name
						have[key] = size{have[key].methods, fields(st)}
					}
				}
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(have)) {
		n, listed := have[name], table[name]
		if (n.methods > most.methods || n.fields > most.fields) && n != listed {
			out = append(out, fmt.Sprintf("%s has %d methods and %d fields, and may have %d and %d: split it; a "+
				"number of the table may only fall",
				name, n.methods, n.fields, max(most.methods, listed.methods), max(most.fields, listed.fields)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if n := have[name]; n.methods <= most.methods && n.fields <= most.fields {
			out = append(out, fmt.Sprintf("large: %s has %d methods and %d fields: take it out", name, n.methods,
				n.fields))
		}
	}
	return out
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	switch i := of.(type) {
	case *ast.IndexExpr:
		of = i.X
	case *ast.IndexListExpr:
		of = i.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func fields(st *ast.StructType) (n int) {
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// public lists the packages that others import from outside of this module; they may
// repeat names of other packages.
var public = []string{"schema", "schema/client"}

// checkAliases finds declarations that only repeat one of another package of the module.
func checkAliases(tr tree, public []string) (out []string) {
	tr.each(func(pkg string, s source) {
		if slices.Contains(public, pkg) {
			return
		}
		from := map[string]bool{}
		for _, imp := range s.file.Imports {
			if p, err := strconv.Unquote(imp.Path.Value); err == nil {
				if to, ok := local(p); ok {
					from[importName(tr, imp, to)] = true
				}
			}
		}
		repeats := func(e ast.Expr) bool {
			sel, ok := e.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			x, ok := sel.X.(*ast.Ident)
			return ok && from[x.Name]
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Assign.IsValid() && repeats(spec.Type) {
						out = append(out, fmt.Sprintf("%s: %s is another package's type: name that one", tr.place(spec),
							spec.Name.Name))
					}
				case *ast.ValueSpec:
					for i, v := range spec.Values {
						if g.Tok == token.CONST && repeats(v) && ast.IsExported(spec.Names[i].Name) {
							out = append(out, fmt.Sprintf("%s: %s is another package's constant: name that one",
								tr.place(spec), spec.Names[i].Name))
						}
					}
				}
			}
		}
	})
	return out
}

func importName(tr tree, imp *ast.ImportSpec, to string) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	if files := tr.pkgs[to]; len(files) > 0 {
		return files[0].file.Name.Name
	}
	return to[strings.LastIndex(to, "/")+1:]
}

// unused counts exported functions, types, constants and variables of packages that no
// other package of the module names, the tests of all packages among them.
func unused(tr, tests tree) (names []string) {
	used := map[string]bool{}
	look := func(pkg string, s source) {
		from := map[string]string{}
		for _, imp := range s.file.Imports {
			if p, err := strconv.Unquote(imp.Path.Value); err == nil {
				if to, ok := local(p); ok {
					from[importName(tr, imp, to)] = to
				}
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && from[x.Name] != "" {
					used[from[x.Name]+"."+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	tr.each(look)
	tests.each(look)
	tr.each(func(pkg string, s source) {
		if s.file.Name.Name == "main" || slices.Contains(public, pkg) {
			return
		}
		for _, name := range declared(s.file) {
			if ast.IsExported(name) && !used[pkg+"."+name] {
				names = append(names, pkg+"."+name)
			}
		}
	})
	return names
}

func declared(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// mostUnused is the number of exported names that no other package uses. It may only fall: lower it when it has.
const mostUnused = 117

func TestWalls(t *testing.T) { report(t, checkWalls(repository(t), walls)) }

func TestPackageNames(t *testing.T) { report(t, checkNames(repository(t))) }

func TestLargeTypes(t *testing.T) { report(t, checkTypes(repository(t), mostOfType, large)) }

func TestAliases(t *testing.T) { report(t, checkAliases(repository(t), public)) }

func TestUnused(t *testing.T) {
	names := unused(repository(t), testFiles(t))
	if len(names) != mostUnused {
		t.Errorf("%d exported names that no other package uses, and %d may be: unexport what is new, or lower "+
			"mostUnused", len(names), mostUnused)
	}
	if os.Getenv("RINGD_UNUSED") != "" {
		t.Log(strings.Join(names, "\n"))
	}
}

func testFiles(t *testing.T) tree {
	t.Helper()
	return parseTree(t, sourceFiles(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }))
}

// sourceFiles reads the Go files of the module whose name is wanted.
func sourceFiles(t *testing.T, wanted func(name string) bool) map[string]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := goFiles(root, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRulesCatch: each rule finds what it is for.
func TestRulesCatch(t *testing.T) {
	two := map[string]string{"profiles/a.go": "package profiles",
		"compiler/a.go": "package compiler\nimport _ \"" + module + "/profiles\""}
	for _, c := range []struct {
		name  string
		files map[string]string
		check func(tree) []string
		want  string
	}{
		{"a wall without a reason", two, func(tr tree) []string { return checkWalls(tr, nil) }, "profiles: only compiler imports it"},
		{"a wall with a reason", two, func(tr tree) []string { return checkWalls(tr, map[string]string{"profiles": "pure"}) }, ""},
		{"no reason of the list", two, func(tr tree) []string { return checkWalls(tr, map[string]string{"profiles": "nice"}) }, `walls: profiles: "nice" is no reason`},
		{"a reason for nothing", map[string]string{"profiles/a.go": "package profiles"}, func(tr tree) []string { return checkWalls(tr, map[string]string{"profiles": "pure"}) },
			"walls: profiles has 0 importers"},
		{"two packages of a name", map[string]string{"a/x/a.go": "package x", "b/x/a.go": "package x"}, checkNames, "b/x: a/x is called x, too"},
		{"a large type", map[string]string{"a/a.go": "package a\ntype T struct{ a, b int; c int }\nfunc (t *T) M() {}"},
			func(tr tree) []string { return checkTypes(tr, size{1, 2}, nil) }, "a.T has 1 methods and 3 fields"},
		{"a large type that grew", map[string]string{"a/a.go": "package a\ntype T[X any] struct{}\nfunc (t T[X]) M() {}\nfunc (t *T[X]) N() {}"},
			func(tr tree) []string { return checkTypes(tr, size{0, 2}, map[string]size{"a.T": {1, 0}}) },
			"a.T has 2 methods"},
		{"a large type that is none", map[string]string{"a/a.go": "package a\ntype T struct{}"},
			func(tr tree) []string { return checkTypes(tr, size{1, 2}, map[string]size{"a.T": {4, 4}}) },
			"take it out"},
		{"an alias", map[string]string{"profiles/a.go": "package profiles\ntype T int", "compiler/a.go": "package compiler\nimport \"" + module + "/profiles\"\ntype U = profiles.T"},
			func(tr tree) []string { return checkAliases(tr, nil) }, "compiler/a.go:3: U is another package's type"},
		{"a constant again", map[string]string{"profiles/a.go": "package profiles\nconst C = 1", "compiler/a.go": "package compiler\nimport p \"" + module + "/profiles\"\nconst D = p.C"},
			func(tr tree) []string { return checkAliases(tr, nil) },
			"compiler/a.go:3: D is another package's constant"},
		{"an exported name without a user", map[string]string{"profiles/a.go": "package profiles\nfunc F() {}\nfunc G() {}", "compiler/a.go": "package compiler\nimport \"" + module + "/profiles\"\nvar x = profiles.F"},
			func(tr tree) []string { return unused(tr, tree{}) }, "profiles.G"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.check(parseTree(t, c.files))
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one line with %q", got, c.want)
			}
		})
	}
}
