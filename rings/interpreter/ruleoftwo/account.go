// Package ruleoftwo counts which of three powers a run and its subagents have touched:
// untrusted input, sensitive data, an external effect. It decides whether a further use may
// bring the third, under the rule of two of all policies that bind the tree.
//
// A use is decided and counted under one lock, so that two uses at once do not both pass as
// the second power. The count stays over pauses, in other processes and, if the scope of the
// rule is the session, in later runs. The runs of the interpreter ring call it.
package ruleoftwo

import (
	"maps"
	"slices"
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
)

// maxBy limits the uses that are named for one power.
const maxBy = 8

// maxWhat limits the name of a use.
const maxWhat = 280

// Touched says which powers were touched, and names the first uses that did. It encodes as
// JSON.
type Touched struct {
	Powers profiles.Powers           `json:"powers"`
	By     map[powers.Power][]string `json:"by,omitempty"`
	// Exit says that something goes out whenever the program wants, as a file does that
	// others see.
	Exit bool `json:"exit,omitempty"`
}

// add counts one use.
func (t *Touched) add(p profiles.Powers, what string) {
	t.Powers = powers.Join(t.Powers, p)
	if len(what) > maxWhat {
		what = what[:maxWhat]
	}
	for _, one := range powers.List(p) {
		if list := t.By[one]; len(list) < maxBy && !slices.Contains(list, what) {
			if t.By == nil {
				t.By = map[powers.Power][]string{}
			}
			t.By[one] = append(list[:len(list):len(list)], what)
		}
	}
}

// Note adds one power. Copies of t are not changed, even if they share data with t.
func (t *Touched) Note(p powers.Power, what string) {
	*t = *t.clone()
	t.add(only(p), what)
}

// join counts what another has counted.
func (t *Touched) join(o Touched) {
	t.Powers, t.Exit = powers.Join(t.Powers, o.Powers), t.Exit || o.Exit
	for _, one := range powers.All() {
		for _, what := range o.By[one] {
			t.add(only(one), what)
		}
	}
}

func only(p powers.Power) profiles.Powers {
	return profiles.Powers{Untrusted: p == powers.Untrusted, Sensitive: p == powers.Sensitive,
		External: p == powers.External}
}

// clone returns a copy that shares nothing that is written to.
func (t *Touched) clone() *Touched {
	out := &Touched{Powers: t.Powers, Exit: t.Exit}
	for p, list := range t.By {
		if out.By == nil {
			out.By = map[powers.Power][]string{}
		}
		out.By[p] = slices.Clone(list)
	}
	return out
}

// Grown says which powers a use has touched that were not touched before.
type Grown struct {
	Powers profiles.Powers
	Third  bool // all three are touched now, and were not before
}

// Account counts what one tree of runs has touched. The runs of the tree share it. It is
// safe for concurrent use.
type Account struct {
	mu     sync.Mutex // guards what follows
	t      Touched
	rule   *profiles.RuleOfTwo // of the runs of the tree so far
	paused map[string]bool     // runs of the tree that are paused on disk
}

// New returns the account of a run that begins.
func New() *Account { return &Account{paused: map[string]bool{}} }

// View returns what was touched, or nil if no rule binds the tree.
func (a *Account) View() *Touched {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rule == nil {
		return nil
	}
	return a.t.clone()
}

// Record returns what was touched, for a later life of the run or the next run of its
// session.
func (a *Account) Record() *Touched {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.t.clone()
}

// MarkPaused returns what was touched, for a run whose pause is being kept. From then on
// PausedRuns names the run.
func (a *Account) MarkPaused(run string) *Touched {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused[run] = true
	return a.t.clone()
}

// UnmarkPaused removes a run from the paused runs, because it was resumed or has ended.
func (a *Account) UnmarkPaused(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.paused, run)
}

// PausedRuns returns the runs of the tree that are paused on disk. What the tree touches has
// to be kept for each of them.
func (a *Account) PausedRuns() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for run := range a.paused {
		out = append(out, run)
	}
	slices.Sort(out)
	return out
}

// Restore adds the powers of a record to the account. If t is nil, it does nothing.
func (a *Account) Restore(t *Touched) {
	if t == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.join(*t)
}

// Join adds the powers that another tree has touched, when that tree becomes a part of this one.
func (a *Account) Join(other *Account) {
	if a == other || other == nil {
		return
	}
	other.mu.Lock()
	t, rule, paused := other.t.clone(), other.rule, maps.Clone(other.paused)
	other.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.join(*t)
	a.rule = Strictest(a.rule, rule)
	maps.Copy(a.paused, paused)
}

// Three reports whether all three powers were touched and a rule binds: from then on people
// are asked about everything that goes out.
func (a *Account) Three() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return powers.Three(a.t.Powers) && binds(a.rule)
}

// Bound reports whether a rule binds the tree.
func (a *Account) Bound() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rule != nil
}

// Use is one use of a grant that brings powers.
type Use struct {
	What   string // bridge:readMail
	Brings profiles.Powers
	// Rule is the strictest rule of all policies that bind the run at this moment; nil if
	// none has one.
	Rule *profiles.RuleOfTwo
	// Asked says that people are asked about this use, or were.
	Asked bool
	// Alone says that people cannot be asked about it, as for a connection or a file.
	Alone bool
	// Exit says that it lasts: something goes out by it whenever the program likes.
	Exit bool
}

// Begin counts the uses that a run starts with, all or none. People cannot be asked about
// them. The decision refuses the run.
func (a *Account) Begin(uses ...Use) (Grown, *profiles.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, rule := a.t.clone(), a.rule
	for _, u := range uses {
		u.Alone = true
		a.bindLocked(u.Rule)
		if no, asks := a.decideLocked(u); no != nil || asks {
			d := a.refuseLocked(u, no == nil)
			a.t, a.rule = *before, rule
			return Grown{}, d
		}
		a.t.add(u.Brings, u.What)
		a.t.Exit = a.t.Exit || u.Exit
	}
	return a.grownLocked(before.Powers), nil
}

// Bind notes a rule that binds a run of the tree.
func (a *Account) Bind(r *profiles.RuleOfTwo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bindLocked(r)
}

func (a *Account) bindLocked(r *profiles.RuleOfTwo) { a.rule = Strictest(a.rule, r) }

// Asks reports whether people have to be asked about a use, or refuses it.
func (a *Account) Asks(u Use) (asks bool, why string, no *profiles.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bindLocked(u.Rule)
	u.Asked = false
	no, asks = a.decideLocked(u)
	if asks {
		why = a.whyLocked(u)
	}
	return asks, why, no
}

// Try counts a use if it may pass. then is called under the same lock and admits the use as
// well; if it returns false nothing is counted. ok is false if the use has to be asked about
// and was not, because another use has passed meanwhile: the caller has to ask again. no
// refuses the use.
func (a *Account) Try(u Use, then func() bool) (ok bool, grown Grown, no *profiles.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bindLocked(u.Rule)
	no, asks := a.decideLocked(u)
	if no != nil || asks {
		return false, Grown{}, no
	}
	if then != nil && !then() {
		return true, Grown{}, nil
	}
	return true, a.countLocked(u), nil
}

func (a *Account) countLocked(u Use) Grown {
	was := a.t.Powers
	a.t.add(u.Brings, u.What)
	return a.grownLocked(was)
}

func (a *Account) grownLocked(was profiles.Powers) Grown {
	now := a.t.Powers
	return Grown{Third: binds(a.rule) && powers.Three(now) && !powers.Three(was), Powers: profiles.Powers{
		Sensitive: now.Sensitive && !was.Sensitive,
		Untrusted: now.Untrusted && !was.Untrusted,
		External:  now.External && !was.External}}
}

// Connect decides and counts what goes over a connection, where people cannot be asked.
func (a *Account) Connect(u Use) (Grown, *profiles.Decision) {
	u.Alone = true
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bindLocked(u.Rule)
	if no, asks := a.decideLocked(u); no != nil || asks {
		return Grown{}, a.refuseLocked(u, no == nil)
	}
	return a.countLocked(u), nil
}
