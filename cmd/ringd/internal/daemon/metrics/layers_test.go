package metrics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
)

const kernelRing = "../../../../../rings/kernel"

// files parses the Go files below dir, without tests.
func files(t *testing.T, dir string) (out []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		out = append(out, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// layerNames are the constants Layer* of rings/kernel/initproto with their texts.
func layerNames(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range files(t, filepath.Join(kernelRing, "initproto")) {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Layer") {
				return true
			}
			if text, ok := v.Values[0].(*ast.BasicLit); ok {
				out[v.Names[0].Name], _ = strconv.Unquote(text.Value)
			}
			return true
		})
	}
	return out
}

// reporting are the names of the layers that rings/kernel puts into a Violation.
func reporting(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	add := func(e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Layer") && s.Sel.Name != "Layer" {
			out[s.Sel.Name] = true
		}
	}
	for _, f := range files(t, kernelRing) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // Violation{Layer: initproto.LayerX}
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Layer" {
					add(n.Value)
				}
			case *ast.AssignStmt: // v.Layer = initproto.LayerX
				if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Layer" {
					add(n.Rhs[0])
				}
			}
			return true
		})
	}
	return out
}

// TestLayersAreThoseThatReport: a refusal counts under the name of its layer, for each
// layer of the kernel ring that reports one, and under other for no layer.
func TestLayersAreThoseThatReport(t *testing.T) {
	names, report := layerNames(t), reporting(t)
	if len(names) < 10 || len(report) < 4 {
		t.Fatalf("%d layers, of which report %v", len(names), slices.Sorted(maps.Keys(report)))
	}
	for name, text := range names {
		m := metrics.New()
		m.Refused("js", text)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		want := map[bool]string{true: text, false: "other"}[report[name]]
		if !strings.Contains(w.Body.String(), `ringd_guest_refusals_total{executor="js",layer="`+want+`"} 1`) {
			t.Errorf("a refusal of %s (%q) does not count as %s", name, text, want)
		}
	}
}
