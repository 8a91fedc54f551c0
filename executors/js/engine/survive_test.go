package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/profiles"
)

// The table: each program of testdata/programs is run without a pause, and again
// with a pause wherever it waits, each part in another process than the part
// before. Every snapshot is restored in both of two processes, which must agree.
//
// gate waits for the harness, free is answered at once, refuse is denied. What is
// to come out stands in testdata/programs/want.json.

// ending is all that can be seen of a program.
type ending struct {
	Value     string   `json:",omitempty"`
	Error     string   `json:",omitempty"`
	Frames    []string `json:",omitempty"`
	Console   []string `json:",omitempty"`
	Unawaited []string `json:",omitempty"`
	Unhandled []string `json:",omitempty"`
	Calls     int64
	Waits     int // times at which it could do nothing
}

// part is what a program does between two waits.
type part struct {
	Snapshot []byte
	Opened   []engine.Call
	Console  []string
	Over     *ending
}

type parcel struct {
	File     string // start it, else:
	Snapshot []byte
	Settle   engine.Call
}

func newModules() modules {
	return modules{
		"counter": `export let value = 0; export const bump = () => { value++; }; export default () => value * 100;`,
		"late":    `export const late = await gate('in a module');`,
	}
}

func tableOptions(console *[]string) engine.Options {
	o := options()
	o.Bridges = []string{"gate", "free", "refuse"}
	o.Modules = newModules()
	o.ConsoleBytes = 1 << 20
	o.Console = func(level, text string) { *console = append(*console, level+": "+text) }
	return o
}

// program reads a file of the table.
func program(t testing.TB, file string) engine.Program {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "programs", file))
	if err != nil {
		t.Fatal(err)
	}
	p := engine.Program{File: file, Source: string(b), Module: filepath.Ext(file) == ".mjs"}
	if filepath.Ext(file) == ".ts" {
		out := api.Transform(p.Source, api.TransformOptions{Loader: api.LoaderTS, Target: api.ES2022})
		if len(out.Errors) > 0 {
			t.Fatal(out.Errors)
		}
		p.Source = string(out.Code)
	}
	return p
}

// settle answers a call as its bridge would.
func settle(t testing.TB, vm *engine.VM, c engine.Call) {
	t.Helper()
	var args []json.RawMessage
	if err := json.Unmarshal(c.Args, &args); err != nil {
		t.Fatalf("%s: %v", c.Args, err)
	}
	var a engine.Answer
	if len(args) > 0 {
		a.Value = args[0]
	}
	if c.Bridge == "refuse" {
		a = engine.Answer{Error: &engine.GuestError{Name: profiles.ErrorApprovalDenied, Message: string(args[0])}}
	}
	if err := vm.Settle(t.Context(), c.ID, a); err != nil {
		t.Fatal(err)
	}
}

// advance runs until nothing is left but calls that wait for the harness, or the
// end.
func advance(t testing.TB, vm *engine.VM) part {
	t.Helper()
	var p part
	for {
		s := run(t, vm)
		free := false
		for _, c := range vm.TakeCalls() {
			if c.Bridge == "free" {
				settle(t, vm, c)
				free = true
				continue
			}
			p.Opened = append(p.Opened, c)
		}
		switch {
		case free, s.Status == engine.StatusRunning:
		case s.Status == engine.StatusWaiting:
			return p
		default:
			p.Over = ended(vm, s)
			return p
		}
	}
}

func ended(vm *engine.VM, s engine.State) *ending {
	e := &ending{Value: string(s.Value), Calls: vm.Usage().Calls}
	if s.Exception != nil {
		e.Error = s.Exception.Name + ": " + s.Exception.Message
		for _, f := range s.Exception.Frames {
			e.Frames = append(e.Frames, fmt.Sprintf("%s %s:%d:%d", f.Function, f.File, f.Line, f.Column))
		}
	}
	if s.Status == engine.StatusDeadlock {
		e.Error = "deadlock"
	}
	for _, c := range s.Unawaited {
		e.Unawaited = append(e.Unawaited, fmt.Sprint(c.ID, " ", c.Bridge))
	}
	for _, x := range s.Unhandled {
		e.Unhandled = append(e.Unhandled, x.Name+": "+x.Message)
	}
	return e
}

// drive runs a program by parts. The newest open call is answered first.
func drive(t testing.TB, first parcel, next func(parcel) part) ending {
	t.Helper()
	var open []engine.Call
	var console []string
	p := next(first)
	for waits := 0; ; waits++ {
		open, console = append(open, p.Opened...), append(console, p.Console...)
		if p.Over != nil {
			p.Over.Console, p.Over.Waits = console, waits
			return *p.Over
		}
		if waits > 60 || len(open) == 0 {
			t.Fatalf("after %d waits %d calls are open", waits, len(open))
		}
		last := open[len(open)-1]
		open = open[:len(open)-1]
		p = next(parcel{Snapshot: p.Snapshot, Settle: last})
	}
}

// unbroken runs a program in one VM.
func unbroken(t testing.TB, e *engine.Engine, file string) ending {
	t.Helper()
	var console []string
	vm := start(t, e, tableOptions(&console))
	return drive(t, parcel{File: file}, func(x parcel) part {
		console = nil
		if x.File != "" {
			if err := vm.Eval(t.Context(), program(t, x.File)); err != nil {
				t.Fatal(err)
			}
		} else {
			settle(t, vm, x.Settle)
		}
		p := advance(t, vm)
		p.Console = console
		return p
	})
}

// play does one part in this process, from a snapshot or the start, and writes
// the VM down.
func play(t testing.TB, e *engine.Engine, x parcel) part {
	t.Helper()
	var console []string
	var vm *engine.VM
	if x.File != "" {
		vm = start(t, e, tableOptions(&console))
		if err := vm.Eval(t.Context(), program(t, x.File)); err != nil {
			t.Fatal(err)
		}
	} else {
		vm = restored(t, e, x.Snapshot, tableOptions(&console))
		settle(t, vm, x.Settle)
	}
	p := advance(t, vm)
	if p.Over == nil {
		p.Snapshot = takeSnapshot(t, vm)
	}
	p.Console = console
	if err := vm.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

const processVariable = "RINGD_ENGINE_TEST_PROCESS"

// TestPartsProcess is the other process: parcels on stdin, parts on stdout.
func TestPartsProcess(t *testing.T) {
	mode := os.Getenv(processVariable)
	if mode == "" {
		t.Skip("run by TestProgramsSurvive")
	}
	e, err := engine.New(t.Context(), engine.Config{CacheDir: cacheDir(t), CopyRestore: mode == "copy"})
	if err != nil {
		t.Fatal(err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var x parcel
		if err := in.Decode(&x); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if err := out.Encode(play(t, e, x)); err != nil {
			t.Fatal(err)
		}
	}
}

// process starts one and returns what plays a part in it.
func process(t *testing.T, mode string) func(parcel) part {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^TestPartsProcess$",
		"-test.timeout=10m")
	cmd.Env = append(os.Environ(), processVariable+"="+mode)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in, lines := json.NewEncoder(stdin), bufio.NewReader(stdout)
	t.Cleanup(func() {
		stdin.Close()
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the other process: %v %s", err, stderr.String())
		}
	})
	return func(x parcel) part {
		t.Helper()
		if err := in.Encode(x); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		var p part
		if err == nil {
			err = json.Unmarshal(line, &p)
		}
		if err != nil {
			rest, _ := io.ReadAll(lines)
			t.Fatalf("the other process: %v: %s%s%s", err, line, rest, stderr.String())
		}
		return p
	}
}

func TestProgramsSurvive(t *testing.T) {
	e := newEngine(t)
	files, err := filepath.Glob("testdata/programs/*.*s")
	if err != nil || len(files) < 45 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	wants := map[string]ending{}
	const wantFile = "testdata/programs/want.json"
	if os.Getenv("RINGD_UPDATE") == "" {
		b, err := os.ReadFile(wantFile)
		if err == nil {
			err = json.Unmarshal(b, &wants)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	one, two := process(t, "map"), process(t, "copy")
	for _, path := range files {
		file := filepath.Base(path)
		t.Run(file, func(t *testing.T) {
			want := unbroken(t, e, file)
			if want.Waits == 0 {
				t.Error("it never waits")
			}
			if os.Getenv("RINGD_UPDATE") != "" {
				wants[file] = want
			}
			if diff := cmp.Diff(wants[file], want); diff != "" {
				t.Errorf("without a pause (-want +got):\n%s", diff)
			}
			n := 0
			got := drive(t, parcel{File: file}, func(x parcel) part {
				a, b := one(x), two(x)
				if diff := cmp.Diff(a, b); diff != "" {
					t.Errorf("part %d: two processes that restored one snapshot differ:\n%s", n, diff)
				}
				n++
				if n%2 == 0 {
					return a
				}
				return b
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("with pauses (-want +got):\n%s", diff)
			}
		})
	}
	if os.Getenv("RINGD_UPDATE") != "" {
		b, err := json.MarshalIndent(wants, "", "\t")
		if err == nil {
			err = os.WriteFile(wantFile, append(b, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(files, "testdata/programs/typescript.ts") {
		t.Error("TypeScript is missing")
	}
}
