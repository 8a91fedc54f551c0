package known

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// maxCompared is the largest number of rules that one rule is compared with.
const maxCompared = 100

// denied checks the denied patterns.
func (c *checker) denied() {
	seen := map[string]int{}
	for _, d := range c.shell.DeniedPatterns {
		name := path.Base(d.Words[0])
		p := c.patterns[name][seen[name]]
		seen[name]++
		switch {
		case strings.Contains(name, "="):
			c.report(codeNever, p.Rule, "begin with the command; variables in front of it are decided separately",
				"%q sets a variable, and is no command", clip(p.Words[0]))
		case keyword(name):
			c.warn(codeNever, p.Rule, "name the command", "%s is part of the language of scripts, and no command", name)
		case c.unknownFlag(name, p.words, p.Rule):
		case c.shadowed(p, coveringRule(c.patterns[name], p, seen[name]-1)):
		case !c.Compact && !c.canRun(name):
			c.warn(codeRedundant, p.Rule, "it may stay as a note; a program that is not listed is refused anyway",
				"%s is not listed, so the pattern has no effect", clip(name))
		}
	}
}

// shadowed reports a rule that another one makes useless.
func (c *checker) shadowed(p rule, by *rule) bool {
	if by == nil {
		return false
	}
	c.warn(codeShadowed, p.Rule, "leave one of them out", "%q on line %d refuses all of it", clip(by.Text),
		by.Rule.Line).Related = []profiles.Rule{by.Rule}
	return true
}

// canRun reports whether a script can run the command at all: a listed program, or a builtin of the shell.
func (c *checker) canRun(name string) bool {
	_, builtin := c.decider.Builtin(name)
	return builtin || c.names[name] || c.kinds[many] > 0
}

// keyword reports whether a word is a keyword of the shell language.
func keyword(word string) bool {
	return slices.Contains([]string{"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
		"esac", "in", "function", "select"}, word)
}

// rules checks the word rules of one program.
func (c *checker) rules(i int) {
	b := &c.shell.Binaries[i]
	name := path.Base(b.Path)
	whole := !c.Binaries[i].Broken
	if _, builtin := c.decider.Builtin(name); builtin && restricted(b) && !b.Interpreted {
		c.warn(codeUnreachable, b.Rule, "write a denied pattern, which applies to the builtin too",
			"in a script, %s is the builtin of the shell: the rules of the program apply only if another program "+
				"starts it",
			clip(name))
	}
	patterns, denies, allows := c.patterns[name], readAll(name, b.Deny), readAll(name, b.Allow)
	for j, p := range denies {
		switch {
		case c.unknownFlag(name, p.words, p.Rule):
		case c.shadowed(p, coveringRule(denies, p, j)), c.shadowed(p, coveringRule(patterns, p, -1)):
		case whole && !granted(b, p.words):
			c.warn(codeUnreachable, p.Rule, "leave it out, or list the sub-command",
				"%q is refused anyway: subcommands does not list it", clip(p.Text))
		}
	}
	refused := func(p rule) bool {
		by := coveringRule(denies, p, -1)
		if by == nil {
			by = coveringRule(patterns, p, -1)
		}
		if by != nil {
			c.warn(codeUnreachable, p.Rule, "a denial wins: leave one of them out", "%q on line %d refuses all of it",
				clip(by.Text), by.Rule.Line).Related = []profiles.Rule{by.Rule}
		}
		return by != nil
	}
	for j, p := range allows {
		by := coveringRule(allows, p, j)
		switch {
		case refused(p):
		case b.MaxArgs > 0 && int64(len(p.words)) > b.MaxArgs:
			c.warn(codeUnreachable, p.Rule, "raise args.maxArgs", "%q has more words than maxArgs lets through, %d",
				clip(p.Text), b.MaxArgs)
		case by != nil:
			c.warn(codeShadowed, p.Rule, "leave one of them out", "%q on line %d grants all of it", clip(by.Text),
				by.Rule.Line).Related = []profiles.Rule{by.Rule}
		}
	}
	asks := make([]rule, len(b.Ask))
	for j := range b.Ask {
		asks[j] = read(name, &b.Ask[j].Pattern, 0)
	}
	for j, p := range asks {
		by := coveringRule(asks[:j], p, -1)
		switch {
		case c.unknownFlag(name, p.words, p.Rule):
		case refused(p):
		case whole && !granted(b, p.words):
			c.warn(codeUnreachable, p.Rule, fmt.Sprintf("add %q to subcommands", clip(p.words[0])),
				"no approval is asked for: subcommands does not list %q, so it is refused", clip(p.Text))
		case by != nil:
			c.warn(codeShadowed, p.Rule, "write the narrower one first",
				"%q on line %d comes first, and asks about all of it", clip(by.Text),
				by.Rule.Line).Related = []profiles.Rule{by.Rule}
		}
	}
	if whole {
		c.force(b, c.Binaries[i].Force, name, denies)
	}
}

// granted reports whether a command that a rule matches may have a listed sub-command.
func granted(b *profiles.Binary, rule []string) bool {
	if b.Allow == nil {
		return true
	}
	var operands []string
	for _, w := range rule {
		if !strings.HasPrefix(w, "-") {
			operands = append(operands, w)
		}
	}
	return slices.ContainsFunc(b.Allow, func(a profiles.Pattern) bool {
		n := min(len(operands), len(a.Words))
		return slices.Equal(operands[:n], a.Words[:n])
	})
}

// force checks the forced words of a program.
func (c *checker) force(b *profiles.Binary, at profiles.Rule, name string, denies []rule) {
	if len(b.ForceArgs) == 0 || b.Interpreted {
		return
	}
	forced := read(name, &profiles.Pattern{Words: b.ForceArgs}, 0)
	by := coveringRule(denies, forced, -1)
	if by == nil {
		by = coveringRule(c.patterns[name], forced, -1)
	}
	if by != nil {
		c.report(codeForce, at, "leave the words out of args.force, or the denial", "%q on line %d refuses these words",
			clip(by.Text), by.Rule.Line).Related = []profiles.Rule{by.Rule}
	}
	if sub := subcommand(name, b.ForceArgs); sub != "" {
		c.report(codeForce, at, "force options of the program, each with its value",
			"%q would take the place of the sub-command of %s", clip(sub), clip(name))
	}
}
