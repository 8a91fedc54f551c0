package argv

import "strings"

// Command is a simple command of a script, or one that another would start.
type Command struct {
	Words []Word
	Set   []Assignment // in front of it, or what its environment has unlike that of the start
	More  bool         // further unknown words may follow, as behind xargs
	// Outside says that a program starts it, not the shell: its first word is no
	// builtin and no function.
	Outside bool
}

// Assignment sets a variable.
type Assignment struct {
	Name  string
	Value Word
}

// Script is shell text that a command would run, as eval, trap and sh -c do. The caller reads it and
// decides each of its commands.
type Script struct {
	Text   string
	Known  bool     // if it is false, nobody can read the text before it runs
	Params []Word   // $0 and on, where the command gives some
	Chain  []string // what leads to it, as in Judgement
	Shell  string   // the shell that runs it; empty if the script's own shell does (eval, trap)
	// Outside says that a program would start the shell: ringd cannot interpret it.
	Outside bool
}

// Standalone returns the text with its parameters set, as a script that is run alone. It returns
// false if the text or a parameter is not known.
func (s Script) Standalone() (string, bool) {
	if !s.Known || len(s.Params) < 2 {
		return s.Text, s.Known
	}
	var set strings.Builder
	set.WriteString("set --")
	for _, p := range s.Params[1:] {
		if p.Open {
			return "", false
		}
		set.WriteString(" '" + strings.ReplaceAll(p.Text, "'", `'\''`) + "'")
	}
	return set.String() + "\n" + s.Text, true
}

// Unread returns why nobody decides the script when it is started, and what to write instead if
// there is something.
func (s Script) Unread() (reason string, instead []string) {
	by := strings.Join(s.Chain, ", ")
	if !s.Known {
		return "the text that " + by + " would run cannot be read before it runs", nil
	}
	loop := "… | while IFS= read -r line; do …; done"
	if strings.Contains(by, "find") {
		loop = "find … -print0 | while IFS= read -r -d '' f; do …; done"
	}
	reason = by + " would start " + s.Shell + " itself, which no guest can: " +
		"only a shell that the script itself starts is interpreted"
	return reason, []string{loop}
}
