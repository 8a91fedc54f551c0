package preflight

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// A run decides only the commands that it reaches, and not those in a branch that it does not take. For the
// commands of such a branch, the preflight uses the one value that the text gives a variable. If a command is
// denied with that value, it is treated as a command of the script that is denied.

// later is a command whose words are not all known.
type later struct {
	argv.Command
	args []*syntax.Word
	at   syntax.Pos
	node *Node
	place
}

// Limits of the values that are tried.
const (
	maxLater  = 256
	maxValues = 8  // of one word
	maxTries  = 16 // of one command
)

// values are the values that the text gives the variables of one file: lists of words, by name.
type values map[string][][]string

// guess tries the values from the text for the commands that were left open.
func (w *walker) guess() {
	known := map[*syntax.File]values{}
	for _, l := range w.later {
		if w.ended() != nil {
			return
		}
		v, ok := known[l.file]
		if !ok {
			v = assignedValues(l.file)
			known[l.file] = v
		}
		tries := [][]argv.Word{nil}
		for _, a := range l.args {
			tries = w.extend(tries, a, v, l.place)
		}
		for _, try := range tries {
			if len(try) == 0 {
				continue
			}
			c := l.Command
			c.Words = try
			if d, j := w.d.Command(c); j.Verdict == command.Deny && !w.hidden(try[0], l.place) {
				l.node.Verdict, l.node.Decision = command.Deny, w.refuse(l.place, l.at, d)
				break
			}
		}
	}
}

// extend appends the words that a may become.
func (w *walker) extend(tries [][]argv.Word, a *syntax.Word, v values, p place) [][]argv.Word {
	plain, ok := script.Fields(nil, a)
	if !ok {
		return tries
	}
	options := [][]argv.Word{plain}
	for _, f := range plain {
		if f.Open {
			if some := w.readings(a.Parts, v, p); len(some) > 0 {
				options = nil
				for _, s := range some {
					options = append(options, argv.AllKnown(s))
				}
			}
			break
		}
	}
	var out [][]argv.Word
	for _, t := range tries {
		for _, o := range options {
			if len(out) < maxTries {
				out = append(out, append(t[:len(t):len(t)], o...))
			}
		}
	}
	return out
}

// readings returns the words that a word with expansions may become, or nil if a part of it is not known.
func (w *walker) readings(parts []syntax.WordPart, v values, p place) [][]string {
	if len(parts) == 1 {
		switch x := parts[0].(type) {
		case *syntax.DblQuoted:
			if len(x.Parts) == 1 && isArray(x.Parts[0]) {
				return w.valuesOf(x.Parts[0], v, p)
			}
		case *syntax.ParamExp, *syntax.CmdSubst:
			var out [][]string
			for _, list := range w.valuesOf(x, v, p) {
				if isArray(x) {
					out = append(out, list)
				} else {
					out = append(out, strings.Fields(strings.Join(list, " ")))
				}
			}
			return out
		}
	}
	texts := []string{""}
	for _, part := range parts {
		more, known := textsOf(w, part, v, p)
		if !known {
			return nil
		}
		texts = combinations(texts, more)
	}
	var out [][]string
	for _, t := range texts {
		out = append(out, []string{t})
	}
	return out
}

// textsOf returns the texts that one part of a word may become. It returns false if the part is not known.
func textsOf(w *walker, part syntax.WordPart, v values, p place) (texts []string, known bool) {
	switch x := part.(type) {
	case *syntax.DblQuoted:
		quoted := append(make([]syntax.WordPart, 0, len(x.Parts)+1), append(x.Parts, &syntax.SglQuoted{})...)
		for _, list := range w.readings(quoted, v, p) {
			texts = append(texts, strings.Join(list, " "))
		}
	case *syntax.ParamExp, *syntax.CmdSubst:
		for _, list := range w.valuesOf(x, v, p) {
			texts = append(texts, strings.Join(list, " "))
		}
	default:
		f := script.StaticWord(&syntax.Word{Parts: []syntax.WordPart{part}})
		return []string{f.Text}, !f.Open
	}
	return texts, true
}

// combinations returns each text followed by each of more, at most maxValues of them.
func combinations(texts, more []string) (out []string) {
	for _, t := range texts {
		for _, m := range more {
			if len(out) < maxValues {
				out = append(out, t+m)
			}
		}
	}
	return out
}

func isArray(part syntax.WordPart) bool {
	x, ok := part.(*syntax.ParamExp)
	if !ok || x.Length || x.Exp != nil || x.Repl != nil || x.Slice != nil || x.Excl {
		return false
	}
	i, ok := x.Index.(*syntax.Word)
	return ok && i.Lit() == "@"
}

// valuesOf returns the values of one expansion.
func (w *walker) valuesOf(part syntax.WordPart, v values, p place) [][]string {
	switch x := part.(type) {
	case *syntax.CmdSubst:
		if len(x.Stmts) != 1 {
			return nil
		}
		if out := w.output(x.Stmts[0], p); out.kind == inText {
			return [][]string{{strings.TrimRight(out.text, "\n")}}
		}
	case *syntax.ParamExp:
		if x.Param == nil || x.Length || x.Excl || x.Repl != nil || x.Slice != nil {
			return nil
		}
		list := v[x.Param.Value]
		if x.Exp == nil {
			return list
		}
		word := script.StaticWord(x.Exp.Word)
		switch x.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if !word.Open && word.Text != "" {
				return append(list[:len(list):len(list)], []string{word.Text})
			}
			return list
		case syntax.LowerAll, syntax.UpperAll:
			change := strings.ToLower
			if x.Exp.Op == syntax.UpperAll {
				change = strings.ToUpper
			}
			var out [][]string
			for _, l := range list {
				out = append(out, []string{change(strings.Join(l, " "))})
			}
			return out
		}
	}
	return nil
}

// assignedValues collects the values that a file gives its variables. A variable with two values from assignments has
// none that is tried. A loop variable has all of its values.
func assignedValues(f *syntax.File) values {
	once := map[string][][]string{}
	loops := values{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Assign:
			if x.Name == nil || x.Naked || len(once[x.Name.Value]) > 1 {
				return true
			}
			once[x.Name.Value] = append(once[x.Name.Value], constant(x))
		case *syntax.ForClause:
			l, ok := x.Loop.(*syntax.WordIter)
			if !ok {
				return true
			}
			loops.addItems(l)
		}
		return true
	})
	for name, list := range once {
		if len(list) == 1 && list[0] != nil {
			loops[name] = append(loops[name], list[0])
		}
	}
	return loops
}

// addItems adds the known items of a loop to the values of its variable.
func (v values) addItems(l *syntax.WordIter) {
	name := l.Name.Value
	for _, item := range l.Items {
		fields, _ := script.Fields(nil, item)
		for _, f := range fields {
			if !f.Open && len(v[name]) < maxValues {
				v[name] = append(v[name], []string{f.Text})
			}
		}
	}
}

// constant returns the words of an assigned value, or nil if it is not known.
func constant(a *syntax.Assign) []string {
	if a.Append || a.Index != nil {
		return nil
	}
	if a.Array == nil {
		v := script.StaticWord(a.Value)
		if v.Open || v.Text == "" {
			return nil
		}
		return []string{v.Text}
	}
	var out []string
	for _, e := range a.Array.Elems {
		if e.Index != nil || len(out) > maxValues {
			return nil
		}
		fields, _ := script.Fields(nil, e.Value)
		for _, v := range fields {
			if v.Open {
				return nil
			}
			out = append(out, v.Text)
		}
	}
	return out
}
