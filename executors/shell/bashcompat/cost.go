package bashcompat

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// weigh limits how far one statement can grow the existing variables. weight is how often one of them may occur
// in a word. square says whether each character of one may become as long as another. Nested statements are
// weighed separately.
func weigh(st *syntax.Stmt) (weight, square int) {
	braces := 1
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return n == st
		case *syntax.Lit:
			if strings.Contains(n.Value, "{") && (strings.Contains(n.Value, "..") || strings.Contains(n.Value, ",")) {
				braces = min(braces*16, 1<<14)
			}
		case *syntax.ParamExp:
			weight++
			if n.Repl != nil {
				w, s := replaces(n.Repl.With)
				weight += w
				square += s
			}
		case *syntax.CmdSubst, *syntax.ArithmExp:
			weight++
		}
		return true
	})
	return weight * braces, square
}

// replaces weighs the word that replaces each match.
func replaces(w *syntax.Word) (weight, square int) {
	if w == nil {
		return 0, 0
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			weight += len(n.Value)
		case *syntax.SglQuoted:
			weight += len(n.Value)
		case *syntax.ParamExp, *syntax.CmdSubst:
			square++
		}
		return true
	})
	return weight, square
}
