// Package fields owns the table of the policy language: one row for each field, with what becomes of the field in a
// compiled set, how a layer bounds it, and which row of the enforcement table shows who enforces it.
//
// The merge of layers, the comparison of ceilings and of sets, the check for fields that nothing compiles, the
// enforcement table and the documentation read it. A field of package schema without a row is refused when it is set,
// and fails a test.
package fields

// Field is one row: one field of the language.
type Field struct {
	Policy  string // its Go path in package schema: "Args.MaxArgs"
	Profile string // the Go path in package profiles that carries it: "Binary.MaxArgs"; empty if none does by itself
	Fate    fate
	By      string // what compiles it, where no field of a profile does; for Refused, what would

	Order     Order
	Words     []string // of Stricter, from loose to strict
	Strictest bool     // where no layer above states it, it is the strictest word; of Parts: so are words in it
	Grant     bool     // an agent that leaves it out has nothing; a layer that does has what is above
	None      bool     // where the layer above leaves it out, nothing is allowed
	Unit      Unit     // of AtMost, AtLeast and dates

	Row  string // the row of the enforcement table; empty for Parts
	Says string // more than Order says, for readers
}

// fate is what becomes of a field that is set.
type fate uint8

// The fates.
const (
	Compiled fate = iota // a profile carries it, or the compiler decides by it
	Informs              // for people: it changes nothing
	Refused              // nothing compiles it, so a policy that sets it is refused
)

// Order is how a field of a lower document is bound by the document above it.
type Order string

// The orders.
const (
	Parts       Order = "parts"       // its own fields have rows
	Annotation  Order = "annotation"  // for people; each document has its own
	Key         Order = "key"         // tells the items of a list apart; one that is not above is refused
	Subset      Order = "subset"      // nothing that is not above
	Accumulates Order = "accumulates" // the items above stay, and come first
	Stricter    Order = "stricter"    // a word, no looser than above
	AtMost      Order = "at most"     // a number, no higher than above
	AtLeast     Order = "at least"    // a number, no lower than above
	Opens       Order = "opens"       // true only where the layer above has true, or leaves it out
	Restrains   Order = "restrains"   // false only where the layer above has false, or leaves it out
	Owner       Order = "owner"       // as the outermost layer has it
	Own         Order = "own"         // each document has its own, and is checked with it
	Filled      Order = "merged"      // written by the merge, not by authors
)

// Unit is how the value of a number or a date is written.
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
