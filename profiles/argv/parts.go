package argv

import "strings"

// Command is a simple command of a script, or one that another command would start.
type Command struct {
	Words []Word
	Set   []Assignment // variables set before the command, or those of its environment that differ from the start
	More  bool         // further unknown words may follow, as with xargs
	// Outside means that a program starts it, not the shell: its first word is not a builtin or function.
	Outside bool
}

// Assignment sets a variable.
type Assignment struct {
	Name  string
	Value Word
}

// Script is shell text that a command would run, as with eval, trap and sh -c. The caller parses it and
// decides each of its commands.
type Script struct {
	Text   string
	Known  bool     // if false, the text cannot be read before it runs
	Params []Word   // $0 and following, if the command sets some
	Chain  []string // the commands that lead to it, as in Judgement
	Shell  string   // the shell that runs it; empty for the script's own shell (eval, trap)
	// Outside means that a program would start the shell, so ringd cannot interpret it.
	Outside bool
}

// Standalone returns the text with its parameters set, as a script of its own. It returns false if the text
// or a parameter is unknown.
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

// Unread returns why the script cannot be decided when it is started, and an alternative if there is one.
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
