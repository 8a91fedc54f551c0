package argv

import (
	"path"
	"slices"
	"strings"
)

// Match reports whether a denied pattern matches: its flags in any order and spelling, and its operands,
// which come first for programs with sub-commands. pattern is the words after the program's name. An option
// that the table does not know counts as a match.
func (w *Words) Match(pattern []string) Tri { return w.Denies(NewPattern(w.base, pattern)) }

// Pattern is a parsed pattern for one program.
type Pattern struct{ w *Words }

// NewPattern parses a pattern for the program named base: the words after its name.
func NewPattern(base string, pattern []string) Pattern {
	return Pattern{Split(append([]Word{Known(base)}, AllKnown(pattern)...), false)}
}

// Denies is [Words.Match] for a parsed pattern of the same program.
func (w *Words) Denies(p Pattern) Tri {
	if p.w == nil {
		return Yes
	}
	return w.match(p.w, true)
}

// Allows reports whether the words of an allowing pattern are certainly there. An option that the table does
// not know counts against it.
func (w *Words) Allows(p Pattern) Tri {
	if p.w == nil {
		return No
	}
	return w.match(p.w, false)
}

func (w *Words) match(p *Words, deny bool) Tri {
	all := Yes
	for i := range p.flags {
		all = min(all, w.has(&p.flags[i], deny))
		if all == No {
			return No
		}
	}
	want := p.operands
	if deny && !w.tool.known {
		want = w.unjoined(want)
		if w.wild && len(want) > 0 { // an unknown word may be joined to one of them
			return min(all, max(Maybe, w.leads(want, deny)))
		}
	}
	return min(all, w.leads(want, deny))
}

// unjoined drops the operands of a pattern that are joined to an option: -XPOST, --request=POST. It is for
// programs whose options with values are unknown.
func (w *Words) unjoined(want []operand) []operand {
	var kept []operand
	for i := range want {
		joined := false
		for j := range w.flags {
			joined = joined || w.flags[j].joins(want[i].word.Text)
		}
		if !joined {
			kept = append(kept, want[i])
		}
	}
	return kept
}

// joins reports whether a word is the flag with a joined value.
func (f *flag) joins(text string) bool {
	if text == "" || f.soft {
		return false
	}
	return f.has && !f.value.Open && f.value.Text == text ||
		f.cluster && len(f.name) > len(text) && strings.HasSuffix(f.name, text)
}

// has reports whether a flag of a pattern is there.
func (w *Words) has(want *flag, deny bool) Tri {
	best := No
	if w.wild {
		best = Maybe
	}
	if want.cluster {
		return max(best, w.hasCluster(want, deny))
	}
	for i := range w.flags {
		f := &w.flags[i]
		if !w.same(f, want, deny) {
			continue
		}
		t := Yes
		switch {
		case want.has && f.has:
			t = w.equal(want.value, f.value, f)
		case want.has:
			t = No
		}
		if f.skip && !f.soft && !deny {
			t = No
		}
		if f.soft {
			t = min(t, Maybe)
		}
		best = max(best, t)
	}
	if want.entry != nil && want.entry.Only && best < Yes {
		every := Yes
		for _, name := range want.entry.Means {
			every = min(every, w.has(&flag{name: name, entry: w.specOf().find(name), long: len(name) > 1}, deny))
		}
		best = max(best, every)
	}
	return best
}

// specOf returns the options of the sub-command.
func (w *Words) specOf() options {
	if w.tool.subs != noSubs && len(w.operands) > 0 && !w.operands[0].word.Open {
		return w.tool.sub(w.operands[0].word.Text)
	}
	return w.tool.global
}

// same reports whether two spellings mean the same option.
func (w *Words) same(f, want *flag, deny bool) bool {
	if f.cluster {
		return deny && len(want.name) == 1 && strings.Contains(f.name, want.name)
	}
	if f.name == want.name || means(f.entry, want.name) || means(want.entry, f.name) {
		return true
	}
	if !deny || !f.long || f.entry != nil || w.tool.has(noAbbreviations) || w.tool.has(longOptions) {
		return false
	}
	if begins(want.entry, f.name) || want.long && strings.HasPrefix(want.name, f.name) {
		return true
	}
	return w.specOf().abbreviates(f.name, named(want.name))
}

// hasCluster is has for an unknown program: -rf may be one option or two.
func (w *Words) hasCluster(want *flag, deny bool) Tri {
	best := No
	for i := range w.flags {
		f := &w.flags[i]
		if f.cluster && f.name == want.name && (deny || !f.skip) && (!want.has || f.has && f.value == want.value) {
			best = max(best, certain(f))
		}
	}
	if !deny || want.has {
		return best
	}
	every := Yes
	for i := range len(want.name) {
		one := No
		for j := range w.flags {
			if f := &w.flags[j]; f.cluster && strings.IndexByte(f.name, want.name[i]) >= 0 {
				one = max(one, certain(f))
			}
		}
		every = min(every, one)
	}
	return max(best, every)
}

func certain(f *flag) Tri {
	if f.soft {
		return Maybe
	}
	return Yes
}

// equal compares the value of an option with that of a pattern.
func (w *Words) equal(want, have Word, f *flag) Tri {
	if means(f.entry, "signal") {
		if n, ok := signal(want.Text); ok {
			want.Text = n
		}
		if n, ok := signal(have.Text); ok && !have.Open {
			have.Text = n
		}
	}
	return equal(want.Text, have)
}

// equal compares a word of a pattern with one that may be known only in part.
func equal(want string, have Word) Tri {
	paths := strings.HasPrefix(want, "/") && strings.HasPrefix(have.Text, "/")
	switch {
	case !have.Open && have.Text == want:
		return Yes
	case !have.Open && paths && path.Clean(have.Text) == path.Clean(want):
		return Yes
	case have.Open && (paths || strings.HasPrefix(want, have.Text)):
		return Maybe
	default:
		return No
	}
}

// equalOperand compares the operand at a position.
func (w *Words) equalOperand(at int, want string, have Word, deny bool) Tri {
	best := equal(want, have)
	if best == Yes || !w.tool.respells() && (w.tool.aliases == "" || at > 0) {
		return best
	}
	switch {
	case have.Open && w.tool.respells():
		if w.tool.sameOperand(at, want, have.Text, true) {
			return Maybe
		}
	case have.Open:
		if couldBe(w.tool.aliases, have.Text, pick(want, w.tool.aliases)) {
			return Maybe
		}
	case w.tool.respells():
		if w.tool.sameOperand(at, want, have.Text, false) {
			return Yes
		}
	case pick(want, w.tool.aliases) == pick(have.Text, w.tool.aliases):
		return Yes
	case deny && w.tool.has(shortSubs) && len(have.Text) > 1 && strings.HasPrefix(want, have.Text):
		return Yes
	}
	return best
}

// couldBe reports whether a word that begins with part may be an alias of to.
func couldBe(aliases, part, to string) bool {
	for pair := range strings.FieldsSeq(aliases) {
		if from, means, _ := strings.Cut(pair, "="); means == to && strings.HasPrefix(from, part) {
			return true
		}
	}
	return false
}

// leads reports whether the operands of a pattern match. For a program with sub-commands they must come
// first. For another program they may be anywhere, in their order; for an allowing pattern they must directly
// follow the name.
func (w *Words) leads(want []operand, deny bool) Tri {
	if len(want) == 0 || len(want) == 1 && w.group != "" && want[0].word.Text == w.group {
		return Yes
	}
	n := len(want)
	var small [8]Tri
	// state[i] reports whether the first i operands of the pattern were found.
	state := append(small[:0], make([]Tri, n+1)...)
	state[0] = Yes
	for _, o := range w.operands {
		if !deny && !o.soft && (o.skip || w.tool.subs == noSubs && !o.front) {
			return state[n]
		}
		for i := n - 1; i >= 0; i-- {
			if state[i] != No {
				w.advance(state, i, want[i].word.Text, o, deny)
			}
		}
	}
	if w.tail && state[n] != Yes && slices.ContainsFunc(state[:n], func(t Tri) bool { return t != No }) {
		return Maybe
	}
	return state[n]
}

// advance compares an operand with the one at index i of a pattern.
func (w *Words) advance(state []Tri, i int, want string, o operand, deny bool) {
	from, anywhere := state[i], w.tool.subs == noSubs && deny
	eq := w.equalOperand(i, want, o.word, deny)
	if o.soft {
		eq = min(eq, Maybe)
	}
	state[i+1] = max(state[i+1], min(from, eq))
	if o.word.Many && (eq != No || anywhere) { // it may be this word and any others
		for k := i + 1; k < len(state); k++ {
			state[k] = max(state[k], min(from, Maybe))
		}
	}
	switch {
	case anywhere || o.skip:
	case o.soft || o.word.Many && o.word.Text == "":
		state[i] = min(from, Maybe)
	default:
		state[i] = No
	}
}
