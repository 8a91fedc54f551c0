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

// Script is shell text that a command would run, by eval, trap, sh -c and their
// like. The caller reads it and decides each of its commands.
type Script struct {
	Text   string
	Known  bool     // false: nobody can read it before it runs
	Params []Word   // $0 and on, where the command gives some
	Chain  []string // what leads to it, as in Judgement
	Shell  string   // "" where the shell itself runs it (eval, trap), else the shell's name
	// Outside says that a program would start the shell: ringd cannot interpret it.
	Outside bool
}

// Standalone is the text with its parameters set, as a script that is run alone.
// False: it, or one of them, is not known.
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

// Unread says why nobody decides the script when it is started, and what to write
// instead, where there is something.
func (s Script) Unread() (reason string, instead []string) {
	by := strings.Join(s.Chain, ", ")
	if !s.Known {
		return "the text that " + by + " would run cannot be read before it runs", nil
	}
	loop := "… | while IFS= read -r line; do …; done"
	if strings.Contains(by, "find") {
		loop = "find … -print0 | while IFS= read -r -d '' f; do …; done"
	}
	return by + " would start " + s.Shell + " itself, which no guest can: only a shell that the script itself starts is interpreted", []string{loop}
}
