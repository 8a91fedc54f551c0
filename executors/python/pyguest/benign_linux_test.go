package pyguest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// ordinary is a program that has to work.
type ordinary struct {
	name, text, in, out string
	allow               []string
	standard            bool // the default set of names as well
	python              string
}

// benign are the programs of the corpora that need nothing but the standard library.
func benign(t *testing.T) []ordinary {
	t.Helper()
	var all []ordinary
	files, err := filepath.Glob("../../../testdata/benign/python/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if base := filepath.Base(file); base == "packages.txtar" || base == "refused.txtar" {
			continue // guests of the ring run them
		}
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, programsOf(a)...)
	}
	b, err := os.ReadFile("../../../testdata/python.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var row struct {
			ID             string   `json:"id"`
			Expect         string   `json:"expect"`
			Program        string   `json:"program"`
			ExpectedStdout string   `json:"expected_stdout"`
			Allowed        []string `json:"allowed_imports"`
			Denied         []string `json:"denied_imports"`
		}
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Expect == "ok" && len(row.Denied) == 0 {
			all = append(all, ordinary{name: row.ID, text: row.Program, out: row.ExpectedStdout, allow: row.Allowed,
				standard: len(row.Allowed) == 0, python: "3.11"})
		}
	}
	return all
}

func programsOf(a *txtar.Archive) (all []ordinary) {
	texts := map[string]string{}
	for _, f := range a.Files {
		texts[f.Name] = string(f.Data)
	}
	for _, f := range a.Files {
		name, isProgram := strings.CutSuffix(f.Name, ".py")
		if !isProgram {
			continue
		}
		p := ordinary{name: name, text: string(f.Data), in: texts[name+".in"], out: texts[name+".out"], standard: true}
		for line := range strings.Lines(p.text) {
			if s, ok := strings.CutPrefix(line, "# allow: "); ok {
				p.allow, p.standard = strings.Split(strings.TrimSpace(s), ", "), false
			}
			if s, ok := strings.CutPrefix(line, "# python: "); ok {
				p.python = strings.TrimSpace(s)
			}
			if strings.HasPrefix(line, "# deny: ") {
				p.name = ""
			}
		}
		if p.name != "" {
			all = append(all, p)
		}
	}
	return all
}

// TestBenign runs the ordinary programs under the guard alone: each on the first
// interpreter of this host and on another one, and on all where there is time.
func TestBenign(t *testing.T) {
	programs := benign(t)
	if len(programs) < 100 {
		t.Fatalf("%d programs", len(programs))
	}
	all := interpreters(t)
	each(t, func(t *testing.T, python string) {
		version, mine := versionOf(t, python), slices.Index(all, python)
		for i, p := range programs {
			if mine > 0 && i%(len(all)-1) != mine-1 && os.Getenv("RINGD_LONG") != "1" {
				continue
			}
			if p.python != "" && version < p.python {
				continue
			}
			t.Run(p.name, func(t *testing.T) {
				o := options(t)
				o.Env = []string{"PATH=/nowhere", "LOGNAME=agent"}
				agent := &profiles.Agent{Python: &profiles.Python{Imports: profiles.Imports{Default: p.standard}}}
				for _, n := range p.allow {
					if n == "*" {
						agent.Python.Imports.Any = &profiles.Rule{}
						continue
					}
					agent.Python.Imports.Allow = append(agent.Python.Imports.Allow, profiles.ImportRule{Name: n})
				}
				made := pyproto.ProfileOf(pyproto.ProfileConfig{
					Agent: agent, Read: []string{"/"}, Write: []string{o.Dir}, Library: []string{}})
				o.Profile = &made
				o.Profile.Network = profiles.NetworkOff
				l, proc := dial(t, python, pyproto.Settings{})
				o.Stdin = true
				if _, err := proc.stdin.Write([]byte(p.in)); err != nil {
					t.Fatal(err)
				}
				_ = proc.stdin.Close()
				out, _, err := l.Run(t.Context(), work(t, o, p.text), quickHost{})
				_ = proc.wait()
				if got := proc.stdout.String(); err != nil || out.Error != nil || got != p.out {
					t.Errorf("%v %s %+v\nit said  %q\nit wants %q\nstderr: %s", err, out.State, out.Error, got, p.out,
						proc.stderr)
				}
			})
		}
	})
}

// versionOf is the version of an interpreter, without its last number.
func versionOf(t *testing.T, python string) string {
	t.Helper()
	l, _ := dial(t, python, pyproto.Settings{})
	_, v, _ := strings.Cut(l.Ready().Digest, "cpython-")
	return v[:strings.LastIndexByte(v, '.')]
}
