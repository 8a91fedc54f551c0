package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// TestScript runs every file of testdata/script: one behaviour each, with exit
// code, stdout and stderr. With the race detector it runs those with a daemon: the
// other commands are over at once, and the detector makes each start ten times as
// slow and takes the limits of memory away, so `make test` runs all of them without.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for every command")
	}
	cache := t.TempDir()                                               // compiled engines, each made once
	wasm, err := filepath.Abs("../../executors/python/wasm/place/npm") // `make python-wasm` places it
	if err != nil {
		t.Fatal(err)
	}
	policies, err := filepath.Abs("../../testdata/policies")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("RINGD_UPDATE") != "",
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return raceDetector, nil
			case "kernel":
				return kernelRing(t)
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache)
			e.Setenv("RINGD_PYTHON_WASM", wasm)
			e.Setenv("POLICIES", policies)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code, "flip": flip, "certs": certs},
	})
}

// kernelRing tells whether this host gives guests every layer.
func kernelRing(t *testing.T) (bool, error) {
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		return true, nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader})
	if err != nil {
		return false, err
	}
	at := r.Attestation(t.Context(), profiles.ExecutorJS)
	return at.Tier == profiles.TierOS, r.Close()
}

// scripts are the files of testdata/script that are run.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	if !raceDetector {
		return all
	}
	var serve []string
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("ringd serve")) {
			serve = append(serve, name)
		}
	}
	return serve
}

// code N COMMAND… runs a command that must exit with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// flip FILE changes one byte in the middle of a file.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip file")
	}
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.WriteFile(name, b, 0o600))
}

// certs DIR NAME… writes a certificate for 127.0.0.1 with its authority, and a
// token for each name.
func certs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: certs dir [token]")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	apitest.New(fatal{ts}).Write(fatal{ts}, dir, "server")
	for _, name := range args[1:] {
		ts.Check(os.WriteFile(filepath.Join(dir, name+".token"), []byte(apitest.Secret()), 0o600))
	}
}

// fatal is a script where a test is asked for.
type fatal struct{ *testscript.TestScript }

func (fatal) Helper()          {}
func (f fatal) Fatal(v ...any) { f.Fatalf("%s", fmt.Sprint(v...)) }

// TestDemo runs `make demo`, which checks itself. The second case grants the
// injected instruction something to call, and the demo must notice.
func TestDemo(t *testing.T) {
	if testing.Short() || raceDetector { // see TestScript
		t.Skip("builds the demo's reviewer, and starts a process for every command")
	}
	reviewer := filepath.Join(t.TempDir(), "reviewer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", reviewer,
		"../../testdata/demo/reviewer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ringd, err := exec.LookPath("ringd") // testscript.Main put the test binary there
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, grant, with, says string }{
		{"nothing to call", "", "", "That is ringd"},
		{"something to call", "    - {name: readFile, \n       powers: {sensitive: true, untrusted: true, external: false}}\n",
			` --bridge "readFile=printf 1"`, "demo: an attempt worked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			demo, tmp := filepath.Join(dir, "demo"), filepath.Join(dir, "tmp")
			if err := errors.Join(os.CopyFS(demo, os.DirFS("../../testdata/demo")), os.Mkdir(tmp, 0o700)); err != nil {
				t.Fatal(err)
			}
			edit(t, filepath.Join(demo, "policy", "code-review.yaml"), "    - name: checkpoint\n",
				tt.grant+"    - name: checkpoint\n")
			edit(t, filepath.Join(demo, "run.sh"), `--bridge "spawnSubagent=$reviewer"`,
				`--bridge "spawnSubagent=$reviewer"`+tt.with)
			cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(demo, "run.sh"), ringd, reviewer)
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (tt.grant != "") || !strings.Contains(string(out), tt.says) {
				t.Fatalf("%v, want %q in\n%s", err, tt.says, out)
			}
			left, err := filepath.Glob(filepath.Join(tmp, "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("the demo left %v, %v", left, err)
			}
			for line := range strings.Lines(string(out)) {
				if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
					t.Errorf("wider than 80 columns: %q", line)
				}
			}
		})
	}
}

func edit(t *testing.T, name, old, now string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(b), old) {
		t.Fatalf("%s: %v, or %q is not in it", name, err, old)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(b), old, now, 1)), 0o700); err != nil {
		t.Fatal(err)
	}
}
