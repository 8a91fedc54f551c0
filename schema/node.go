package schema

import (
	"encoding/json"
)

// spot is a line and column in the file of a node.
type spot struct{ line, col int }

// node is one value of any input form. All forms are read into nodes, so that the same code checks and binds
// them.
type node struct {
	kind    ValueKind
	plain   bool   // YAML, unquoted
	alias   string // name of the anchor whose value this one repeats
	bad     bool   // the node was rejected and is left out of further checks
	text    string // of a scalar: the text, the digits, "true"
	trap    string // the other value that a YAML 1.1 reader would see, or empty
	keyTrap string // the value that a YAML 1.1 reader would see instead of the name, or empty
	key     spot   // position of its name; zero in a list
	at      spot   // position of the value
	path    string // author's path, if it differs from the position in the tree
	items   []*node
	names   []string // of an object, parallel to items
}

// get returns the value of name. It returns nil if n is nil, not an object, or has no such name.
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

// prune removes the rejected parts of a tree.
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

// list returns the items of a list, or nil if n is nil or not a list.
func (n *node) list() []*node {
	if n == nil || n.kind != List {
		return nil
	}
	return n.items
}

// where returns the position of the whole value. If the value has a name, that is the position of the name.
func (n *node) where() spot {
	if n.key != (spot{}) {
		return n.key
	}
	return n.at
}

// plainValue returns n in the form of encoding/json, for canonical output.
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
