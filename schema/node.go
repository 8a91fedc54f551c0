package schema

import "encoding/json"

// kind is the type of a value as the author wrote it.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindList
	kindObject
	kindBytes // CUE only; no field takes it
)

// String names the kind in words for a finding.
func (k kind) String() string {
	switch k {
	case kindNull:
		return "nothing"
	case kindBool:
		return "true or false"
	case kindInt:
		return "a whole number"
	case kindFloat:
		return "a number"
	case kindString:
		return "text"
	case kindList:
		return "a list"
	case kindObject:
		return "fields"
	case kindBytes:
		return "bytes"
	default:
		return "an unknown value"
	}
}

// spot is a line and column of the one file a node is from.
type spot struct{ line, col int }

// node is one value of any input form. All forms are read into it, so that
// they are checked and bound by the same code.
type node struct {
	kind    kind
	plain   bool   // YAML, unquoted
	text    string // of a scalar: the text, the digits, "true"
	trap    string // why a YAML 1.1 reader would see another value, or ""
	keyTrap string // the same of the name this value stands under
	key     spot   // of the name this value stands under, zero in a list
	at      spot   // of the value
	path    string // author's path when it differs from the place in the tree
	items   []*node
	names   []string // of an object, beside items
}

// get returns the value under name, nil when n is nil, no object or lacks it.
func (n *node) get(name string) *node {
	if n == nil || n.kind != kindObject {
		return nil
	}
	for i, k := range n.names {
		if k == name {
			return n.items[i]
		}
	}
	return nil
}

// list returns the items of a list, nil when n is nil or no list.
func (n *node) list() []*node {
	if n == nil || n.kind != kindList {
		return nil
	}
	return n.items
}

// where is the place that speaks for the whole value: its name if it has one.
func (n *node) where() spot {
	if n.key != (spot{}) {
		return n.key
	}
	return n.at
}

// plainValue returns n as encoding/json would decode it, for canonical output.
func (n *node) plainValue() any {
	switch n.kind {
	case kindBool:
		return n.text == "true"
	case kindInt, kindFloat:
		return json.Number(n.text)
	case kindString:
		return n.text
	case kindList:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plainValue()
		}
		return out
	case kindObject:
		out := make(map[string]any, len(n.items))
		for i, item := range n.items {
			out[n.names[i]] = item.plainValue()
		}
		return out
	case kindNull, kindBytes:
		return nil
	default:
		return nil
	}
}
