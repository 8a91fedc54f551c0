package cli

import (
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// fact is a line of a question: a name, and text.
type fact struct{ what, text string }

// commandOf is the start of a program as a person reads it: the words as a shell
// would take them, the folder it is started in, and what it is given beside its
// words. No facts: the call is none. hidden is how many bytes had no room.
func commandOf(c wire.Pending) (facts []fact, hidden int) {
	const name = "exec:"
	program, ok := strings.CutPrefix(c.Bridge, name)
	if !ok {
		return nil, 0
	}
	a, err := profiles.DecodeAction(c.Args)
	if err != nil || a.Exec == nil {
		return nil, 0 // it is shown as it is
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

// Word is one word of a command as a shell reads it, with everything escaped that a
// terminal would not show as itself.
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
