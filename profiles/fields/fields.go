// Package fields owns the table of the policy language. The table has one row for each field. A row names the
// field of the compiled set that carries the policy field, how a layer bounds the field, who enforces it (a
// row of the enforcement table), and the test that proves that.
//
// The merge of layers, the comparison of ceilings and of sets, the check for unsupported fields, the
// enforcement table and the documentation read the table. If a field of package schema has no row, a policy
// that sets it is rejected, and a test fails.
package fields

import "slices"

// Field is one row: one field of the language.
type Field struct {
	Policy string // Go path in package schema: "Args.MaxArgs"
	// Profile is the Go path of the field in package profiles, such as "Binary.MaxArgs". It is empty if no
	// single field of package profiles carries the field.
	Profile string
	Fate    fate
	By      string // what compiles the field if Profile is empty; for Refused, what would compile it

	Order Order
	Words []string // for Stricter, from loose to strict
	// Strictest is true if the strictest word applies when no layer above sets the field. For the order
	// Parts, this is true of the words in the field.
	Strictest bool
	// Grant is true if an agent without the field has nothing. A layer without the field gets the value of
	// the layer above.
	Grant bool
	// None is true if a layer above without the field allows nothing.
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

// fate is what happens to a field that a policy sets.
type fate uint8

// The fates.
const (
	Compiled fate = iota // a profile has the field, or the compiler decides by it
	Informs              // the field is for people and has no effect
	Refused              // nothing compiles the field, so a policy that sets it is rejected
)

// Order is the rule by which the layer above bounds a field.
type Order string

// The orders.
const (
	Parts       Order = "parts"       // its own fields have rows
	Annotation  Order = "annotation"  // for people: it bounds nothing
	Key         Order = "key"         // identifies a list item; an item that the layer above lacks is rejected
	Subset      Order = "subset"      // only items that the layer above has
	Accumulates Order = "accumulates" // the items of the layer above stay, and come first
	Stricter    Order = "stricter"    // a word, not looser than in the layer above
	AtMost      Order = "at most"     // a number, not higher than in the layer above
	AtLeast     Order = "at least"    // a number, not lower than in the layer above
	Opens       Order = "opens"       // true only if the layer above has true or leaves it out
	Restrains   Order = "restrains"   // false only if the layer above has false or leaves it out
	Owner       Order = "owner"       // only the outermost layer sets the value
	Own         Order = "own"         // each document has its own value, which is checked with it and bounds no other
	Filled      Order = "merged"      // set by the merge; authors cannot write it
)

func (o Order) known() bool {
	return slices.Contains([]Order{
		Parts, Annotation, Key, Subset, Accumulates, Stricter, AtMost, AtLeast, Opens, Restrains, Owner, Own, Filled,
		Place, Coded,
	}, o)
}

// Items says when an item of a list covers another item. If it is empty, only equal items cover each other.
type Items string

// The ways in which items cover other items.
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
