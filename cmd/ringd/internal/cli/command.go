package cli

import (
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// fact is a line of a question: a name and a text.
type fact struct{ what, text string }

// commandOf formats a call that starts a program: its words as a shell would read them, its folder, and its
// other inputs. It returns no facts for any other call. hidden is the number of bytes that were left out.
func commandOf(c wire.Pending) (facts []fact, hidden int) {
	const name = "exec:"
	program, ok := strings.CutPrefix(c.Bridge, name)
	if !ok {
		return nil, 0
	}
	a, err := profiles.DecodeAction(c.Args)
	if err != nil || a.Exec == nil {
		return nil, 0 // shown unchanged
	}
	words := make([]string, len(a.Exec.Argv))
	for i, w := range a.Exec.Argv {
		words[i] = Word(w)
	}
	facts = []fact{{"does", strings.Join(words, " ")}, {"program", Visible(program)}}
	if a.Exec.Cwd != "" {
		facts = append(facts, fact{"in", Word(a.Exec.Cwd)})
	}
	for i, e := range a.Exec.Env {
		what := ""
		if i == 0 {
			what = "with"
		}
		facts = append(facts, fact{what, Word(e)})
	}
	room := maxArgs
	for i := range facts {
		f := &facts[i]
		if cut := len(f.text) - room; cut > 0 {
			f.text = strings.ToValidUTF8(f.text[:room], "")
			hidden += cut
		}
		room -= len(f.text)
	}
	return facts, hidden
}

// Word quotes one word of a command for a shell, with invisible characters escaped.
func Word(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,"
	switch seen := Visible(w); {
	case seen != w:
		escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(w)
		return "$'" + Visible(escaped) + "'"
	case w != "" && strings.Trim(w, plain) == "":
		return w
	default:
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
}
