package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// binder fills Go values from a checked tree and records the position of each value. The tag of a Go field
// is the path of the field in the policy language: `cue:"globals.deny"`.
type binder struct {
	file    string
	origins map[string]Origin
	tables  map[reflect.Type]map[string]int
}

func (b *binder) policy(doc *node) Policy {
	p := Policy{File: b.file, Origins: b.origins}
	b.object(doc, reflect.ValueOf(&p).Elem(), "", "", "")
	p.Spec.normalise()
	return p
}

// normalise replaces the old names of a network mode by the current name.
func (s *Spec) normalise() {
	if s.Network == nil {
		return
	}
	switch s.Network.Mode {
	case "broker-only", "tappass-only":
		s.Network.Mode = "gateway-only"
	case "kernel-allowlist":
		s.Network.Mode = "allowlist"
	}
}

// table maps the tags of a struct to its fields.
func (b *binder) table(t reflect.Type) map[string]int {
	if table, ok := b.tables[t]; ok {
		return table
	}
	table := map[string]int{}
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("cue"); tag != "" {
			table[tag] = i
			if group, _, dotted := strings.Cut(tag, "."); dotted {
				table[group] = -1
			}
		}
	}
	if b.tables == nil {
		b.tables = map[reflect.Type]map[string]int{}
	}
	b.tables[t] = table
	return table
}

// record stores the position of n and returns its path in the author's text.
func (b *binder) record(n *node, path, author string) string {
	if n.path != "" {
		author = n.path
	}
	b.origins[path] = Origin{Pos: Pos{File: b.file, Line: n.at.line, Column: n.at.col}, Path: author}
	return author
}

// object binds the fields of n. group is the part of a dotted tag above them.
func (b *binder) object(n *node, into reflect.Value, path, author, group string) {
	table := b.table(into.Type())
	for i, name := range n.names {
		child := n.items[i]
		below, belowAuthor := join(path, name), join(author, name)
		if path == author {
			belowAuthor = below
		}
		index, ok := table[group+name]
		switch {
		case !ok: // a test compares tags and definitions
		case index < 0:
			belowAuthor = b.record(child, below, belowAuthor)
			b.object(child, into, below, belowAuthor, name+".")
		default:
			b.value(child, into.Field(index), below, belowAuthor)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (b *binder) value(n *node, into reflect.Value, path, author string) {
	author = b.record(n, path, author)
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		b.content(n, into.Elem(), path, author)
	default:
		b.content(n, into, path, author)
	}
}

func (b *binder) content(n *node, into reflect.Value, path, author string) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(n.text)
	case reflect.Bool:
		into.SetBool(n.text == "true")
	case reflect.Int, reflect.Int64:
		v, _ := strconv.ParseInt(n.text, 10, 64) // already checked to be in range
		into.SetInt(v)
	case reflect.Struct:
		b.object(n, into, path, author, "")
	case reflect.Map:
		b.entries(n, into, path, author)
	case reflect.Slice:
		if into.Type().Elem().Kind() == reflect.Uint8 {
			text, err := json.Marshal(n.plainValue())
			if err != nil { // cannot happen; a schema that accepts nothing is the safe value
				text = []byte("false")
			}
			into.SetBytes(text)
			return
		}
		list := reflect.MakeSlice(into.Type(), len(n.items), len(n.items))
		for i, item := range n.items {
			index := "[" + strconv.Itoa(i) + "]"
			below := path + index
			belowAuthor := below
			if path != author {
				belowAuthor = author + index
			}
			b.value(item, list.Index(i), below, belowAuthor)
		}
		into.Set(list)
	}
}

func (b *binder) entries(n *node, into reflect.Value, path, author string) {
	entries := reflect.MakeMapWithSize(into.Type(), len(n.items))
	for i, name := range n.names {
		value := reflect.New(into.Type().Elem()).Elem()
		b.value(n.items[i], value, join(path, name), join(author, name))
		entries.SetMapIndex(reflect.ValueOf(name), value)
	}
	into.Set(entries)
}
