package known

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

// rule is a parsed denied pattern, or a parsed rule of one program. It keeps its words in two forms: as the words
// of a command, and as the words of a pattern.
type rule struct {
	*profiles.Pattern
	words   []string // after the program's name
	command *argv.Words
	pattern argv.Pattern
}

func read(name string, p *profiles.Pattern, behind int) rule {
	behindName := p.Words[behind:]
	return rule{Pattern: p, words: behindName, pattern: argv.NewPattern(name, behindName),
		command: argv.Split(argv.AllKnown(append([]string{name}, behindName...)), false)}
}

func readAll(name string, list []profiles.Pattern) []rule {
	out := make([]rule, len(list))
	for i := range list {
		out[i] = read(name, &list[i], 0)
	}
	return out
}

// covers reports whether a rule matches every command that another rule of the same program matches.
func (r rule) covers(other rule) bool { return other.command.Denies(r.pattern) == argv.Yes }

// coveringRule returns a rule of the list that covers another one and precedes it or matches more. at is the
// position of the other rule in the list, or -1.
func coveringRule(list []rule, what rule, at int) *rule {
	for i := range list[:min(len(list), maxCompared)] {
		r := &list[i]
		if i == at || !r.covers(what) {
			continue
		}
		if at < 0 || i < at || !what.covers(*r) {
			return r
		}
	}
	return nil
}

// index parses the denied patterns and groups them by the command that they name.
func index(list []profiles.Pattern) map[string][]rule {
	by := map[string][]rule{}
	for i := range list {
		name := path.Base(list[i].Words[0])
		by[name] = append(by[name], read(name, &list[i], 1))
	}
	return by
}

// subcommand returns the argument that the program would take as its sub-command, or "" if there is none or
// it is unknown.
func subcommand(name string, args []string) string {
	if !strings.HasPrefix(args[0], "-") {
		return args[0]
	}
	if sub, sure := argv.Split(argv.AllKnown(append([]string{name}, args...)), false).Sub(); sure && len(sub) > 0 {
		return sub[0].Text
	}
	return ""
}
