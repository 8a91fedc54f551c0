package runner

import (
	"context"
	"io"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// options returns the options of a shell at its end, in the form that restore reads. It asks a copy of the
// shell whose output is dropped.
func options(ctx context.Context, r *interp.Runner) string {
	sub := r.Subshell()
	if err := interp.StdIO(nil, io.Discard, io.Discard)(sub); err != nil {
		return ""
	}
	var on strings.Builder
	for _, o := range []struct{ name, kept string }{
		{"allexport", "a"}, {"errexit", "e"}, {"noglob", "f"}, {"nounset", "u"}, {"xtrace", "x"},
		{"pipefail", " pipefail"},
	} {
		ask := &syntax.Stmt{Cmd: &syntax.TestClause{X: &syntax.UnaryTest{
			Op: syntax.TsOptSet, X: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: o.name}}},
		}}}
		if sub.Run(ctx, ask) == nil {
			on.WriteString(o.kept)
		}
	}
	return on.String()
}
