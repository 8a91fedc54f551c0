package js_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/profiles"
)

// entry is one file of testdata/attacks/js or testdata/benign/js. Its header
// says how it is to end:
//
//	// want: STATE [ERROR] or done [VALUE]
//	// bridges: echo, tools.search      granted ones, which give their arguments back
//	// cpu: 500, memory: 8388608        limits, in milliseconds and bytes
//	// calls: 0                         how many calls the host may see
//	// inputs: {"name": …}, modules: math
type entry struct {
	file  string
	head  map[string]string
	run   executors.Run
	calls atomic.Int64
}

func corpus(t *testing.T, folder string) []*entry {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../testdata", folder, "js", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s: %v", folder, err)
	}
	var out []*entry
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parseEntry(t, filepath.Base(f), string(b)))
	}
	return out
}

func parseEntry(t *testing.T, file, source string) *entry {
	t.Helper()
	e := &entry{file: file, head: map[string]string{}}
	for line := range strings.Lines(source) {
		rest, comment := strings.CutPrefix(line, "// ")
		k, v, ok := strings.Cut(strings.TrimSpace(rest), ": ")
		if !comment || !ok {
			break
		}
		e.head[k] = v
	}
	if e.head["want"] == "" {
		t.Fatalf("%s: no want in the header", file)
	}
	var bridges []string
	if b := e.head["bridges"]; b != "" {
		bridges = strings.Split(b, ", ")
	}
	e.run = program(source, bridges...)
	e.run.Program.Name = file
	e.run.Limits.CPUMillis = ptr(e.number(t, "cpu", 200))
	e.run.Limits.MemoryBytes = ptr(e.number(t, "memory", 8<<20))
	e.run.Limits.OutputBytes = ptr(16 << 10)
	e.run.Agent.JS.Imports.Deny = []profiles.ImportRule{
		{Name: "requests", Rule: profiles.Rule{File: "policy.yaml", Line: 12, Path: "denied_imports[0]"}}}
	if e.head["modules"] != "" {
		addModules(&e.run)
	}
	if in := e.head["inputs"]; in != "" {
		if err := json.Unmarshal([]byte(in), &e.run.Inputs); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return e
}

func (e *entry) number(t *testing.T, key string, otherwise int64) int64 {
	s := e.head[key]
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %s: %v", e.file, key, err)
	}
	return n
}

// addModules ships and allows the modules that the corpus imports.
func addModules(r *executors.Run) {
	r.Modules = map[string]profiles.Module{}
	for name, src := range map[string]string{
		"policy:math":    "import { base } from 'policy:base'\nexport const answer = () => base * 2\nexport const name = 'answer'\n",
		"policy:base":    "export const base = 21\n",
		"policy:counter": "let n = 0\nexport const next = () => ++n\nexport const self = {}\n",
		"policy:typed":   "export function seven(n: number): number { return n + 7 }\n",
	} {
		addModule(r, name, src)
	}
}

func addModule(r *executors.Run, name, src string) {
	sum := sha256.Sum256([]byte(src))
	r.Modules[name] = profiles.Module{Digest: "sha256:" + hex.EncodeToString(sum[:]), Source: src}
	r.Agent.JS.Imports.Allow = append(r.Agent.JS.Imports.Allow, profiles.ImportRule{Name: name})
}

func (e *entry) Ask(_ context.Context, q executors.Question) (executors.Answer, error) {
	e.calls.Add(1)
	if q.Bridge == "forbidden" {
		return executors.Answer{Error: &executors.GuestError{Name: "CapabilityDenied", Message: "no"}}, nil
	}
	return executors.Answer{Value: q.Args}, nil
}
func (*entry) Console(executors.ConsoleEntry) {}
func (*entry) Idle([]string)                  {}

// check compares an outcome with the header.
func (e *entry) check(t *testing.T, out executors.Outcome, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	state, rest, _ := strings.Cut(e.head["want"], " ")
	got := string(out.Value)
	if out.Error != nil {
		got = out.Error.Name
	}
	if string(out.State) != state {
		t.Fatalf("state %s %s %+v, want %s", out.State, got, out.Error, e.head["want"])
	}
	switch {
	case rest == "":
	case out.State == executors.StateDone:
		if canonical(t, got) != canonical(t, rest) {
			t.Errorf("value %s, want %s", got, rest)
		}
	case got != rest:
		t.Errorf("error %+v, want %s", out.Error, rest)
	}
	if out.State == executors.StateDenied && len(out.Denials) == 0 {
		t.Errorf("denied, and no denial says why")
	}
	if c := e.head["calls"]; c != "" && c != fmt.Sprint(e.calls.Load()) {
		t.Errorf("the host saw %d calls, want %s", e.calls.Load(), c)
	}
	// The clock is read every few milliseconds, and later on a busy host. Unread, it lets
	// a program go on to the end of limits.wall.
	limit := time.Duration(*e.run.Limits.CPUMillis) * time.Millisecond
	if out.State == executors.StateLimit && out.Usage.CPU > limit+time.Second {
		t.Errorf("it used %v of processor time, its limit is %v", out.Usage.CPU, limit)
	}
	var n int64
	for _, c := range out.Console {
		n += int64(len(c.Text))
	}
	if n > *e.run.Limits.OutputBytes+200 {
		t.Errorf("%d bytes of console", n)
	}
}

func canonical(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return b.String()
}

// Every hostile program meets the end its header names, and a neighbour that
// runs at the same time gets its own right result.
func TestAttacks(t *testing.T) {
	e := executor(t, func(c *js.Config) { c.Blank = 1 })
	list := corpus(t, "attacks")
	if len(list) < 25 {
		t.Fatalf("only %d attacks", len(list))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if grown := int64(after.Sys) - int64(before.Sys); grown > 64<<20 {
			t.Errorf("the attacks made the host grow by %d MiB", grown>>20)
		}
	}()
	for _, a := range list {
		t.Run(a.file, func(t *testing.T) {
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				n := program("let s = 0\nfor (let i = 0; i < 20; i++) s += (await echo(i))[0]\ns", "echo")
				n.Actor = "neighbour"
				out, err := e.Run(t.Context(), n, host{})
				if err != nil || out.State != executors.StateDone || string(out.Value) != "190" {
					t.Errorf("neighbour: %s %s %+v %v", out.State, out.Value, out.Error, err)
				}
			})
			out, err := e.Run(t.Context(), a.run, a)
			a.check(t, out, err)
		})
	}
}

func TestBenign(t *testing.T) {
	e := executor(t, nil)
	for _, b := range corpus(t, "benign") {
		t.Run(b.file, func(t *testing.T) {
			out, err := e.Run(t.Context(), b.run, b)
			b.check(t, out, err)
		})
	}
}
