package schema

import (
	"testing"
)

func TestShapesRefuseWhatTheyDoNotKnow(t *testing.T) {
	for _, src := range []string{
		"#A: {x: int}", "#A: {x?: number}", "#A: {x?: #B}", "#A: [string]", "#A: len(x)", "#A: {x?: int} @key(",
		"#A: {x?: [...string] @other(y)}", "#A: =~\"(\"", "#A: 1 + 2", "#A: {if true {x?: int}}", "#A: {[string]: int}",
	} {
		if _, err := ParseShapes(src); err == nil {
			t.Errorf("%s is read", src)
		}
	}
}

func TestNearest(t *testing.T) {
	choices := []string{"callsPerRun", "concurrent", "GET", "POST", "PUT", "allowlist", "kernel-allowlist", "js"}
	for _, tc := range []struct{ word, want string }{
		{"calls_per_run", "callsPerRun"},
		{"POTS", "POST"},
		{"get", "GET"},
		{"kernel-alowlist", "kernel-allowlist"},
		{"allow-list", "allowlist"},
		{"concurent", "concurrent"},
		{"ruby", ""},
		{"", ""},
		{"a name that nobody meant to write at all, of more letters than any", ""},
	} {
		if got := nearest(tc.word, choices); got != tc.want {
			t.Errorf("%q is near %q, want %q", tc.word, got, tc.want)
		}
	}
}

func TestParseReadsEveryPart(t *testing.T) {
	defs, err := ParseShapes("#A: {\n\t// A name.\n\tname!: =~\"^a\" & !~\"b$\" | error(\"must start with a\")\n" +
		"\tmany?: [int & >0 & <5, ...int & >0 & <5] @key(x)\n\tfree?: {...}\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	a := defs["#A"]
	name, many, free := a.Field("name"), a.Field("many"), a.Field("free")
	if !name.Required || name.Doc != "A name." || name.Shape.Says != "must start with a" || !name.Shape.Matches("aa") ||
		name.Shape.Matches("ab") || name.Shape.Matches("b") {
		t.Errorf("name is %+v of %+v", name, name.Shape)
	}
	if many.Required || many.Shape.Least != 1 || many.Shape.Unique != "x" || *many.Shape.Item.Min != 1 ||
		*many.Shape.Item.Max != 4 {
		t.Errorf("many is %+v of %+v", many, many.Shape)
	}
	if !free.Shape.Open || a.Open || a.Field("other") != nil {
		t.Errorf("free is %+v", free.Shape)
	}
}
