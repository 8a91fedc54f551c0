package schema

import (
	"encoding/json"
)

// spot is a line and column of the one file a node is from.
type spot struct{ line, col int }

// node is one value of any input form. All forms are read into it, so that
// they are checked and bound by the same code.
type node struct {
	kind    ValueKind
	plain   bool   // YAML, unquoted
	alias   string // of the anchor that it repeats
	bad     bool   // it was refused, and is taken out of what is checked further
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
	if n == nil || n.kind != Object {
		return nil
	}
	for i, k := range n.names {
		if k == name {
			return n.items[i]
		}
	}
	return nil
}

// prune takes out of a tree what was refused.
func (n *node) prune() {
	kept, names := n.items[:0:0], n.names[:0:0]
	for i, item := range n.items {
		if item.bad {
			continue
		}
		item.prune()
		kept = append(kept, item)
		if n.names != nil {
			names = append(names, n.names[i])
		}
	}
	if n.items != nil {
		n.items = kept
	}
	if n.names != nil {
		n.names = names
	}
}

// list returns the items of a list, nil when n is nil or no list.
func (n *node) list() []*node {
	if n == nil || n.kind != List {
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
	case Bool:
		return n.text == "true"
	case Int, Float:
		return json.Number(n.text)
	case String:
		return n.text
	case List:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plainValue()
		}
		return out
	case Object:
		out := make(map[string]any, len(n.items))
		for i, item := range n.items {
			out[n.names[i]] = item.plainValue()
		}
		return out
	case Null, Bytes:
		return nil
	default:
		return nil
	}
}
