// Package fields owns the table of the policy language. It has one row for each field: the part of a compiled
// set that carries the field, how a layer bounds it, the row of the enforcement table that says who enforces
// it, and the test that proves that.
//
// The merge of layers, the comparison of ceilings and of sets, the check for unsupported fields, the
// enforcement table and the documentation read the table. A field of package schema without a row is rejected
// when it is set, and fails a test.
package fields

import "slices"

// Field is one row: one field of the language.
type Field struct {
	Policy string // Go path in package schema: "Args.MaxArgs"
	// Profile is the Go path of the field in package profiles: "Binary.MaxArgs". It is empty if no single
	// field carries it.
	Profile string
	Fate    fate
	By      string // what compiles it if no profile field does; for Refused, what would

	Order Order
	Words []string // for Stricter, from loose to strict
	// Strictest: if no layer above sets the field, its strictest word applies. For Parts: this is true of the
	// words in it.
	Strictest bool
	// Grant: an agent without the field has nothing. A layer without it takes the value above.
	Grant bool
	// None: if the layer above leaves the field out, it allows nothing.
	None  bool
	Unit  Unit  // for AtMost, AtLeast and dates
	Items Items // for lists of texts, when an item covers another one

	Row    string  // the row of the enforcement table; empty for Parts
	Proofs []proof // the tests that prove that it is enforced, one for each executor
	Says   string  // additional text for readers, if Order is not enough
}

// proof names a test that proves that a field is enforced.
type proof struct {
	Executor string // js, python, shell; empty means each of them
	Test     string // a folder and the name of a test in it, or "script" and the name of a script
	Word     string // the word by which the test mentions the field
}

// fate is the effect of a field that is set.
type fate uint8

// The fates.
const (
	Compiled fate = iota // a profile carries it, or the compiler decides by it
	Informs              // for people, without effect
	Refused              // nothing compiles it, so a policy that sets it is rejected
)

// Order is the rule by which the document above bounds a field of a lower document.
type Order string

// The orders.
const (
	Parts       Order = "parts"       // its own fields have rows
	Annotation  Order = "annotation"  // for people: it bounds nothing
	Key         Order = "key"         // identifies the items of a list; an item without one above is rejected
	Subset      Order = "subset"      // only items that the document above has
	Accumulates Order = "accumulates" // the items above stay, and come first
	Stricter    Order = "stricter"    // a word, not looser than above
	AtMost      Order = "at most"     // a number, not higher than above
	AtLeast     Order = "at least"    // a number, not lower than above
	Opens       Order = "opens"       // true only if the layer above has true or leaves it out
	Restrains   Order = "restrains"   // false only if the layer above has false or leaves it out
	Owner       Order = "owner"       // as in the outermost layer
	Own         Order = "own"         // every document has its own, which is checked with it: it bounds no other
	Filled      Order = "merged"      // set by the merge; authors cannot write it
)

func (o Order) known() bool {
	return slices.Contains([]Order{
		Parts, Annotation, Key, Subset, Accumulates, Stricter, AtMost, AtLeast, Opens, Restrains, Owner, Own, Filled,
		Place, Coded,
	}, o)
}

// Items says when an item of a list covers another one. Empty: if they are equal.
type Items string

// The ways of covering.
const (
	Paths     Items = "a path covers what is below it"
	Modules   Items = "a module covers what is below it"
	Phrases   Items = "words cover those that begin with them"
	Addresses Items = "a range covers its addresses"
	Hosts     Items = "an entry covers the hosts and ports within it"
)

// Unit is the notation of a number or a date.
type Unit string

// The units.
const (
	Count    Unit = "count"    // 5
	Size     Unit = "size"     // 64MiB
	Duration Unit = "duration" // 30s
	Rate     Unit = "rate"     // 60/m
	Date     Unit = "date"     // 2026-12-31
)

// ByPolicy indexes the table by Field.Policy.
func ByPolicy() map[string]Field {
	rows := Table()
	out := make(map[string]Field, len(rows))
	for _, f := range rows {
		out[f.Policy] = f
	}
	return out
}
