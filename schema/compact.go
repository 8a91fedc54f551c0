package schema

import (
	"fmt"
)

// lowerCompact converts a checked document of the compact form to the full language: one policy for the agent
// "default". Every value keeps the position and the path of the compact text from which it comes.
func lowerCompact(doc *node) *node {
	l := lowering{root: doc}
	interpreter, kernel := doc.get("interpreter_ring"), doc.get("kernel_ring")

	python, js, shell := l.object(), l.object(), l.object()
	for _, language := range []*node{python, js} {
		if imports := l.imports(interpreter, language == js); len(imports.names) > 0 {
			language.set("imports", imports)
		}
	}
	l.list(shell, "binaries", interpreter, "allowed_binaries", func(n *node) *node { return l.object().set("path", n) })
	l.list(shell, "denyPatterns", interpreter, "denied_patterns", func(n *node) *node {
		return l.object().set("pattern", n).set("kind", l.text("argv", n))
	})
	network, files := l.object(), l.object()
	if mode := interpreter.get("executor_network"); mode != nil {
		network.set("mode", mode.named("interpreter_ring.executor_network"))
	}
	l.list(network, "egress", kernel, "network_egress_allowlist",
		func(n *node) *node { return l.object().set("host", n) })
	l.list(files, "read", kernel, "fs_read_allowlist", keep)
	l.list(files, "write", kernel, "fs_write_allowlist", keep)

	executors := l.object().set("allowed", l.words("js", "python", "shell")).
		set("js", js).set("python", python).set("shell", shell)
	spec := l.object().set("agents", l.one(l.object().set("match", l.text("default", nil)))).set("executors", executors)
	for _, part := range []struct {
		name  string
		value *node
	}{{"filesystem", files}, {"network", network}} {
		if len(part.value.names) > 0 {
			spec.set(part.name, part.value)
		}
	}
	metadata := l.object().set("name", l.text("default", nil)).set("revision",
		&node{kind: Int, text: "1", at: l.top(), path: l.topPath()})
	return l.object().set("apiVersion", l.text("ringd/v1", nil)).set("kind", l.text("AgentPolicy", nil)).
		set("metadata", metadata).set("spec", spec)
}

type lowering struct{ root *node }

// top returns the position of values that the compact form implies.
func (l lowering) top() spot       { return l.root.items[0].where() }
func (l lowering) topPath() string { return l.root.names[0] }

func (l lowering) object() *node {
	return &node{kind: Object, at: l.top(), path: l.topPath()}
}

func (l lowering) one(n *node) *node {
	return &node{kind: List, at: l.top(), path: l.topPath(), items: []*node{n}}
}

// text returns a word with the position of from, or of the top.
func (l lowering) text(word string, from *node) *node {
	if from == nil {
		return &node{kind: String, text: word, at: l.top(), path: l.topPath()}
	}
	return &node{kind: String, text: word, at: from.at, path: from.path}
}

func (l lowering) words(words ...string) *node {
	out := &node{kind: List, at: l.top(), path: l.topPath()}
	for _, word := range words {
		out.items = append(out.items, l.text(word, nil))
	}
	return out
}

// imports converts the module lists. For JavaScript, "*" is left out, because its list has to name each module. So is
// denied_process, because it is about libraries, and JavaScript has none.
func (l lowering) imports(interpreter *node, js bool) *node {
	out := l.object()
	l.list(out, "allow", interpreter, "allowed_imports", func(n *node) *node {
		if js && n.text == "*" {
			return nil
		}
		return n
	})
	l.list(out, "deny", interpreter, "denied_imports", keep)
	if !js {
		l.list(out, "denyProcess", interpreter, "denied_process", keep)
	}
	return out
}

// list converts the list ring.from to the list out.to, item by item. If the function item returns nil for an
// item, that item is left out.
func (l lowering) list(out *node, to string, ring *node, from string, item func(*node) *node) {
	old := ring.get(from)
	if old == nil {
		return
	}
	path := "interpreter_ring." + from
	if l.root.get("kernel_ring") == ring {
		path = "kernel_ring." + from
	}
	list := &node{kind: List, at: old.at, path: path, items: []*node{}}
	for i, entry := range old.items {
		entry = entry.named(fmt.Sprintf("%s[%d]", path, i))
		lowered := item(entry)
		if lowered == nil {
			continue
		}
		lowered.at, lowered.path = entry.at, entry.path
		list.items = append(list.items, lowered)
	}
	out.set(to, list)
}

func keep(n *node) *node { return n }

// named returns a copy of n with the author's path.
func (n *node) named(path string) *node {
	out := *n
	out.path = path
	return &out
}

func (n *node) set(name string, value *node) *node {
	n.names, n.items = append(n.names, name), append(n.items, value)
	return n
}
