// Package programs owns what a command would start or run beside itself, as far as its words
// say so: the command behind env or xargs, the text behind sh -c, the program that an option of
// tar or git names. The table programs.txt describes the programs, reader.go reads words by it,
// and a program that a row cannot describe has a reader in Go.
//
// It refuses what nobody can read before it starts. What no word names (hooks, build files, what
// a program file starts) is held by the kernel's list of programs. A program without a row starts
// nothing here.
//
// Package command calls it and judges what it finds against the policy.
package programs

import (
	"path"

	"github.com/ringd/ringd/profiles/argv"
)

// Result is what a command would start by its words. The zero Result is that of a program which
// is not known to start any.
type Result struct {
	Row bool // the program is in the table
	// Commands are what it starts, each to be judged as if it stood alone.
	Commands []Start
	// Scripts are shell text that it runs. One that is not Known comes from standard input,
	// which the caller fills or refuses.
	Scripts []argv.Script
	Refused []refusal
	// Sets are variables that it sets for what it starts, where no command of its words gets
	// them, as with make. What env sets stands at its command.
	Sets []argv.Assignment
	// Needs are programs that it chooses itself, as kubectl diff does. No word names them, so
	// the policy must list them or allow them as helpers.
	Needs []string
	// Stdin is the language of program text that it reads from standard input, as Inline takes
	// it. If it is empty, it reads none.
	Stdin string
	// Interpreter says that it runs programs from files that nobody has read.
	Interpreter bool
	// Maybe says that unknown words could be options that start something: the final words
	// decide. If programs fill those words (argv.Word.Fed, argv.Command.More), there are no
	// later words to look at, and the caller refuses.
	Maybe bool
}

// Start is a command that another starts.
type Start struct {
	argv.Command
	Via string // what leads to it: "find -exec", "timeout"
}

// refusal is a part of a command that would start what nobody can read before it starts. No
// value of unknown words makes it harmless.
type refusal struct {
	Reason string
	Word   string
}

// Inline reports what in a program text starts programs. A caller that knows what stands on
// standard input calls it with Result.Stdin as the language.
func Inline(language, text string) (what string, starts bool) {
	return inlineText(language, text)
}

// Of reads a command. One whose first word is not known is Maybe. If the embedded table is
// malformed, each command is refused.
func Of(c argv.Command) Result {
	if len(c.Words) == 0 {
		return Result{Maybe: c.More}
	}
	first := c.Words[0]
	if first.Open {
		return Result{Maybe: true}
	}
	t, err := embedded()
	if err != nil {
		return Result{Refused: []refusal{{Reason: "the table of programs cannot be read", Word: first.Text}}}
	}
	name := path.Base(first.Text)
	if !c.Outside && name == first.Text {
		if b, ok := t.rows[name]; ok && b.builtin {
			return readCommandLine(t, c, name, b)
		}
	}
	found, ok := t.program(name)
	if !ok {
		return Result{}
	}
	return readCommandLine(t, c, name, found)
}

// readCommandLine reads a command by its row.
func readCommandLine(t *table, c argv.Command, name string, row *row) Result {
	r := &reader{command: c, name: name, args: c.Words[1:], table: t}
	r.out.Row = true
	if !row.builtin && len(r.args) == 1 && !c.More && tellsAboutItself(r.args[0]) {
		return r.out
	}
	r.out.Interpreter = row.flags&runsFiles != 0
	r.as(row)
	return r.out
}

// tellsAboutItself reports a word that makes any program print its help or version and end.
func tellsAboutItself(w argv.Word) bool {
	return !w.Open && (w.Text == "--version" || w.Text == "--help")
}
