package tables

import (
	"slices"
	"strings"
)

// Value is the kind of value that an option takes.
type Value byte

// The values of options.
const (
	NoValue Value = 0
	Next    Value = '=' // joined, else the next word
	Joined  Value = '?' // in the same word, or none
	Until   Value = ';' // the words up to ";" or "+"
)

// Option is one option of a program.
type Option struct {
	Names  []string // with their dashes
	Value  Value
	Effect string   // its effect, a word of the table; "!" and "~" have their own meaning
	Means  []string // other options that it implies
	Only   bool     // it has no other meaning
}

// Options parses the options of a field: "-n,--lines=", "--filter=shell", "-a,--archive>--recursive". No name
// may be repeated.
func (f Field) Options() ([]Option, error) {
	words := f.Words()
	out := make([]Option, 0, len(words))
	for _, word := range words {
		o, ok := parseOption(word)
		if !ok {
			return nil, f.Errorf("%s is no option", word)
		}
		out = append(out, o)
		if name := repeated(out); name != "" {
			return nil, f.Errorf("%s stands there twice", name)
		}
	}
	return out, nil
}

// repeated returns a name of the last option that an earlier one also has. The lists are short and a table
// has many, so no map is built for each.
func repeated(options []Option) string {
	last := len(options) - 1
	for i, name := range options[last].Names {
		if slices.Contains(options[last].Names[:i], name) {
			return name
		}
		for k := range options[:last] {
			if slices.Contains(options[k].Names, name) {
				return name
			}
		}
	}
	return ""
}

// parseOption parses one option.
func parseOption(word string) (o Option, ok bool) {
	names, rest := word, ""
	if i := strings.IndexAny(word, "=?;!~>:"); i >= 0 {
		names, rest = word[:i], word[i:]
	}
	o.Names = strings.Split(names, ",")
	for _, name := range o.Names {
		if !strings.HasPrefix(name, "-") {
			return o, false
		}
	}
	if rest != "" && strings.IndexByte("=?;", rest[0]) >= 0 {
		o.Value, rest = Value(rest[0]), rest[1:]
	}
	if rest != "" && (rest[0] == '>' || rest[0] == ':') {
		o.Only = rest[0] == ':'
		o.Means = strings.Split(rest[1:], ",")
		return o, !slices.ContainsFunc(o.Means, func(name string) bool { return !strings.HasPrefix(name, "-") })
	}
	o.Effect = rest
	return o, rest == "!" || rest == "~" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") == ""
}
