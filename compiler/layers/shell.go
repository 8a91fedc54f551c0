package layers

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

func mergePatterns(s *step, own, above *schema.Shell, w site) {
	patterns := slices.Clone(above.DenyPatterns)
	for i := range patterns { // examples are checked in the layer that declares them
		patterns[i].Match, patterns[i].NotMatch = nil, nil
	}
	own.DenyPatterns = accumulate(s, w.field("denyPatterns"), own.DenyPatterns, patterns,
		func(p schema.DenyPattern) string {
			return plainWords(p.Pattern)
		})
}

func mergeShellEnv(s *step, own, above *schema.Shell, w site) {
	if above.Binaries != nil || above.Env != nil {
		own.Env = mergeVariables(s, own.Env, above.Env, w.field("env"))
	}
}

func mergeBinaryEnv(s *step, own, above *schema.Binary, w site) {
	own.Env = mergeVariables(s, own.Env, above.Env, w.field("env"))
}

// mergeVariables merges variables. The variables of a ceiling stay. A child may add only variables that a
// script may set itself, since any other variable could change the behaviour of the listed programs.
func mergeVariables(s *step, own, above map[string]string, w site) map[string]string {
	if own == nil && above == nil {
		return nil
	}
	s.inheritOrigin(w)
	merged := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value, here := own[name], w.field(name)
		theirs, set := above[name]
		reason, refused, maybe := command.VariableRefused(name, argv.Known(value))
		switch {
		case set && value != theirs:
			s.refuse(CodeWidens, here, "leave it out", "is set to another value at %s", s.shown(here.above))
			schema.ForgetOrigins(s.child.Origins, here.own, value)
		case !set && (refused || maybe):
			s.refuse(CodeWidens, site{here.own, w.above}, "let "+s.owner(w.above)+" set it there",
				"is not set by %s, and no layer below may: %s", s.shown(w.above), reason)
			schema.ForgetOrigins(s.child.Origins, here.own, value)
		default:
			merged[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(above)) {
		if _, there := merged[name]; !there {
			merged[name] = inherit(s, w.field(name), above[name])
		}
	}
	return merged
}

// mergeBinaries merges programs. If the layer above has a list of programs, no others are allowed.
// Programs are compared by path.
func mergeBinaries(s *step, own, above *schema.Shell, w site) {
	list := w.field("binaries")
	if own.Binaries == nil {
		if !s.grants && above.Binaries != nil {
			own.Binaries = inherit(s, list, slices.Clone(above.Binaries))
		}
		return
	}
	denied := map[string]int{}
	for j, p := range above.DenyPatterns {
		if f := strings.Fields(p.Pattern); len(f) == 1 {
			denied[path.Base(f[0])] = j
		}
	}
	key := func(b *schema.Binary) string { return b.Path }
	own.Binaries = mergeKeyed(s, list.own, own.Binaries, above.Binaries, key,
		func(b *schema.Binary, i, j int, names []string) bool {
			here := index(list.own, i) + ".path"
			if k, ok := denied[path.Base(b.Path)]; ok {
				s.denied(site{here, index(w.above+".denyPatterns", k) + ".pattern"}, b.Path)
				return false
			}
			switch {
			case above.Binaries == nil:
			case j < 0:
				s.notAllowed(site{here, list.above}, b.Path, names)
				return false
			default:
				s.mergeStruct(b, &above.Binaries[j], list.item(i, j))
			}
			return true
		})
}

// mergeAcknowledge gives the child the value of the layer above if the child has none. The value silences
// findings and grants nothing.
func mergeAcknowledge(s *step, own, above *schema.Binary, w site) {
	if own.Acknowledge == nil && above.Acknowledge != nil {
		own.Acknowledge = inherit(s, w.field("acknowledge"), above.Acknowledge)
	}
}

// mergeHelpers merges helpers. Helpers are grants, so none is allowed if the layer above has no list.
func mergeHelpers(s *step, own, above *schema.Binary, w site) {
	w = w.field("helpers")
	if own.Helpers != nil || above.Helpers != nil {
		offered := paths.Of(above.Helpers...)
		b := bound{list: append([]string{}, above.Helpers...), grant: true, holds: offered.Cover}
		own.Helpers = mergeWithin(s, w, own.Helpers, b)
	}
	own.Under = foldersBelow(own.Helpers, above.Helpers, own.Under, above.Under)
}

// mergeArgs merges the rules for the arguments of a program. Forced arguments are checked even if the
// layer above has no rules.
func mergeArgs(s *step, own, above *schema.Binary, w site) {
	args := w.field("args")
	switch {
	case above.Args != nil:
		s.inheritOrigin(args)
		own.Args = copied(own.Args)
		s.mergeStruct(own.Args, above.Args, args)
	case own.Args != nil && own.Args.Force != nil:
		own.Args = copied(own.Args)
		own.Args.Force = forced(s, own.Args.Force, nil, site{args.own + ".force", w.above + ".args"})
	}
}

func plainWords(text string) string { return strings.Join(strings.Fields(text), " ") }

func mergeDeniedWords(s *step, own, above *schema.Args, w site) {
	own.Deny = accumulate(s, w.field("deny"), own.Deny, above.Deny,
		func(d schema.DenyWords) string { return plainWords(d.Words) })
}

func mergeForce(s *step, own, above *schema.Args, w site) {
	own.Force = forced(s, own.Force, above.Force, w.field("force"))
}

// forced merges forced arguments. They are inserted after the decision, so only the owner may set them.
func forced(s *step, own, above []string, w site) []string {
	switch {
	case own == nil:
		if above == nil {
			return nil
		}
		return inherit(s, w, above)
	case slices.Equal(own, above):
		return own
	}
	s.refuse(CodeWidens, w, "leave it out, or let "+s.owner(w.above)+" force the words", "forces other words than %s",
		s.shown(w.above))
	schema.ForgetOrigins(s.child.Origins, w.own, own)
	if above == nil {
		return nil
	}
	return inherit(s, w, above)
}

// mergeSubcommands merges sub-commands. If the layer above lists sub-commands, a sub-command of the child
// must begin with the words of one of them.
func mergeSubcommands(s *step, own, above *schema.Args, w site) {
	list := w.field("subcommands")
	if own.Subcommands == nil {
		if above.Subcommands != nil {
			own.Subcommands = inherit(s, list, above.Subcommands)
		}
		return
	}
	denied := make(map[string]int, len(above.Deny)) // denied arguments with flags cannot match a sub-command
	for j, d := range above.Deny {
		denied[plainWords(d.Words)] = j
	}
	offered := make(map[string]int, len(above.Subcommands))
	for j, text := range above.Subcommands {
		offered[plainWords(text)] = j
	}
	refused := map[int]bool{}
	for i, text := range own.Subcommands {
		text = plainWords(text)
		here := index(list.own, i)
		if j, ok := prefixed(denied, text); ok {
			s.denied(site{here, index(w.above+".deny", j) + ".words"}, text)
		} else if _, ok := prefixed(offered, text); above.Subcommands != nil && !ok {
			s.notAllowed(site{here, list.above}, text, above.Subcommands)
		} else {
			continue
		}
		refused[i] = true
	}
	if len(own.Subcommands) == 0 || len(refused) < len(own.Subcommands) {
		own.Subcommands = keep(s, list.own, own.Subcommands, refused)
		return
	}
	schema.ForgetOrigins(s.child.Origins, list.own, own.Subcommands)
	if own.Subcommands = nil; above.Subcommands != nil {
		own.Subcommands = inherit(s, list, above.Subcommands)
	}
}

// prefixed finds an entry with whose words the text begins.
func prefixed(of map[string]int, text string) (int, bool) {
	for len(of) > 0 && text != "" {
		if j, ok := of[text]; ok {
			return j, true
		}
		text = text[:max(0, strings.LastIndexByte(text, ' '))]
	}
	return 0, false
}

// mergeAskedWords merges the sub-commands that need an approval. The rules of the layer above stay. The
// first rule that matches a command applies. So a rule of the child comes before the rules of the layer
// above only if it requires no less than each of them.
func mergeAskedWords(s *step, own, above *schema.Args, w site) {
	if len(above.Ask) == 0 {
		return
	}
	w = w.field("ask")
	keyed := func(a schema.AskWords) string { return plainWords(a.Words) }
	known := make(map[string]int, len(above.Ask))
	for j, a := range above.Ask {
		known[keyed(a)] = j
	}
	var before, behind []schema.AskWords
	kept := map[string]schema.Origins{}
	add := func(to *[]schema.AskWords, a schema.AskWords, from schema.Origins, at string) {
		o := schema.Origins{}
		schema.MoveOrigins(o, "", from, at, a)
		kept[keyed(a)] = o
		*to = append(*to, a)
	}
	asksLess := func(a schema.AskWords) bool {
		return slices.ContainsFunc(above.Ask,
			func(o schema.AskWords) bool { return !asksNoLess(a.Approval, o.Approval) })
	}
	restated := map[string]int{}
	for i, a := range own.Ask {
		if _, ok := known[keyed(a)]; ok {
			restated[keyed(a)] = i
		} else if asksLess(a) {
			add(&behind, a, s.child.Origins, index(w.own, i))
		} else {
			add(&before, a, s.child.Origins, index(w.own, i))
		}
	}
	for j, a := range above.Ask {
		i, ok := restated[keyed(a)]
		if !ok {
			add(&before, a, s.parent.Origins, index(w.above, j))
			continue
		}
		a = own.Ask[i]
		s.mergeStruct(&a, &above.Ask[j], w.item(i, j))
		add(&before, a, s.child.Origins, index(w.own, i))
	}
	for i, a := range own.Ask {
		schema.ForgetOrigins(s.child.Origins, index(w.own, i), a)
	}
	s.inheritOrigin(w)
	own.Ask = append(before, behind...)
	for i, a := range own.Ask {
		schema.MoveOrigins(s.child.Origins, index(w.own, i), kept[keyed(a)], "", a)
	}
}

// asksNoLess reports whether an approval requires at least what another one does, with no longer waits.
func asksNoLess(a, b *schema.WordsApproval) bool {
	x, y := copied(a), copied(b)
	count := func(w *schema.WordsApproval) int64 {
		if w.Count == nil {
			return 1
		}
		return *w.Count
	}
	// an absent duration is the compiler's default
	time := func(text, usual string) int64 {
		if n, ok := schema.Duration(cmp.Or(text, usual)); ok {
			return n
		}
		return math.MaxInt64
	}
	return (y.From == nil || x.From != nil && outside(x.From, y.From) < 0) && count(x) >= count(y) &&
		time(x.ExpiresAfter, "24h") <= time(y.ExpiresAfter, "24h") && time(x.Hold, "5m") <= time(y.Hold, "5m")
}
