package wasm_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/profiles"
)

// row is a program of testdata/python.jsonl.
type row struct {
	ID       string   `json:"id"`
	Category string   `json:"category"`
	Allow    []string `json:"allowed_imports"`
	Deny     []string `json:"denied_imports"`
	Program  string   `json:"program"`
	Expect   string   `json:"expect"`
	Stdout   string   `json:"expected_stdout"`
}

func corpus(t *testing.T) (rows []row) {
	t.Helper()
	f, err := os.Open("../../../testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var r row
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func (r row) imports() profiles.Imports {
	im := profiles.Imports{Default: len(r.Allow) == 0}
	for _, name := range r.Allow {
		if name == "*" {
			im.Any = &profiles.Rule{}
			continue
		}
		im.Allow = append(im.Allow, profiles.ImportRule{Name: name})
	}
	for _, name := range r.Deny {
		im.Deny = append(im.Deny, profiles.ImportRule{Name: name})
	}
	return im
}

// lacking are the programs of the corpus that need what this engine has not: a pool of
// threads, a thread, and a pair of sockets.
func lacking() []string { return []string{"pub-013", "pub-024", "pub-082"} }

// What the corpus wants to run runs, but for what the engine lacks, and nothing of what
// it wants refused has an effect.
func TestCorpus(t *testing.T) {
	e := executor(t, nil)
	ran, ok := 0, 0
	for _, r := range corpus(t) {
		in := run(r.Program)
		in.Agent = agent(r.imports())
		out, err := e.Run(t.Context(), in, &executorstest.Host{})
		if err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		got := printed(out, executors.LevelStdout)
		switch {
		case r.Expect != "ok":
			if strings.Contains(got, "ESCAPED") {
				t.Errorf("%s: %q", r.ID, got)
			}
			continue
		case out.State == executors.StateDone && got == r.Stdout:
			ok++
		case !slices.Contains(lacking(), r.ID):
			t.Errorf("%s, %s: %s, %q, want %q: %+v", r.ID, r.Category, out.State, got, r.Stdout, out.Error)
		}
		ran++
	}
	t.Logf("%d of %d", ok, ran)
	if ran-ok != len(lacking()) {
		t.Errorf("%d do not run, and %d are known not to", ran-ok, len(lacking()))
	}
}
