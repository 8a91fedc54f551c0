package argv

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

//go:embed options.txt
var optionsText string // go:embed needs a variable; it is never written

// embedded returns the table of options.txt, which is parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var embedded = sync.OnceValues(func() (map[string]*tool, error) { return parseOptions(optionsText) })

// tool describes how a program reads its words. The fields are those of options.txt. The zero tool is an
// unknown program.
type tool struct {
	known   bool
	global  options            // with sub-commands: those before the sub-command
	subs    subCommands        // whether it has any
	parts   map[string]options // after a certain sub-command
	behind  options            // after any other sub-command
	aliases string             // of sub-commands: from=to
	reader  string             // special meaning of words
	flags   flags
}

// subCommands says which options may follow a sub-command.
type subCommands uint8

const (
	noSubs       subCommands = iota // the program has no sub-commands
	sameSubs                        // the same as before it
	ownSubs                         // each sub-command has its own
	launchedSubs                    // those of the program that it starts
)

type flags uint8

const (
	longOptions          flags = 1 << iota // options with one dash are words, not clusters
	noAbbreviations                        // long options must be whole
	firstIsCluster                         // the first word is a cluster without its dash
	signals                                // -9 and -KILL name a signal
	shortSubs                              // sub-commands have abbreviations
	location                               // --location=global is --global
	knownBehindLaunchers                   // after sudo its options are the same
)

// toolOf finds a program. If the embedded table is malformed, every program is unknown.
func toolOf(base string) *tool {
	all, err := embedded()
	if t := all[base]; err == nil && t != nil && !strings.Contains(base, ":") {
		return t
	}
	return &tool{}
}

// has reports whether all the flags are set.
func (t *tool) has(f flags) bool { return t.flags&f == f }

// sub returns the options after a sub-command.
func (t *tool) sub(name string) options {
	if part, ok := t.parts[name]; ok {
		return part
	}
	switch t.subs {
	case sameSubs:
		return t.global
	case launchedSubs:
		other := toolOf(Base(name))
		if other.subs == noSubs || other.subs == launchedSubs || other.has(knownBehindLaunchers) {
			return other.global
		}
		return nil
	case noSubs, ownSubs:
	}
	return t.behind
}

// parseOptions parses a table of programs and their options.
func parseOptions(text string) (map[string]*tool, error) {
	rows, err := tables.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string]*tool{}
	for _, row := range rows {
		t := &tool{known: true}
		for _, f := range row.Fields {
			if err := t.take(f); err != nil {
				return nil, fmt.Errorf("%s: %w", row.Names[0], err)
			}
		}
		for _, name := range row.Names {
			out[name] = t
		}
	}
	for _, row := range rows { // rows that refer to another row
		for _, name := range row.Names {
			if program, sub, ok := strings.Cut(name, ":"); ok && out[program] != nil {
				out[program].addPart(sub, out[name].global)
			}
		}
		t := out[row.Names[0]]
		if i := slices.IndexFunc(row.Fields, func(f tables.Field) bool { return f.Key == "like" }); i >= 0 {
			other := out[row.Fields[i].Text()]
			if other == nil {
				return nil, row.Fields[i].Errorf("no such row")
			}
			t.global, t.aliases = other.global, other.aliases
		}
	}
	return out, nil
}

func (t *tool) addPart(sub string, behind options) {
	if t.parts == nil {
		t.parts = map[string]options{}
	}
	t.parts[sub] = behind
}

// take reads a field.
func (t *tool) take(f tables.Field) (err error) {
	if f.Text() == "" {
		return f.Errorf("nothing follows")
	}
	switch f.Key {
	case "options":
		t.global, err = undashed(f)
	case "behind":
		t.behind, err = undashed(f)
	case "aliases":
		t.aliases = f.Text()
	case "reader":
		t.reader = f.Text()
		if !slices.Contains([]string{"git", "docker", "cargo", "modes", "kinds"}, t.reader) {
			return f.Errorf("no such reader")
		}
	case "sub-commands":
		at := slices.Index([]string{"", "same", "own", "launched"}, f.Text())
		if at < 0 {
			return f.Errorf("no such sub-commands")
		}
		t.subs = subCommands(at)
	case "flags":
		all := []string{
			"long-options", "no-abbreviations", "first-is-cluster", "signals", "short-sub-commands", "location",
			"known-behind-launchers",
		}
		for _, w := range f.Words() {
			at := slices.Index(all, w)
			if at < 0 {
				return f.Errorf("%s is no flag", w)
			}
			t.flags |= 1 << at
		}
	case "like":
	default:
		return f.Errorf("no such field")
	}
	return err
}

// undashed reads options, and removes the dashes from their names.
func undashed(f tables.Field) (options, error) {
	out, err := f.Options()
	for i := range out {
		if out[i].Effect != "" {
			return nil, f.Errorf("%s has an effect, and this table has none", out[i].Names[0])
		}
		for _, list := range [][]string{out[i].Names, out[i].Means} {
			for k, name := range list {
				list[k] = strings.TrimLeft(name, "-")
			}
		}
	}
	return out, err
}
