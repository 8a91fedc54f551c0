package command

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command/programs"
)

// checkConfigKeys decides the configuration keys on a command line of git. Each must be known to start nothing.
func (o *candidate) checkConfigKeys(rule func(code, format string, args ...any) Finding) {
	if o.words.Has("c") == argv.Maybe || o.words.Has("config") == argv.Maybe {
		o.addFinding(Unsettled, rule(codeUnsettled, "which configuration is set is known only at run time"))
	}
	for _, v := range append(o.words.Values("c"), o.words.Values("config")...) {
		key, value, _ := strings.Cut(v.Text, "=")
		if !strings.Contains(key, ".") && !v.Open {
			continue // another option with that letter: every key has a dot
		}
		o.checkKey(key, argv.Word{Text: value, Open: v.Open}, rule)
	}
	for _, v := range o.words.Values("config-env") {
		key, _, _ := strings.Cut(v.Text, "=")
		if programs.GitKey(key, "", false) != programs.GitKeySafe {
			o.addFinding(Deny, rule(codeConfig, "%s may start programs: git may run its value", quoted(key)))
		}
	}
	sub, sure := o.words.Sub()
	if !sure || sub[0].Text != "config" {
		return
	}
	for _, reads := range []string{
		"get", "get-all", "get-regexp", "get-urlmatch", "list", "unset", "unset-all", "get-color", "get-colorbool",
	} {
		if o.words.Has(reads) == argv.Yes {
			return
		}
	}
	switch o.words.Has("edit") {
	case argv.No:
	case argv.Maybe:
		o.addFinding(Unsettled, rule(codeUnsettled, "which configuration is set is known only at run time"))
	case argv.Yes:
		o.addFinding(Deny, rule(codeConfig, "git config --edit can set every key"))
		return
	}
	args := sub[1:]
	if len(args) > 0 && !args[0].Open {
		switch args[0].Text {
		case "list", "get":
			return
		case "set", "unset":
			args = args[1:]
		}
	}
	switch len(args) {
	case 0:
		return
	case 1:
		if !o.More && !args[0].Open {
			return // it is read
		}
		o.checkKey(args[0].Text, argv.Word{Open: true}, rule)
	default:
		value := args[1]
		value.Open = value.Open || args[0].Open
		o.checkKey(args[0].Text, value, rule)
	}
}

// checkKey decides one key.
func (o *candidate) checkKey(key string, value argv.Word, rule func(code, format string, args ...any) Finding) {
	if programs.GitKey(key, value.Text, !value.Open) == programs.GitKeySafe {
		return
	}
	if value.Open {
		f := rule(codeUnsettled, "the value of configuration %s is known only at run time", quoted(key))
		o.addFinding(Unsettled, f)
		return
	}
	o.addFinding(Deny, rule(codeConfig, "%s may start programs: git may run its value", quoted(key)))
}
