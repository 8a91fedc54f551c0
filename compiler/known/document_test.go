package known_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
)

// check gives the findings about one denied pattern and its examples.
func check(text string, match, notMatch []string) []known.ProgramFinding {
	told := known.Told{}
	for _, m := range match {
		told.Match = append(told.Match, known.Example{Text: m})
	}
	for _, m := range notMatch {
		told.NotMatch = append(told.NotMatch, known.Example{Text: m})
	}
	return known.CheckPrograms(known.ProgramsConfig{Compact: true, Patterns: []known.Told{told},
		Agent: profiles.Agent{Shell: &profiles.Shell{DeniedPatterns: []profiles.Pattern{
			{Words: strings.Fields(text), Text: text}}}}})
}

// TestPatternsOfDocument decides each example of the document's table as it says.
func TestPatternsOfDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/SHELL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| pattern | matches | does not match |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	code := regexp.MustCompile("`([^`]+)`")
	cell := func(text string) (out []string) {
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	examples := 0
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 3 || len(cell(cells[0])) != 1 {
			t.Errorf("no row of three: %s", row)
			continue
		}
		pattern, match, notMatch := cell(cells[0])[0], cell(cells[1]), cell(cells[2])
		examples += len(match) + len(notMatch)
		for _, f := range check(pattern, match, notMatch) {
			t.Errorf("%s: %s", f.Code, f.Msg)
		}
		// The other way round each of them is a finding: the check can fail.
		if got := check(pattern, notMatch, match); len(got) != len(match)+len(notMatch) {
			t.Errorf("%s: %d findings when the examples are swapped, want %d", pattern, len(got),
				len(match)+len(notMatch))
		}
	}
	if examples < 25 {
		t.Errorf("only %d examples", examples)
	}
}

// TestNothingToCheck: what was compiled in part, or not at all, has no findings.
func TestNothingToCheck(t *testing.T) {
	shell := &profiles.Shell{Binaries: []profiles.Binary{{Path: "/bin/busybox"}}}
	for name, cfg := range map[string]known.ProgramsConfig{
		"zero":            {},
		"fewer told":      {Agent: profiles.Agent{Shell: shell}},
		"more told":       {Agent: profiles.Agent{Shell: shell}, Binaries: make([]known.Told, 2)},
		"patterns missed": {Agent: profiles.Agent{Shell: shell}, Binaries: make([]known.Told, 1), Patterns: make([]known.Told, 1)},
	} {
		if found := known.CheckPrograms(cfg); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
	if found := known.CheckPrograms(known.ProgramsConfig{Agent: profiles.Agent{Shell: shell},
		Binaries: make([]known.Told, 1)}); len(found) != 1 || found[0].Code != known.CodeMany {
		t.Errorf("busybox: %v", found)
	}
}

// FuzzCheck: whatever the rules are, looking at them ends, says the same twice, and
// each finding has a code and a text.
func FuzzCheck(f *testing.F) {
	f.Add("b /usr/bin/git\na push\nd push -f\nk push --tags\nf -c\nf x=y\nm git push\nn git push -f\np rm -rf\nx rm " +
		"-fr a")
	f.Add("b /bin/busybox\nb /usr/bin/python3\nb /usr/bin/env\nh /bin/sh\np A=1\np do x\np git -Z\nc")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := known.ProgramsConfig{
			Agent: profiles.Agent{Shell: &profiles.Shell{}, Files: profiles.Files{
				Write: []profiles.PathRule{{Path: "/srv"}}}}}
		sh := cfg.Agent.Shell
		for line := range strings.SplitSeq(text, "\n") {
			key, rest, _ := strings.Cut(line, " ")
			words := strings.Fields(rest)
			p := profiles.Pattern{Words: words, Text: rest}
			var b *profiles.Binary
			var told *known.Told
			if n := len(sh.Binaries); n > 0 {
				b, told = &sh.Binaries[n-1], &cfg.Binaries[n-1]
			}
			switch {
			case key == "b":
				sh.Binaries = append(sh.Binaries, profiles.Binary{Path: "/" + rest, Interpreted: known.IsShell(rest)})
				cfg.Binaries = append(cfg.Binaries, known.Told{})
			case key == "p":
				sh.DeniedPatterns = append(sh.DeniedPatterns, p)
				cfg.Patterns = append(cfg.Patterns, known.Told{})
			case key == "c":
				cfg.Compact = true
			case key == "x" && len(cfg.Patterns) > 0:
				cfg.Patterns[0].Match = append(cfg.Patterns[0].Match, known.Example{Text: rest})
			case b == nil:
			case key == "a":
				b.Allow = append(b.Allow, p)
			case key == "d":
				b.Deny = append(b.Deny, p)
			case key == "k":
				b.Ask = append(b.Ask, profiles.AskRule{Pattern: p})
			case key == "f":
				b.ForceArgs = append(b.ForceArgs, rest)
			case key == "h":
				b.Helpers = append(b.Helpers, profiles.PathRule{Path: rest})
			case key == "m":
				told.Match = append(told.Match, known.Example{Text: rest})
			case key == "n":
				told.NotMatch = append(told.NotMatch, known.Example{Text: rest})
			}
		}
		found := known.CheckPrograms(cfg)
		for _, g := range found {
			if g.Code == "" || g.Msg == "" {
				t.Fatalf("a finding without a word: %+v", g)
			}
		}
		if diff := cmp.Diff(found, known.CheckPrograms(cfg)); diff != "" {
			t.Fatal(diff)
		}
	})
}
