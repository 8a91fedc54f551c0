package command

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/canonjson"
)

// Builtin reports whether the shell has a builtin of that name. refused is the reason why a script may not
// use it, or "".
func Builtin(name string) (refused string, is bool) {
	switch name {
	case ":", ".", "[", "alias", "bg", "break", "builtin", "caller", "cd", "command", "continue", "declare", "dirs",
		"disown", "echo", "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "help", "jobs", "kill",
		"let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly",
		"return",
		"set", "shift", "shopt", "source", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask",
		"unalias",
		"unset", "wait":
		return "", true
	case "enable":
		return "enable loads code into the shell, and turns builtins into programs", true
	case "bind", "complete", "compgen", "compopt":
		return name + " runs commands for a terminal, which a script does not have", true
	case "fc", "history":
		return name + " runs and writes the history of a terminal, which a script does not have", true
	case "suspend", "newgrp":
		return name + " is for a shell at a terminal", true
	default:
		return "", false
	}
}

// checkBuiltin decides a builtin. It returns false if the name is not one.
func (o *candidate) checkBuiltin(name string) bool {
	why, is := Builtin(name)
	if !is {
		return false
	}
	if why != "" {
		o.addFinding(Deny, finding(codeBuiltin, why))
		return true
	}
	args := o.Words[1:]
	switch name {
	case "exec":
		o.refusedOptions(args, "acl", "would disguise the program, or empty its environment")
	case "hash":
		o.refusedOptions(args, "p", "would give a listed name to another program")
	case "command":
		o.refusedOptions(args, "", "")
	case "export", "declare", "typeset", "local", "readonly":
		o.checkDeclaration(args)
	case "read", "mapfile", "readarray", "getopts", "printf", "let", "wait":
		o.checkNamedVariables(name, args)
	}
	return true
}

// refusedOptions decides options before the operands.
func (o *candidate) refusedOptions(args []argv.Word, letters, why string) {
	for _, a := range args {
		switch {
		case a.Open && (a.Text == "" || a.Text[0] == '-'):
			o.addFinding(Unsettled, finding(codeUnsettled,
				"an option of "+o.Words[0].Text+" is known only at run time"))
			return
		case a.Text == "--" || len(a.Text) < 2 || a.Text[0] != '-':
			return
		case strings.ContainsAny(a.Text[1:], letters):
			o.addFinding(Deny, finding(codeBuiltin, o.Words[0].Text+" "+canonjson.Clip(a.Text)+" "+why))
			return
		}
	}
}

// checkDeclaration decides the NAME=value words of a declaration.
func (o *candidate) checkDeclaration(args []argv.Word) {
	for _, a := range args {
		name, value, sets := strings.Cut(a.Text, "=")
		switch {
		case !sets && a.Open, a.Many:
			o.unsettledName(o.Words[0].Text)
		case sets && (name == "" || name[0] != '-'):
			o.variable(variableName(name), argv.Word{Text: value, Open: a.Open, Many: a.Many})
		}
	}
}

// unsettledName records that a builtin sets a variable whose name is unknown.
func (o *candidate) unsettledName(builtin string) {
	o.addFinding(Unsettled, finding(codeUnsettled, "which variable "+builtin+" sets is known only at run time"))
}

// variableName removes the + of += and a subscript.
func variableName(name string) string {
	name = strings.TrimSuffix(name, "+")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// checkNamedVariables decides builtins that set the variables named in their arguments.
func (o *candidate) checkNamedVariables(builtin string, args []argv.Word) {
	switch builtin {
	case "getopts":
		if len(args) > 1 {
			o.setName(builtin, args[1])
		}
		return
	case "let":
		for _, a := range args {
			o.arithmetic(a)
		}
		return
	}
	rest, known := o.namedOptions(builtin, args)
	if !known || builtin == "printf" || builtin == "wait" {
		return
	}
	for _, a := range rest {
		o.setName(builtin, a)
	}
}

// namedOptions decides the options before the names. It returns the following words, and false if unknown
// words hide where the names begin.
func (o *candidate) namedOptions(builtin string, args []argv.Word) (rest []argv.Word, known bool) {
	valued, names := "dnOsucC", "" // mapfile and readarray
	switch builtin {
	case "read":
		valued, names = "adeintNpu", "a"
	case "printf":
		valued, names = "v", "v"
	case "wait":
		valued, names = "p", "p"
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Open && (a.Text == "" || a.Text[0] == '-') {
			o.unsettledName(builtin)
			return nil, false
		}
		if a.Text == "--" {
			return args[i+1:], true
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			return args[i:], true
		}
		at := strings.IndexAny(a.Text[1:], valued)
		if at < 0 {
			continue
		}
		letter, value := a.Text[1+at:2+at], argv.Word{Text: a.Text[2+at:], Open: a.Open}
		if value.Text == "" && !value.Open && i+1 < len(args) {
			i++
			value = args[i]
		}
		if value.Open && value.Many {
			o.unsettledName(builtin)
			return nil, false
		}
		if strings.Contains(names, letter) {
			o.setName(builtin, value)
		}
	}
	return nil, true
}

// setName decides a variable that a builtin sets to an unknown value.
func (o *candidate) setName(builtin string, name argv.Word) {
	if name.Open {
		o.unsettledName(builtin)
		return
	}
	o.variable(variableName(name.Text), argv.Word{Open: true})
}

// arithmetic decides the names that an expression could set.
func (o *candidate) arithmetic(a argv.Word) {
	separates := func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	}
	for _, name := range strings.FieldsFunc(a.Text, separates) {
		if strings.ContainsAny(a.Text, "=+-") {
			o.variable(name, argv.Word{Open: true})
		}
	}
	if a.Open {
		o.unsettledName("let")
	}
}
