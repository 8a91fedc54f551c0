// Package programs owns what else a command would start or run because of its words: the
// command after env or xargs, the text after sh -c, the program that an option of tar or git
// names. The table programs.txt describes the programs, reader.go reads words by it, and a
// program that a row cannot describe has a reader in Go.
//
// It refuses parts that cannot be read before they start. The kernel's list of programs
// bounds what no word names: hooks, build files, the contents of a program file. A program
// without a row starts nothing here.
//
// Package command calls it and decides the result by the policy.
package programs

import (
	"path"

	"github.com/ringd/ringd/profiles/argv"
)

// Result is what a command would start because of its words. The zero Result is that of a program that is not
// known to start any.
type Result struct {
	Row bool // the program is in the table
	// Commands are the commands that it starts, each to be decided like a command of its own.
	Commands []Start
	// Scripts are shell texts that it runs. One that is not Known comes from standard input, which the caller
	// fills in or refuses.
	Scripts []argv.Script
	Refused []refusal
	// Sets are variables that it sets for the programs that it starts if no command in its words gets them,
	// as with make. Variables of env are in its command.
	Sets []argv.Assignment
	// Needs are programs that it chooses itself, as kubectl diff does. No word names them, so the policy must
	// list them or allow them as helpers.
	Needs []string
	// Stdin is the language of program text that it reads from standard input, in the form of [Inline]. It is
	// empty if it reads none.
	Stdin string
	// Interpreter means that it runs programs from files, which have not been checked.
	Interpreter bool
	// Maybe means that unknown words could be options that start something: the final words decide. If
	// programs fill in those words (argv.Word.Fed, argv.Command.More), they cannot be checked later, and the
	// caller refuses.
	Maybe bool
}

// Start is a command that another one starts.
type Start struct {
	argv.Command
	Via string // how it is started: "find -exec", "timeout"
}

// refusal is a part of a command that would start something that cannot be read in advance. No value of
// unknown words makes it harmless.
type refusal struct {
	Reason string
	Word   string
}

// Inline reports which part of a program text starts programs. A caller that knows the standard input calls
// it with Result.Stdin as the language.
func Inline(language, text string) (what string, starts bool) {
	return inlineText(language, text)
}

// Of reads a command. If its first word is unknown, the result is Maybe. If the embedded table is malformed,
// every command is refused.
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

// tellsAboutItself reports whether a word makes every program print its help or version and exit.
func tellsAboutItself(w argv.Word) bool {
	return !w.Open && (w.Text == "--version" || w.Text == "--help")
}
