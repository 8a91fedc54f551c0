// Package launch owns what a command would start or run beside itself, read from
// its words alone: the command behind env or xargs, the text behind sh -c, the
// program that an option of tar or git names. It is one table of programs
// (table.go and its neighbours) and one engine that reads it; what a table cannot
// say has a reader of its own.
//
// It knows no policy and decides nothing: package command judges what it finds.
// It is pure, and no wall: what no word names (hooks, build files, a script's own
// starts) is held by the kernel's list of programs. In doubt it refuses.
package launch

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// Start is a command that another starts.
type Start struct {
	words.Command
	Via string // what leads to it: "find -exec", "timeout"
}

// Refusal is a part of a command that would start what nobody can read before it
// starts. No filling of unknown words makes it harmless.
type Refusal struct {
	Reason string
	Word   string
}

// Result is what a command would start by its words. The zero Result is that of a
// program that is not known to start any.
type Result struct {
	Row bool // the program is in the table
	// Commands are what it starts, each to be judged as if it stood alone.
	Commands []Start
	// Scripts are shell text that it runs. One that is not Known comes from standard
	// input, which is for the caller to fill or to refuse.
	Scripts []words.Script
	Refused []Refusal
	// Sets are variables that it sets for what it starts without being a program we
	// read the start of, as make does. What env sets stands at its command.
	Sets []words.Assignment
	// Needs are programs that it chooses itself by what it is asked, as tar -z does
	// gzip. No word names them, so nobody judges them; they must be among its helpers.
	Needs []string
	// Stdin is the language of program text that it reads from standard input, as
	// Inline takes it; "" where it reads none. Without input it does nothing.
	Stdin string
	// Interpreter says that it runs programs from files that nobody has read.
	Interpreter bool
	// Maybe says that unknown words could be such options: the final words decide.
	// Nothing final can be Maybe but for words that a program fills (words.Word.Fed,
	// words.Command.More): there it is a refusal.
	Maybe bool
}

// Of reads a command. One whose first word is not known is Maybe.
func Of(c words.Command) Result {
	if len(c.Words) == 0 {
		return Result{Maybe: c.More}
	}
	first := c.Words[0]
	if first.Open {
		return Result{Maybe: true}
	}
	name := path.Base(first.Text)
	if !c.Outside && name == first.Text {
		if b, ok := builtinRow(name); ok {
			return read(c, name, b)
		}
	}
	t, ok := rowOf(name)
	if !ok {
		return Result{}
	}
	return read(c, name, t)
}

func read(c words.Command, name string, t row) Result {
	r := &reader{c: c, name: name, args: c.Words[1:], row: t}
	r.out.Row = true
	r.out.Interpreter = t.flags&runsFiles != 0
	if t.own != nil {
		t.own(r)
	} else {
		r.plain()
	}
	return r.out
}

// rowOf finds a program in the table.
func rowOf(name string) (row, bool) {
	for _, part := range [...]func(string) (row, bool){rowsRunning, rowsTools, rowsTexts, rowsShells, rowsRemote, rowsBuild} {
		if t, ok := part(name); ok {
			return t, true
		}
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so") || strings.HasPrefix(name, "ld64.so") || strings.HasPrefix(name, "ld-2.") {
		return row{own: refuseAlways("a dynamic loader starts any program, listed or not")}, true
	}
	if base, ok := versioned(name); ok {
		return rowOf(base)
	}
	return row{}, false
}

// versioned takes the version off the name of an interpreter: python3.12, perl5.36,
// php8, gawk-5.1, vim.basic.
func versioned(name string) (string, bool) {
	base := strings.TrimRight(name, "0123456789.-")
	switch base {
	case "python", "pypy", "perl", "ruby", "php", "lua", "luajit", "node", "gawk", "mawk", "bash", "zsh", "ksh", "pip", "tclsh", "wish", "guile", "gdb", "emacs", "gcc", "g++", "clang", "java":
		return base, base != name
	}
	switch name {
	case "vim.basic", "vim.tiny", "vim.nox", "vim.gtk3":
		return "vim", true
	case "nc.openbsd", "nc.traditional":
		return "nc", true
	}
	return "", false
}
