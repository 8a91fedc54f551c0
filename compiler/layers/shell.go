package layers

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/schema"
)

const (
	atShell    = "spec.executors.shell"
	atBinaries = atShell + ".binaries"
	atPatterns = atShell + ".denyPatterns"
)

func (s *step) shell(own, above *schema.Shell, all *schema.Limits) *schema.Shell {
	written := own != nil
	if own = copied(own); above == nil {
		above = &schema.Shell{}
	} else {
		s.place(atShell, atShell)
	}
	own.Binaries = s.binaries(own.Binaries, above)
	patterns := slices.Clone(above.DenyPatterns)
	for i := range patterns { // its examples are about the layer, and are looked at there
		patterns[i].Match, patterns[i].NotMatch = nil, nil
	}
	own.DenyPatterns = accumulate(s, atPatterns, atPatterns, own.DenyPatterns, patterns, func(p schema.DenyPattern) string {
		return strings.Join(strings.Fields(p.Pattern), " ")
	})
	if above.Binaries != nil || above.Env != nil {
		own.Env = s.variables(atShell+".env", atShell+".env", own.Env, above.Env)
	}
	s.may(atShell+".allowPipes", atShell+".allowPipes", &own.AllowPipes, above.AllowPipes)
	s.may(atShell+".allowRedirects", atShell+".allowRedirects", &own.AllowRedirects, above.AllowRedirects)
	s.may(atShell+".allowSubstitution", atShell+".allowSubstitution", &own.AllowSubstitution, above.AllowSubstitution)
	s.may(atShell+".jit", atShell+".jit", &own.JIT, above.JIT)
	s.word(atShell+".audit", atShell+".audit", &own.Audit, above.Audit, audits()...)
	own.Limits = s.limits(atShell+".limits", own.Limits, above.Limits, "spec.limits", all)
	if !written && own.Binaries == nil && own.DenyPatterns == nil && own.Env == nil && own.AllowPipes == nil && own.AllowRedirects == nil &&
		own.AllowSubstitution == nil && own.JIT == nil && own.Audit == "" && own.Limits == nil {
		return nil
	}
	return own
}

// variables: those of a ceiling stand. A child adds what a script may set itself, since
// any other could change what the programs of the list do.
func (s *step) variables(path, up string, own, above map[string]string) map[string]string {
	if own == nil && above == nil {
		return nil
	}
	s.place(path, up)
	merged := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value, here, there := own[name], path+"."+name, up+"."+name
		theirs, set := above[name]
		reason, refused, maybe := command.VariableRefused(name, argv.Known(value))
		switch {
		case set && value != theirs:
			s.refuse(CodeWidens, here, there, "leave it out", "is set to another value at %s", shown(s.above(there)))
			schema.ForgetOrigins(s.child.Origins, here, value)
		case !set && (refused || maybe):
			s.refuse(CodeWidens, here, up, "let "+s.owner(up)+" set it there", "is not set by %s, and no layer below may: %s", shown(s.above(up)), reason)
			schema.ForgetOrigins(s.child.Origins, here, value)
		default:
			merged[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(above)) {
		if _, there := merged[name]; !there {
			merged[name] = inherit(s, path+"."+name, up+"."+name, above[name])
		}
	}
	return merged
}

// binaries: a list above holds the only programs there are, each by its path.
func (s *step) binaries(own []schema.Binary, above *schema.Shell) []schema.Binary {
	if own == nil {
		if s.grants || above.Binaries == nil {
			return nil
		}
		bare := slices.Clone(above.Binaries)
		return inherit(s, atBinaries, atBinaries, bare)
	}
	offered, denied := map[string]int{}, map[string]int{}
	var names []string
	for j, b := range above.Binaries {
		offered[b.Path] = j
		names = append(names, b.Path)
	}
	for j, p := range above.DenyPatterns {
		if f := strings.Fields(p.Pattern); len(f) == 1 {
			denied[path.Base(f[0])] = j
		}
	}
	own = slices.Clone(own)
	refused := map[int]bool{}
	for i := range own {
		b, at := &own[i], index(atBinaries, i)
		if j, ok := denied[path.Base(b.Path)]; ok {
			s.denied(at+".path", index(atPatterns, j)+".pattern", b.Path)
			refused[i] = true
			continue
		}
		if above.Binaries == nil {
			continue
		}
		j, ok := offered[b.Path]
		if !ok {
			s.notAllowed(at+".path", atBinaries, b.Path, names)
			refused[i] = true
			continue
		}
		s.binary(at, index(atBinaries, j), b, &above.Binaries[j])
	}
	return keep(s, atBinaries, own, refused)
}

func (s *step) binary(at, up string, own, above *schema.Binary) {
	own.Args = s.args(at+".args", up+".args", own.Args, above.Args)
	own.Env = s.variables(at+".env", up+".env", own.Env, above.Env)
	own.Helpers = s.helpers(at+".helpers", up, own.Helpers, above.Helpers)
	own.Under = foldersBelow(own.Helpers, above.Helpers, own.Under, above.Under)
	if own.Acknowledge == nil && above.Acknowledge != nil {
		own.Acknowledge = inherit(s, at+".acknowledge", up+".acknowledge", above.Acknowledge)
	}
	s.may(at+".network", up+".network", &own.Network, above.Network)
}

// helpers: what a program may start is a grant, and above none is none.
func (s *step) helpers(path, up string, own, above []string) []string {
	if own == nil {
		if s.grants || above == nil {
			return nil
		}
		return inherit(s, path, up+".helpers", above)
	}
	offered := paths.Of(above...)
	refused := map[int]bool{}
	for i, p := range own {
		if !offered.Cover(p) {
			s.notAllowed(index(path, i), up+".helpers", p, above)
			refused[i] = true
		}
	}
	return keep(s, path, own, refused)
}

// args puts the rules for the words of a program under those above.
func (s *step) args(path, up string, own, above *schema.Args) *schema.Args {
	if above == nil {
		if own != nil && own.Force != nil {
			own = copied(own)
			own.Force = s.forced(path+".force", up, own.Force, nil)
		}
		return own
	}
	s.place(path, up)
	own = copied(own)
	own.Subcommands = s.subcommands(path, up, own.Subcommands, above)
	own.Deny = accumulate(s, path+".deny", up+".deny", own.Deny, above.Deny, func(w schema.DenyWords) string { return plainWords(w.Words) })
	own.DenyFlags = accumulate(s, path+".denyFlags", up+".denyFlags", own.DenyFlags, above.DenyFlags, same)
	own.Ask = s.asksOf(path+".ask", up+".ask", own.Ask, above.Ask)
	s.must(path+".safeConfig", up+".safeConfig", &own.SafeConfig, above.SafeConfig)
	s.maxArgs(path+".maxArgs", up+".maxArgs", own, above)
	own.Force = s.forced(path+".force", up+".force", own.Force, above.Force)
	return own
}

func plainWords(text string) string { return strings.Join(strings.Fields(text), " ") }

// forced words are put in behind the decision, so they are the owner's alone.
func (s *step) forced(path, up string, own, above []string) []string {
	switch {
	case own == nil:
		if above == nil {
			return nil
		}
		return inherit(s, path, up, above)
	case slices.Equal(own, above):
		return own
	}
	s.refuse(CodeWidens, path, up, "leave it out, or let "+s.owner(up)+" force the words", "forces other words than %s", shown(s.above(up)))
	schema.ForgetOrigins(s.child.Origins, path, own)
	if above == nil {
		return nil
	}
	return inherit(s, path, up, above)
}

func (s *step) maxArgs(path, up string, own, above *schema.Args) {
	switch {
	case above.MaxArgs == nil:
	case own.MaxArgs == nil:
		own.MaxArgs = inherit(s, path, up, above.MaxArgs)
	case *own.MaxArgs > *above.MaxArgs:
		s.tooMuch(path, up, strconv.Itoa(*own.MaxArgs), strconv.Itoa(*above.MaxArgs))
		own.MaxArgs = inherit(s, path, up, above.MaxArgs)
	}
}

// subcommands: words that begin with those of one above are narrower.
func (s *step) subcommands(path, up string, own []string, above *schema.Args) []string {
	path, list := path+".subcommands", up+".subcommands"
	if own == nil {
		if above.Subcommands == nil {
			return nil
		}
		return inherit(s, path, list, above.Subcommands)
	}
	denied := make(map[string]int, len(above.Deny)) // words with flags match none of these
	for j, w := range above.Deny {
		denied[plainWords(w.Words)] = j
	}
	offered := make(map[string]int, len(above.Subcommands))
	for j, text := range above.Subcommands {
		offered[plainWords(text)] = j
	}
	refused := map[int]bool{}
	for i, text := range own {
		text = plainWords(text)
		if j, ok := prefixed(denied, text); ok {
			s.denied(index(path, i), index(up+".deny", j)+".words", text)
		} else if _, ok := prefixed(offered, text); above.Subcommands != nil && !ok {
			s.notAllowed(index(path, i), list, text, above.Subcommands)
		} else {
			continue
		}
		refused[i] = true
	}
	if len(own) > 0 && len(refused) == len(own) {
		schema.ForgetOrigins(s.child.Origins, path, own)
		if above.Subcommands == nil {
			return nil
		}
		return inherit(s, path, list, above.Subcommands)
	}
	return keep(s, path, own, refused)
}

// prefixed finds the words that text begins with.
func prefixed(of map[string]int, text string) (int, bool) {
	for len(of) > 0 && text != "" {
		if j, ok := of[text]; ok {
			return j, true
		}
		text = text[:max(0, strings.LastIndexByte(text, ' '))]
	}
	return 0, false
}

// asksOf: what people are asked about above, they are asked about below. The first rule
// that words meet counts, so a rule of the child stands before those above only where it
// asks no less than each of them.
func (s *step) asksOf(path, up string, own, above []schema.AskWords) []schema.AskWords {
	if len(above) == 0 {
		return own
	}
	known := make(map[string]int, len(above))
	for j, w := range above {
		known[plainWords(w.Words)] = j
	}
	var before, behind []schema.AskWords
	kept := map[string]schema.Origins{}
	keyed := func(w schema.AskWords) string { return plainWords(w.Words) }
	add := func(to *[]schema.AskWords, w schema.AskWords, from schema.Origins, at string) {
		o := schema.Origins{}
		schema.MoveOrigins(o, "", from, at, w)
		kept[keyed(w)] = o
		*to = append(*to, w)
	}
	restated := map[string]int{}
	for i := range own {
		w := own[i]
		if _, ok := known[keyed(w)]; ok {
			restated[keyed(w)] = i
		} else if slices.ContainsFunc(above, func(a schema.AskWords) bool { return !asksNoLess(w.Approval, a.Approval) }) {
			add(&behind, w, s.child.Origins, index(path, i))
		} else {
			add(&before, w, s.child.Origins, index(path, i))
		}
	}
	for j, w := range above {
		i, ok := restated[keyed(w)]
		if !ok {
			add(&before, w, s.parent.Origins, index(up, j))
			continue
		}
		w = own[i]
		w.Approval = s.wordsApproval(index(path, i)+".approval", index(up, j)+".approval", w.Approval, above[j].Approval)
		add(&before, w, s.child.Origins, index(path, i))
	}
	for i, w := range own {
		schema.ForgetOrigins(s.child.Origins, index(path, i), w)
	}
	s.place(path, up)
	out := append(before, behind...)
	for i, w := range out {
		schema.MoveOrigins(s.child.Origins, index(path, i), kept[keyed(w)], "", w)
	}
	return out
}

// wordsApproval: who is asked about words, as for a bridge.
func (s *step) wordsApproval(path, up string, own, above *schema.WordsApproval) *schema.WordsApproval {
	if above == nil {
		return own
	}
	s.place(path, up)
	own = copied(own)
	own.From = s.subset(path+".from", up+".from", own.From, above.From, true)
	s.atLeast(path+".count", up+".count", &own.Count, above.Count)
	s.atMost(duration, path+".expiresAfter", up+".expiresAfter", &own.ExpiresAfter, above.ExpiresAfter)
	s.atMost(duration, path+".hold", up+".hold", &own.Hold, above.Hold)
	return own
}

// asksNoLess reports whether an approval asks at least those that another one does, and
// lets nobody wait longer.
func asksNoLess(a, b *schema.WordsApproval) bool {
	if b == nil {
		b = &schema.WordsApproval{}
	}
	if a == nil {
		a = &schema.WordsApproval{}
	}
	count := func(w *schema.WordsApproval) int64 {
		if w.Count == nil {
			return 1
		}
		return *w.Count
	}
	// An absent time is the compiler's default.
	time := func(text, usual string) int64 {
		if n, ok := schema.Duration(cmp.Or(text, usual)); ok {
			return n
		}
		return math.MaxInt64
	}
	return (b.From == nil || a.From != nil && outside(a.From, b.From) < 0) && count(a) >= count(b) &&
		time(a.ExpiresAfter, "24h") <= time(b.ExpiresAfter, "24h") && time(a.Hold, "5m") <= time(b.Hold, "5m")
}
