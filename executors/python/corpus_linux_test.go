package python_test

import (
	"os"
	"strings"
	"testing"
)

// score counts cases by a name; what the rows are, docs/PYTHON.md says.
type score struct{ held, of int }

func report(t *testing.T, title string, all []played, held func(played) bool) {
	t.Helper()
	groups, order := map[string]*score{}, []string{}
	var lost []string
	for _, p := range all {
		group, _, found := strings.Cut(p.name, "/")
		if !found {
			_, group, _ = strings.Cut(p.name, " ")
		}
		for _, g := range []string{group, "all"} {
			if groups[g] == nil {
				groups[g], order = &score{}, append(order, g)
			}
			groups[g].of++
			if held(p) {
				groups[g].held++
			}
		}
		if !held(p) {
			lost = append(lost, p.name)
		}
	}
	for _, g := range order {
		t.Logf("%s: %-14s %d of %d", title, g, groups[g].held, groups[g].of)
	}
	t.Logf("%s: not held: %s", title, strings.Join(lost, ", "))
}

// TestCorpus plays the corpus with both rings. Rows of the network are played by
// cmd/ringd, which has the egress ring.
func TestCorpus(t *testing.T) {
	gate(t, newStage(t, interpreter, true, true), fitting(t, without(corpus(t), networked), interpreter))
}

// TestAttacks plays the attacks with both rings.
func TestAttacks(t *testing.T) {
	gate(t, newStage(t, interpreter, true, true), fitting(t,
		without(attacks(t), func(p program) bool { return p.ends != nil }), interpreter))
}

// TestAfterAttacks: a program that comes behind them finds nothing of them.
func TestAfterAttacks(t *testing.T) {
	s := newStage(t, interpreter, true, true)
	ends := without(attacks(t), func(p program) bool { return p.ends == nil })
	gate(t, s, ends)
	gate(t, s, []program{{name: "after them", text: "import os\nprint(os.listdir('.'), 1 + 1)", expect: "ok",
		out: "[] 2\n"}})
}

// TestOrdinary plays the ordinary programs with both rings: nothing of it may break.
// Each is played on the first interpreter of this host and on another one, and on all
// where there is time.
func TestOrdinary(t *testing.T) {
	all := interpreters(t)
	for i, path := range all {
		t.Run(path, func(t *testing.T) {
			cases := without(ordinary(t), never)
			if i > 0 && !unhurried() {
				cases = nth(cases, i-1, len(all)-1)
			}
			gate(t, newStage(t, path, true, true), fitting(t, cases, path))
		})
	}
}

func gate(t *testing.T, s *stage, cases []program) {
	t.Helper()
	for _, p := range s.all(cases) {
		if wrong := p.as(); wrong != "" {
			t.Errorf("%s: %s", p.name, wrong)
		}
	}
	if n := s.hits.Load(); n != 0 {
		t.Errorf("%d connections came out of guests", n)
	}
	t.Logf("%d cases", len(cases))
}

// TestRingAlone takes the hook away: whatever is an effect and not a name has to be
// stopped by the kernel ring.
func TestRingAlone(t *testing.T) {
	s := newStage(t, interpreter, true, false)
	cases := without(append(without(corpus(t), networked), attacks(t)...), noEffect)
	all := s.all(fitting(t, cases, interpreter))
	for _, p := range all {
		switch {
		case p.err != nil:
			t.Errorf("%s: %v", p.name, p.err)
		case p.effect != "" && !p.hook:
			t.Errorf("%s: the kernel ring alone does not stop it: %s", p.name, p.effect)
		}
	}
	if n := s.hits.Load(); n != 0 {
		t.Errorf("%d connections came out of guests", n)
	}
	report(t, "ring alone", all, func(p played) bool { return p.effect == "" })
}

// TestHookAlone takes the kernel ring away, in the lab: what the hook does not stop
// there is reported. It is no boundary, and nothing relies on it as one.
func TestHookAlone(t *testing.T) {
	s := newStage(t, interpreter, false, true)
	cases := some(without(append(without(corpus(t), networked), attacks(t)...), noEffect))
	all := s.all(fitting(t, cases, interpreter))
	for _, p := range all {
		if p.err != nil {
			t.Errorf("%s: %v", p.name, p.err)
		}
		if p.effect != "" && p.hook {
			t.Errorf("%s: the hook is all that stops it, and does not: %s", p.name, p.effect)
		}
	}
	report(t, "hook alone", all, func(p played) bool { return p.effect == "" })
}

// TestNothingHolds takes both away, in the lab: every attack has its effect there, so
// that a refusal elsewhere shows something.
func TestNothingHolds(t *testing.T) {
	s := newStage(t, interpreter, false, false)
	cases := some(without(append(without(corpus(t), networked), attacks(t)...), noEffect))
	for _, p := range s.all(fitting(t, cases, interpreter)) {
		switch {
		case p.err != nil:
			t.Errorf("%s: %v", p.name, p.err)
		case p.effect == "" && p.control == "":
			t.Errorf("%s: it has no effect though nothing stops it: %+v %q %s", p.name, p.outcome.Error, p.stdout,
				of(p.outcome, "stderr"))
		case p.effect != "" && p.control != "":
			t.Errorf("%s: it has an effect, and says that it has none: %s", p.name, p.effect)
		}
	}
}

// some is every eighth case, unless there is time: a lab takes long to make, and what
// is shown there changes with the cases alone.
func some(cases []program) []program {
	if unhurried() {
		return cases
	}
	return nth(cases, 0, 8)
}

// unhurried tells whether there is time for all cases.
func unhurried() bool { return os.Getenv("RINGD_LONG") == "1" || os.Getenv("RINGD_CASE") != "" }

// nth is one case of every so many.
func nth(cases []program, first, every int) (kept []program) {
	for i := first; i < len(cases); i += every {
		kept = append(kept, cases[i])
	}
	return kept
}

// without leaves cases out.
func without(cases []program, out func(program) bool) []program {
	only := os.Getenv("RINGD_CASE")
	var kept []program
	for _, p := range cases {
		if !out(p) && strings.Contains(p.name, only) {
			kept = append(kept, p)
		}
	}
	return kept
}

func never(program) bool { return false }

// noEffect are cases that are about something else than what a program reaches.
func noEffect(p program) bool { return p.expect == "ok" || p.ends != nil }
