package fields

import (
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

// SetField is the row of one field of the compiled types in package profiles. The comparison of two sets reads
// the rows.
type SetField struct {
	Field string // Binary.MaxArgs

	// Order, Unit and Words are those of the policy field that the compiled field carries, unless the row sets
	// others.
	Order Order
	Unit  Unit
	Words []string

	// Capability is the name of the field in reports. %s is the name of the entry. If Capability is empty, the
	// capability of the parent applies.
	Capability string
	// Says is the sentence for a change. For a value, %s is the new value. For a grant, it says what is
	// allowed. For a restriction, it has one sentence for each direction, separated by |.
	Says string
	None string // text for an empty value; if a number has None, zero means no limit
	// Why is the reason for the class of a change. For a field whose values have no order, Why is one reason.
	// For a field with Words, Why is two reasons separated by |: for a stricter value, and for a looser one.
	Why   string
	Cases []transition // for a value without an order: known changes from one text to another
}

// transition is a change between two texts with a known effect. The text * matches every text.
type transition struct {
	Old, New string
	Narrows  bool // otherwise it widens
	Why      string
}

// Orders that only compiled fields have.
const (
	Place Order = "place" // a position in the source, without effect on decisions
	Coded Order = "coded" // compared by its own code, or together with another field
)

//go:embed set.txt
var setText string // go:embed needs a variable; never written

// set returns the rows of set.txt, joined with the policy language. It parses them on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var set = sync.OnceValues(func() ([]SetField, error) {
	rows, err := parse(setText, parseSetField)
	return joined(rows, Table()), err
})

// SetTable lists every field of a set once, in the order in which a comparison reports changes. A list or a
// number of the policy language may have no row in set.txt. It gets a row whose sentence is the name of the
// field. If set.txt is malformed, the table is empty, and a comparison reports each difference as widening.
func SetTable() []SetField {
	rows, err := set()
	if err != nil {
		return nil
	}
	return slices.Clone(rows)
}

// joined completes the rows of the compiled set. A row without an order gets the order of the policy field that
// it carries. Then the unlisted rows are added.
func joined(rows []SetField, language []Field) []SetField {
	carried := map[string]Field{}
	for _, f := range slices.Backward(language) {
		carried[f.Profile] = f
	}
	listed := map[string]bool{}
	for i := range rows {
		c := &rows[i]
		listed[c.Field] = true
		if c.Order == "" {
			f := carried[c.Field]
			c.Order, c.Unit, c.Words = f.Order, f.Unit, f.Words
		}
	}
	return append(rows, unlisted(language, listed)...)
}

// unlisted returns rows for the lists and numbers of the policy language that have no row in set.txt.
func unlisted(language []Field, listed map[string]bool) (out []SetField) {
	for _, f := range language {
		switch f.Order {
		case Subset, Accumulates, AtMost, AtLeast:
			if _, name, _ := strings.Cut(f.Policy, "."); f.Profile != "" && !listed[f.Profile] {
				out = append(out, SetField{Field: f.Profile, Order: f.Order, Unit: f.Unit,
					Says: strings.ToLower(name[:1]) + name[1:] + " %s", None: "none"})
			}
		default: // its sentence needs words of its own
		}
	}
	return out
}

func parseSetField(r tables.Row) (f SetField, err error) {
	f.Field = r.Names[0]
	for _, word := range r.Names[1:] {
		if f.Order = Order(strings.ReplaceAll(word, "-", " ")); !f.Order.known() {
			err = errors.Join(err, r.Errorf("%q is no order", word))
		}
	}
	for _, t := range r.Fields {
		switch t.Key {
		case "capability":
			f.Capability = t.Text()
		case "says":
			f.Says = t.Text()
		case "none":
			f.None = t.Text()
		case "why":
			f.Why = t.Text()
		case "narrows", "widens":
			change, why, _ := strings.Cut(t.Text(), ": ")
			from, to, _ := strings.Cut(change, " > ")
			f.Cases = append(f.Cases, transition{Old: from, New: to, Narrows: t.Key == "narrows", Why: why})
		default:
			err = errors.Join(err, t.Errorf("is no text of a field"))
		}
	}
	return f, err
}
