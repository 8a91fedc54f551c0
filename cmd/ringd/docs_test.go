package main

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// pages are README and all documents, by their names.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	texts := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

var (
	yamlBlock = regexp.MustCompile("(?ms)^```ya?ml\n(.*?)^```$")
	topKey    = regexp.MustCompile(`(?m)^([a-zA-Z_]+):`)
	below     = regexp.MustCompile(`parent: ?([a-z]+)`)
)

// Every YAML that a document shows is what it looks like: a policy, alone or with those
// of its page that it stands below, and a part of one compile without a finding; a
// configuration of the daemon is one.
func TestYAMLOfDocuments(t *testing.T) {
	count := make(map[string]int)
	for name, text := range pages(t) {
		blocks := yamlBlock.FindAllStringSubmatch(text, -1)
		for _, m := range blocks {
			kind, sources := kindOfYAML(m[1], blocks)
			count[kind]++
			switch kind {
			case "policy":
				files := map[string][]byte{"modules/math-lite.js": []byte("export const add = (a, b) => a + b;")}
				if !strings.Contains(m[1], "math-lite") {
					files = nil
				}
				if _, found := worker.CompileHere(t.Context(), sources, files); len(found) > 0 {
					t.Errorf("%s: a policy has findings:\n%v\n%s", name, found, m[1])
				}
			case "configuration":
				if _, err := config.Read("ringd.yaml", strings.NewReader(m[1])); err != nil {
					t.Errorf("%s: %v\n%s", name, err, m[1])
				}
			}
		}
	}
	if count["policy"] < 13 || count["configuration"] < 4 || count["tests of a policy"] != 1 || count["alerts"] != 1 {
		t.Errorf("found %v in the documents", count)
	}
}

// kindOfYAML tells by its first key what a block is, and what is compiled of a policy.
func kindOfYAML(block string, page [][]string) (kind string, sources []schema.Source) {
	const header = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: a, revision: 1, owner: " +
		"\"user:a@acme.example\"}\n"
	texts := []string{block}
	key := ""
	if m := topKey.FindStringSubmatch(block); m != nil {
		key = m[1]
	}
	switch {
	case key == "groups":
		return "alerts", nil
	case key == "policy": // ringd test has tests of its own
		return "tests of a policy", nil
	case key == "apiVersion":
		if parent := below.FindStringSubmatch(block); parent != nil {
			for _, above := range page {
				if strings.Contains(above[1], "metadata: {name: "+parent[1]+",") {
					texts = append(texts, above[1])
				}
			}
		}
	case key == "spec":
		texts[0] = header + block
	case key == "bridges" && strings.HasPrefix(block, "bridges:\n  - "): // a configuration has a map there
		texts[0] = header + "spec:\n  executors: {allowed: [js]}\n  " + strings.ReplaceAll(block, "\n", "\n  ")
	case key != "interpreter_ring":
		return "configuration", nil
	}
	for i, text := range texts {
		sources = append(sources, schema.Source{Name: strconv.Itoa(i) + ".yaml", Data: []byte(text)})
	}
	return "policy", sources
}

var (
	inlineCode = regexp.MustCompile("`(ringd [a-z][^`]*)`")
	indented   = regexp.MustCompile(`(?m)^ {4}(ringd [a-z].*)$`)
	fenced     = regexp.MustCompile("(?ms)^```(sh|console|)\n(.*?)^```$")
	prompted   = regexp.MustCompile(`(?m)^\$ (.*)$`)
)

// Every command line of ringd that a document or a help text shows names a verb and flags
// that there are, with values that these take.
func TestCommandsOfDocuments(t *testing.T) {
	root, seen := newRoot(&program{&cli.Program{}, nil}), 0
	for name, text := range pages(t) {
		for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
			seen += parsed(t, root, name, m[1], false)
		}
		for _, m := range indented.FindAllStringSubmatch(text, -1) {
			seen += parsed(t, root, name, m[1], true)
		}
		for _, b := range fenced.FindAllStringSubmatch(text, -1) {
			if b[1] == "sh" {
				seen += parsed(t, root, name, b[2], true)
				continue
			}
			for _, m := range prompted.FindAllStringSubmatch(b[2], -1) {
				seen += parsed(t, root, name, m[1], true)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands in the documents", seen)
	}
	for _, c := range subcommands(root) {
		if c.Name() == "help" || strings.Contains(c.CommandPath(), "completion") { // cobra's own
			continue
		}
		if parsed(t, root, "example of "+c.CommandPath(), c.Example, true) == 0 {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
}

func subcommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, subcommands(sub)...)
	}
	return all
}

// parsed reads the commands of a line as ringd does, and counts them; whole: with all
// their arguments.
func parsed(t *testing.T, root *cobra.Command, where, line string, whole bool) (n int) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Errorf("%s: %s: %v", where, line, err)
		return 0
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) < 2 || path.Base(literal(call.Args[0])) != "ringd" {
			return true
		}
		n++
		var args []string
		for _, w := range call.Args[1:] {
			args = append(args, literal(w))
		}
		verb, rest, err := root.Find(args)
		if err == nil && (!verb.Runnable() || verb.Parent() == nil) {
			err = errors.New("no such verb")
		}
		if err == nil {
			err = verb.ParseFlags(rest)
			if !whole && err != nil && strings.Contains(err.Error(), "needs an argument") {
				err = nil // a flag is named
			}
		}
		if err == nil && whole {
			err = verb.ValidateArgs(verb.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
		}
		return true
	})
	return n
}

// literal is what a word stands for; one with an expansion stands for its text.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(&syntax.Word{Parts: part.Parts}))
		default:
			b.WriteString("X")
		}
	}
	return b.String()
}

// The document of the policy language says how many names of Python's standard
// library are not in the default set, and which stand for them.
func TestDefaultSetOfDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)but (\d+) names which reach (.*?)The list is`).FindStringSubmatch(string(text))
	if m == nil || m[1] != strconv.Itoa(len(modules.OutsideNames())) {
		t.Fatalf("the document does not say that %d names are left out: %q", len(modules.OutsideNames()), m)
	}
	for _, name := range regexp.MustCompile("`([a-zA-Z_.]+)`").FindAllStringSubmatch(m[2], -1) {
		if !modules.Outside(name[1]) {
			t.Errorf("%s is in the default set", name[1])
		}
	}
}

// The document of the policy language lists what a condition may call, and
// nothing more.
func TestFunctionsOfConditions(t *testing.T) {
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "These functions are there:\n\n")
	list, _, _ := strings.Cut(after, "\n\n")
	var got []string
	for _, m := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if want := condition.Functions(); !slices.Equal(got, want) {
		t.Errorf("the document lists %q, and a condition may call %q", got, want)
	}
}

// The example of the daemon's config file is one, also with everything that it
// only hints at.
func TestExampleConfig(t *testing.T) {
	text, err := os.ReadFile("../../docs/systemd/ringd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n") // its first line is about itself
	for _, example := range []string{body, regexp.MustCompile(`(?m)^# `).ReplaceAllString(body, "")} {
		if _, err := config.Read("ringd.yaml", strings.NewReader(example)); err != nil {
			t.Error(err)
		}
	}
}

// Links between documents lead somewhere.
func TestLinksOfDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	adrs, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(append(docs, adrs...), "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			}
		}
	}
}

// The document of layers lists what a guardrail may call, and its test passes.
func TestGuardrailsOfDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/LAYERS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "These functions may be called:\n\n")
	list, _, _ := strings.Cut(after, "\n\n")
	var got []string
	for _, m := range regexp.MustCompile("`([a-z0-9_.]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if want := guardrail.Functions(); !slices.Equal(got, want) {
		t.Errorf("the document lists %q, and a guardrail may call %q", got, want)
	}
	shown := 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "  guardrails:\n") && strings.HasPrefix(m[1], "apiVersion") {
			shown++
			if _, found := worker.CompileHere(t.Context(), []schema.Source{{Name: "policy.yaml", Data: []byte(m[1])}},
				nil); len(found) > 0 {
				t.Errorf("a policy has findings:\n%v", found)
			}
		}
	}
	if shown == 0 {
		t.Error("no policy with guardrails found")
	}
	tests := regexp.MustCompile("(?s)```rego\n(.*?)```").FindStringSubmatch(string(text))
	rule := regexp.MustCompile(`(?s)on: call\n      rego: \|\n(.*?)` + "```").FindStringSubmatch(string(text))
	if tests == nil || rule == nil {
		t.Fatal("no tests, or no guardrail on calls")
	}
	results, found := guardrail.Test(t.Context(), guardrail.OnCall,
		guardrail.Text{Name: "limit.rego", Text: strings.ReplaceAll(rule[1], "\n        ", "\n")[8:]},
		[]guardrail.Text{{Name: "limit_test.rego", Text: tests[1]}}, time.Now)
	if len(found) > 0 || len(results) != 2 || !results[0].Passed || !results[1].Passed {
		t.Errorf("got %+v, %v", results, found)
	}
}
