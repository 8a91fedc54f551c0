package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/profiles/argv"
)

func (c *check) call(x *syntax.CallExpr) {
	for _, a := range x.Assigns {
		c.assign(a)
	}
	for _, w := range x.Args {
		c.word(w)
	}
	if c.bad != nil || len(x.Args) == 0 {
		return
	}
	name := StaticWord(x.Args[0])
	if name.Open || !checksWords(name.Text) {
		return
	}
	var args []argv.Word
	for _, w := range x.Args[1:] {
		args, _ = Fields(args, w)
	}
	c.builtin(name.Text, args, x)
}

// checksWords reports whether the words of a builtin are checked.
func checksWords(name string) bool {
	switch name {
	case "set", "shopt", "trap", "cd", "read", "mapfile", "readarray", "test", "[", "unset", "printf", "getopts",
		"wait":
		return true
	default:
		return false
	}
}

func (c *check) builtin(name string, args []argv.Word, x *syntax.CallExpr) {
	switch name {
	case "set":
		c.set(args, x.Pos())
	case "shopt":
		c.shopt(args, x.Pos())
	case "trap":
		c.trap(args, x.Pos())
	case "cd":
		if len(args) > 0 && !args[0].Open && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
			switch args[0].Text {
			case "-L", "-P", "--":
			default:
				c.refuse("cd.option", x.Pos())
			}
		}
	case "printf":
		for i, a := range args {
			if i+1 < len(args) && a.Text == "-v" && !a.Open {
				c.coded(args[i+1].Text, x.Pos())
			}
		}
	default: // they take names of variables, or numbers that are evaluated
		for _, a := range args {
			c.coded(a.Text, x.Pos())
		}
	}
}

func (c *check) set(args []argv.Word, at syntax.Pos) {
	if len(args) == 0 {
		c.refuse("set.print", at)
		return
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Open {
			return // $- and similar: a word that is no option fails when it runs
		}
		if a.Text == "--" || a.Text == "-" || len(a.Text) < 2 || a.Text[0] != '-' && a.Text[0] != '+' {
			return
		}
		for _, f := range a.Text[1:] {
			if f != 'o' {
				if !strings.ContainsRune(setLetters+setNothing, f) {
					c.refuse("set.option", at)
				}
				continue
			}
			if i++; i >= len(args) {
				c.refuse("set.print", at)
				return
			}
			if !args[i].Open && !setNamed(args[i].Text) && !setIgnored(args[i].Text) {
				c.refuse("set.option", at)
			}
		}
	}
}

// Options that the builtin set accepts: options that work as in bash, and options that change nothing in a
// script, because it has no terminal and no history.
const (
	setLetters = "aefnux"
	setNothing = "EThHbB"
)

func setNamed(name string) bool {
	switch name {
	case "allexport", "errexit", "noexec", "noglob", "nounset", "xtrace", "pipefail":
		return true
	default:
		return false
	}
}

func setIgnored(name string) bool {
	switch name {
	case "errtrace", "functrace", "hashall", "histexpand", "notify", "braceexpand", "interactive-comments", "nolog":
		return true
	default:
		return false
	}
}

func (c *check) shopt(args []argv.Word, at syntax.Pos) {
	if len(args) < 2 || args[0].Open || args[0].Text != "-s" && args[0].Text != "-u" {
		c.refuse("shopt.print", at)
		return
	}
	for _, a := range args[1:] {
		switch {
		case a.Open:
		case shoptRuns(a.Text) || a.Text == "inherit_errexit" && args[0].Text == "-s":
		case args[0].Text == "-u" || !shoptIgnored(a.Text):
			c.refuse("shopt.option", at)
		}
	}
}

func shoptRuns(name string) bool {
	switch name {
	case "nullglob", "dotglob", "globstar", "nocaseglob", "extglob", "expand_aliases":
		return true
	default:
		return false
	}
}

// shoptIgnored names options that are on in a script of bash, or that change nothing in one.
func shoptIgnored(name string) bool {
	switch name {
	case "checkwinsize", "cmdhist", "histappend", "sourcepath", "interactive_comments", "checkjobs", "huponexit":
		return true
	default:
		return false
	}
}

func (c *check) trap(args []argv.Word, at syntax.Pos) {
	if len(args) > 0 && !args[0].Open && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	if !args[0].Open && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		c.refuse("trap.option", at)
		return
	}
	for i, a := range args {
		if a.Open || i == 0 && len(args) > 1 {
			continue
		}
		switch Signal(a.Text) {
		case "EXIT":
			if c.sub > 0 && (args[0].Open || args[0].Text != "-") {
				c.refuse("trap.exit", at)
			}
		case "":
			c.refuse("trap.signal", at)
		}
	}
}

// Signal returns the name of the event that a trap may wait for: EXIT and ERR, or IGNORED for a signal that
// cannot be sent to a script. For all other words it is empty.
func Signal(word string) string {
	name := strings.TrimPrefix(strings.ToUpper(word), "SIG")
	switch name {
	case "0", "EXIT":
		return "EXIT"
	case "ERR":
		return "ERR"
	case "HUP", "INT", "QUIT", "TERM", "PIPE", "ALRM", "USR1", "USR2", "CHLD", "CONT", "TSTP", "TTIN", "TTOU", "WINCH",
		"ABRT", "XCPU", "XFSZ", "VTALRM", "PROF", "IO", "PWR",
		"1", "2", "3", "6", "10", "12", "13", "14", "15", "17", "18", "20":
		return "IGNORED"
	default:
		return ""
	}
}

func (c *check) assign(a *syntax.Assign) {
	if c.bad != nil {
		return
	}
	c.subscript(a.Index)
	if a.Value != nil {
		v := StaticWord(a.Value)
		c.coded(v.Text, a.Pos())
		if substitutes(v.Text) && !c.stored.IsValid() {
			c.stored = a.Pos()
		}
		if i := strings.IndexByte(v.Text, '['); i > 0 && syntax.ValidName(v.Text[:i]) &&
			(strings.HasSuffix(v.Text, "[@]") || strings.HasSuffix(v.Text, "[*]")) {
			c.list = a.Pos()
		}
		c.word(a.Value)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			c.subscript(e.Index)
			c.word(e.Value)
		}
	}
}

// decl walks declare, local, export, readonly and typeset.
func (c *check) decl(d *syntax.DeclClause) {
	name := d.Variant.Value
	if name == "nameref" {
		c.refuse("node", d.Pos())
		return
	}
	names, asks := 0, false
	for _, a := range d.Args {
		if a.Name != nil {
			names++
			c.assign(a)
			continue
		}
		v := StaticWord(a.Value)
		c.word(a.Value)
		c.coded(v.Text, a.Pos())
		if v.Open || len(v.Text) < 2 || v.Text[0] != '-' && v.Text[0] != '+' || v.Text == "--" {
			names++
			continue
		}
		asks = asks || strings.ContainsAny(v.Text, "fp")
		c.declFlags(name, v.Text, a.Pos())
	}
	if names == 0 && name != "local" || names == 0 && asks {
		c.refuse("declare.print", d.Pos())
	}
}

func (c *check) declFlags(name, flags string, at syntax.Pos) {
	for _, f := range flags[1:] {
		switch {
		case f == 'i':
			c.refuse("declare.integer", at)
		case strings.ContainsRune("luctI", f):
			c.refuse("declare.letters", at)
		case f == 'F', f == 'f' && name != "declare" && name != "typeset", f == 'x' && strings.Contains(flags, "f"):
			c.refuse("declare.function", at)
		case f == 'n' && name == "export", flags[0] == '+':
			c.refuse("declare.unexport", at)
		case !strings.ContainsRune("aAnrxgfp", f):
			c.refuse("node", at)
		}
	}
}
