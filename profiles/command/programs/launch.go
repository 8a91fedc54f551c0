// Package programs owns what a command would start or run beside itself, read from its
// words alone: the command behind env or xargs, the text behind sh -c, the program that an
// option of tar or git names. It is tables of programs and one engine that reads them; what
// a row cannot say has a reader.
//
// It knows no policy and decides nothing: package command judges what it finds. What no
// word names (hooks, build files, a script's own starts) is held by the kernel's list of
// programs. In doubt it refuses.
package programs

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// Inline reports what in a program text starts programs. The language is one that
// Result.Stdin gives: a caller that knows what stands on standard input asks it.
func Inline(language, text string) (what string, starts bool) {
	return inlineText(language, text)
}

// Of reads a command. One whose first word is not known is Maybe.
func Of(c argv.Command) Result {
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
			return readCommandLine(c, name, b, nil)
		}
	}
	t, ok := rowOf(name)
	if !ok {
		return Result{}
	}
	return readCommandLine(c, name, t, rowOf)
}

// rowOf finds a program in the table.
func rowOf(name string) (row, bool) {
	for _, part := range [...]func(string) (row, bool){runningRows, toolRows, Texts, interpreterRows, remoteRow, buildRows} {
		if t, ok := part(name); ok {
			return t, true
		}
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so") || strings.HasPrefix(name, "ld64.so") || strings.HasPrefix(name, "ld-2.") {
		return row{Own: Always("a dynamic loader starts any program, listed or not")}, true
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
