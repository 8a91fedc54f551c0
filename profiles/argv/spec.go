package argv

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/tables"
)

// options are the options of a program or of a sub-command. Their names have no dashes: a name of
// one letter is a short one.
type options []tables.Option

// find returns the option with a name, or nil.
func (s options) find(name string) *tables.Option {
	for i := range s {
		if means(&s[i], name) {
			return &s[i]
		}
	}
	return nil
}

// value returns the kind of value of an option. An unknown option takes none.
func value(o *tables.Option) tables.Value {
	if o == nil {
		return tables.NoValue
	}
	return o.Value
}

// means reports whether name is one of an option's names.
func means(o *tables.Option, name string) bool {
	return o != nil && slices.Contains(o.Names, name)
}

// begins reports whether a long name of an option begins with part.
func begins(o *tables.Option, part string) bool {
	return o != nil && part != "" &&
		slices.ContainsFunc(o.Names, func(n string) bool { return len(n) > 1 && strings.HasPrefix(n, part) })
}

// abbreviates reports whether part begins a long name of an option for which ok holds.
func (s options) abbreviates(part string, ok func(*tables.Option) bool) bool {
	for i := range s {
		if begins(&s[i], part) && ok(&s[i]) {
			return true
		}
	}
	return false
}

func anyOption(*tables.Option) bool       { return true }
func takesNextWord(o *tables.Option) bool { return o.Value == tables.Next }
func named(name string) func(*tables.Option) bool {
	return func(o *tables.Option) bool { return means(o, name) }
}
