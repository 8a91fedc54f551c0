package schema

import (
	"fmt"
	"path"
	"reflect"
	"strings"
)

// Document decodes the one document of a YAML or JSON file that is not a policy, such as the tests next to a
// policy. definitions is CUE like policy.cue, and name is the definition that the document must match. into
// is a pointer to a struct with `cue:"name"` tags. A field of type []byte gets JSON. The returned map has the
// origin of each path, such as "cases[0].name". If a finding is an error, into is not changed.
func Document(src Source, definitions, name string, into any) (map[string]Origin, Diagnostics) {
	found := &findings{file: src.Name}
	defs, err := ParseShapes(definitions)
	if err != nil || defs[name] == nil { // the definitions are part of the program and tested
		found.add(spot{1, 1}, CodeSchema, fmt.Sprintf("the definition %s cannot be read: %v", name, err), "")
		return nil, found.list
	}
	text, ok := readable(src, found)
	if !ok {
		return nil, found.list.Sort()
	}
	var docs []*node
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".yaml", ".yml":
		docs = readYAML(text, found)
	case ".json":
		docs = readJSON(text, found)
	default:
		found.add(spot{1, 1}, CodeFormat, "the file is not .yaml, .yml or .json", "")
	}
	if len(docs) == 1 { // if there are several, none is read
		(&checker{findings: found}).value(docs[0], defs[name], nil)
	}
	if len(docs) != 1 || found.refused() {
		return nil, found.list.Sort()
	}
	b := binder{file: src.Name, origins: map[string]Origin{}}
	b.object(docs[0], reflect.ValueOf(into).Elem(), "", "", "")
	return b.origins, found.list.Sort()
}
