package schema

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a reading, which keep the reading cheap. The process that evaluates CUE needs limits of its own
// in addition.
const (
	MaxFileBytes  = 1 << 20 // of one source
	MaxTotalBytes = 8 << 20 // of all sources
	maxDepth      = 64      // of nesting
	maxAliased    = 10_000  // values that the aliases of a file add
	maxFindings   = 1_000   // of a file
)

// Decode reads policies in any input form. The extension of the file name selects the form: .yaml, .yml,
// .json or .cue. A CUE file may hold one policy, or several as fields of its top level. Every CUE file is
// evaluated by itself, and can use the definitions of policy.cue by name (#Policy, #Bridge, …).
//
// All findings of all sources are returned sorted. The returned policies are those without errors, in the
// order of the sources. If Diagnostics.Refused returns true, some policies are missing, and none of the
// returned ones may be applied. Decode has no side effects. The evaluation of CUE cannot be cancelled, so
// untrusted CUE belongs in a process that can be killed.
func Decode(sources []Source) ([]Policy, Diagnostics) {
	r := ReadPartly(sources)
	return slices.DeleteFunc(r.Policies, func(p Policy) bool { _, refused := r.Refused[p.File]; return refused }),
		r.Found
}

// Reading is the result of reading policy sources: the parts that could be read, and the parts that were
// rejected.
type Reading struct {
	// Policies are the documents without their rejected parts. In place of a rejected part there may be what
	// the author probably meant. A policy of a file in Refused is only good for finding more mistakes.
	Policies []Policy
	Found    Diagnostics
	// Refused maps each file with an error to the author's paths of the rejected parts. The path "" is the
	// whole file.
	Refused map[string][]string
}

// ReadPartly is like Decode, but finds every mistake at once, including mistakes that another mistake would
// hide.
func ReadPartly(sources []Source) Reading {
	defs, err := ParseShapes(policyCUE)
	if err != nil { // the definitions are part of the program and tested
		return Reading{Found: Diagnostics{{Pos: Pos{File: "policy.cue", Line: 1, Column: 1}, Code: CodeSchema,
			Msg: err.Error()}}}
	}
	var policies []Policy
	var all Diagnostics
	refused := map[string][]string{}
	total := 0
	for _, src := range sources {
		found := &findings{file: src.Name}
		if total += len(src.Data); total > MaxTotalBytes {
			found.add(spot{1, 1}, CodeTooLarge, fmt.Sprintf("all sources together are above %d MiB", MaxTotalBytes>>20),
				"")
			all, refused[src.Name] = append(all, found.list...), []string{""}
			break
		}
		read := decodeFile(src, defs, found)
		policies = append(policies, read...)
		all = append(all, found.list...)
		if found.refused() {
			if len(read) == 0 {
				found.paths = append(found.paths, "")
			}
			refused[src.Name] = append(refused[src.Name], found.paths...)
		}
	}
	return Reading{Policies: policies, Found: all.Sort(), Refused: refused}
}

func decodeFile(src Source, defs map[string]*Shape, found *findings) []Policy {
	text, ok := readable(src, found)
	if !ok {
		return nil
	}
	var docs []*node
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".yaml", ".yml":
		docs = readYAML(text, found)
	case ".json":
		docs = readJSON(text, found)
	case ".cue":
		docs = readCUE(text, defs, found)
	default:
		found.add(spot{1, 1}, CodeFormat, "the file is not .yaml, .yml, .json or .cue", "")
	}
	var policies []Policy
	for _, doc := range docs {
		if p, ok := decodeDocument(doc, defs, found); ok {
			policies = append(policies, p)
		}
	}
	return policies
}

// readable rejects text that is not readable and removes a byte order mark.
func readable(src Source, found *findings) ([]byte, bool) {
	text := bytes.TrimPrefix(src.Data, []byte("\xef\xbb\xbf"))
	refuse := func(offset int, code, msg, hint string) ([]byte, bool) {
		found.add(spotAt(text, offset), code, msg, hint)
		return nil, false
	}
	switch {
	case len(src.Data) > MaxFileBytes:
		return refuse(0, CodeTooLarge, fmt.Sprintf("the file is above %d MiB", MaxFileBytes>>20),
			"split the policy over several files")
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		return refuse(0, CodeEncoding, "the file is UTF-16", "save it as UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return refuse(bytes.IndexByte(text, 0), CodeEncoding, "the file holds a NUL byte", "")
	case !utf8.Valid(text):
		return refuse(invalidAt(text), CodeEncoding, "the file is not UTF-8", "save it as UTF-8")
	case loneReturn(text) >= 0:
		return refuse(loneReturn(text), CodeEncoding, "a carriage return without a line feed", "end lines with \\n")
	case misleading(text) >= 0:
		return refuse(misleading(text), CodeEncoding,
			"a character that changes how the text looks, but not its meaning",
			"leave out control and direction characters, and end lines with \\n")
	case len(bytes.TrimSpace(text)) == 0:
		return refuse(0, CodeEmpty, "the file is empty",
			"a policy starts with apiVersion: ringd/v1, or with interpreter_ring:")
	}
	return text, true
}

func spotAt(text []byte, offset int) spot {
	offset = min(offset, len(text))
	before := text[:offset]
	return spot{1 + bytes.Count(before, []byte("\n")), offset - bytes.LastIndexByte(before, '\n')}
}

// decodeDocument checks one document against its form and binds it.
func decodeDocument(doc *node, defs map[string]*Shape, found *findings) (Policy, bool) {
	before := found.count
	c := &checker{findings: found, mends: true}
	if owner := doc.get("metadata").get("owner"); owner != nil {
		_, c.domain, _ = strings.Cut(owner.text, "@")
	}
	name, ok := formOf(doc, defs, c)
	if !ok {
		return Policy{}, false
	}
	if c.mixed(doc, name, defs) || name == "#Policy" && c.foreign(doc, defs) {
		return Policy{}, false
	}
	c.value(doc, defs[name], nil)
	c.disagreements(doc, name == "#Compact")
	if found.count > before && found.refused() {
		if doc.prune(); doc.bad || len(doc.names) == 0 {
			return Policy{}, false
		}
	}
	compact := name == "#Compact"
	if compact {
		doc = lowerCompact(doc)
	}
	b := binder{file: found.file, origins: map[string]Origin{}}
	p := b.policy(doc)
	p.Compact = compact
	return p, true
}

// formOf returns whether a document is in the full or in the compact form. The top-level names decide that.
func formOf(doc *node, defs map[string]*Shape, c *checker) (string, bool) {
	const hint = "a policy starts with apiVersion: ringd/v1, or with interpreter_ring:"
	if doc.kind != Object {
		c.report(doc.at, CodeNotPolicy, hint, nil, "found %s, want a policy", doc.found())
		return "", false
	}
	if len(doc.names) == 0 {
		c.report(doc.at, CodeEmpty, hint, nil, "the policy is empty")
		return "", false
	}
	full, short := defs["#Policy"].FieldNames(), defs["#Compact"].FieldNames()
	votes, near := map[string]int{}, map[string]int{}
	for i, name := range doc.names {
		for form, fields := range map[string][]string{"#Policy": full, "#Compact": short} {
			switch {
			case slices.Contains(fields, name):
				votes[form]++
			case i < 32 && nearest(name, fields) != "":
				near[form]++
			}
		}
	}
	for _, by := range []map[string]int{votes, near} {
		switch {
		case by["#Policy"] > 0:
			return "#Policy", true
		case by["#Compact"] > 0:
			return "#Compact", true
		}
	}
	c.report(doc.items[0].where(), CodeNotPolicy, hint, nil,
		"this is not a policy: it has neither apiVersion nor interpreter_ring")
	return "", false
}

// foreign reports a document of Kubernetes, or of another program that uses apiVersion and kind. Then the
// fields of the document are not reported one by one.
func (c *checker) foreign(doc *node, defs map[string]*Shape) bool {
	version, kind := doc.get("apiVersion"), doc.get("kind")
	if version == nil || kind == nil || version.kind != String || kind.kind != String ||
		strings.HasPrefix(version.text, "ringd") {
		return false
	}
	kinds := defs["#Policy"].Field("kind").Shape.Enum
	if slices.Contains(kinds, kind.text) || nearest(kind.text, kinds) != "" ||
		synonym(kind.text, defs["#Policy"].Field("kind").Shape) != "" {
		return false
	}
	hint := "a policy has apiVersion: ringd/v1 and kind: AgentPolicy, TeamPolicy or OrgPolicy"
	if kind.text == "ConfigMap" || kind.text == "Secret" {
		hint = "move the content of data: to a separate file that starts with apiVersion: ringd/v1"
	}
	c.report(kind.at, CodeNotPolicy, hint, &place{name: "kind"}, "this is a %s of %s, and no policy", clip(kind.text),
		clip(version.text))
	return true
}

// mixed reports a file that has names of the full form and of the compact form.
func (c *checker) mixed(doc *node, name string, defs map[string]*Shape) bool {
	own, other := defs[name].FieldNames(), defs["#Compact"].FieldNames()
	if name == "#Compact" {
		other = defs["#Policy"].FieldNames()
	}
	theirs := slices.IndexFunc(doc.names, func(n string) bool { return slices.Contains(other, n) })
	ours := slices.IndexFunc(doc.names, func(n string) bool { return slices.Contains(own, n) })
	if theirs < 0 || ours < 0 {
		return false
	}
	at, first := max(theirs, ours), min(theirs, ours)
	d := c.report(doc.items[at].where(), CodeUnknownField,
		"a policy has apiVersion, kind, metadata and spec, or interpreter_ring and kernel_ring",
		&place{name: doc.names[at]}, "it cannot be combined with %q on line %d", doc.names[first],
		doc.items[first].where().line)
	d.Related = []Pos{c.pos(doc.items[first].where())}
	return true
}

// findings collects the errors of one file.
type findings struct {
	file  string
	list  Diagnostics
	count int
	paths []string // the author's paths of what the checker reported
}

// add appends a finding and returns it, so that the caller can complete it.
func (f *findings) add(at spot, code, msg, hint string) *Diagnostic {
	f.count++
	d := Diagnostic{Pos: f.pos(at), Code: code, Msg: msg, Hint: hint}
	switch {
	case f.count > maxFindings+1:
		return &d
	case f.count == maxFindings+1:
		d.Code, d.Msg, d.Hint = CodeTooMany, fmt.Sprintf("more than %d findings in this file; the rest is not shown",
			maxFindings), ""
	}
	f.list = append(f.list, d)
	if f.count == maxFindings+1 {
		return &d
	}
	return &f.list[len(f.list)-1]
}

func (f *findings) pos(at spot) Pos { return Pos{File: f.file, Line: at.line, Column: at.col} }

func (f *findings) refused() bool { return f.list.Refused() }
