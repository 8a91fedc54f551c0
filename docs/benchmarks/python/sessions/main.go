//go:build linux

// Command sessions measures the memory and the time that sessions of Python need.
// It begins some sessions, each an interpreter with a little state. It prints a
// Markdown table: the memory of the sessions, the time to start one more session,
// and the time of one more program in a session.
//
//	sessions [-n 200] [-interpreter /usr/bin/python3] [-import json,csv]
//
// The memory of this process and its descendants is the sum of their Pss (from
// smaps_rollup): the private memory of each process and its share of shared memory.
// The table also has how much less memory is free on the host.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sessions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("sessions", flag.ContinueOnError)
	n := f.Int("n", 200, "how many")
	interpreter := f.String("interpreter", "/usr/bin/python3", "that they run on")
	modules := f.String("import", "json,csv,datetime,random", "that each has loaded")
	if err := f.Parse(args); err != nil {
		return err
	}
	var group sync.WaitGroup
	ring, err := kernel.New(kernel.Config{Go: func(f func()) { group.Go(f) }, Token: rand.Reader,
		Executors: []string{profiles.ExecutorPython}})
	if err != nil {
		return err
	}
	defer func() { _ = ring.Close(); group.Wait() }()
	found, err := environment.New(environment.Config{Interpreter: *interpreter, Ask: ask, Machine: "x86_64"})
	if err != nil {
		return err
	}
	e, err := python.New(python.Config{
		Launcher: ring, Environments: found, Go: func(f func()) { group.Go(f) }, Now: time.Now, Random: rand.Reader,
		Sessions: *n, Idle: time.Hour,
	})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	return measure(ctx, e, *n, *modules, out)
}

// host answers nothing, since nothing is asked.
type host struct{}

func (host) Ask(context.Context, executors.Question) (executors.Answer, error) {
	return executors.Answer{Value: []byte("null")}, nil
}
func (host) Console(executors.ConsoleEntry) {}
func (host) Idle([]string)                  {}

func agent() *profiles.Agent {
	n := func(v int64) *int64 { return &v }
	l := profiles.Limits{
		CPUMillis: n(60_000), WallMillis: n(60_000), MemoryBytes: n(512 << 20), OutputBytes: n(1 << 20),
		ResultBytes: n(1 << 20),
		StackBytes:  n(8 << 20), Processes: n(16), Files: n(64), RefusedCalls: n(64),
	}
	return &profiles.Agent{
		Name: "bench", MinTier: profiles.TierOS, Limits: l, Sessions: &profiles.Sessions{
			AgeMillis: 3_600_000, Bytes: 1 << 20},
		Python: &profiles.Python{Limits: l, Imports: profiles.Imports{Default: true}},
	}
}

func measure(ctx context.Context, e *python.Executor, n int, modules string, out io.Writer) error {
	a := agent()
	begin := executors.Run{
		ID: "r", Actor: "bench", Agent: a, Revision: "sha256:bench", Limits: a.Limits, Session: true,
		Program: executors.Program{Name: "begin.py", Language: "python",
			Source: "import " + modules + "\nstate = list(range(1000))"},
	}
	fmt.Fprintln(out, "| sessions | of ringd and guests, MiB | each, MiB | less free on the host, MiB | one more "+
		"begins, ms (p50) | a program in one, ms (p50) |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	base, free := memory(os.Getpid()), available()
	var tokens []executors.Outcome
	var starts []time.Duration
	for i := 1; i <= n; i++ {
		from := time.Now()
		o, err := e.Run(ctx, begin, host{})
		if err != nil {
			return err
		}
		if o.Snapshot == nil {
			return fmt.Errorf("session %d: %s %+v %s", i, o.State, o.Error, o.Unkept)
		}
		starts = append(starts, time.Since(from))
		tokens = append(tokens, o)
		if i != 1 && i != 10 && i != 50 && i != n {
			continue
		}
		one, err := again(ctx, e, begin, tokens)
		if err != nil {
			return err
		}
		all := memory(os.Getpid())
		fmt.Fprintf(out, "| %d | %.1f | %.1f | %.1f | %.1f | %.2f |\n", i, mib(all), mib(all-base)/float64(i),
			mib(free-available()), ms(median(starts)), ms(one))
		starts = nil
	}
	return nil
}

// again runs one more program in some of the sessions.
func again(ctx context.Context, e *python.Executor, begin executors.Run, tokens []executors.Outcome) (
	time.Duration, error) {
	var took []time.Duration
	for i := range tokens {
		if i%max(len(tokens)/20, 1) != 0 {
			continue
		}
		r := begin
		r.Program.Source = "sum(state)"
		r.Resume = &executors.Resume{Engine: tokens[i].Engine, Snapshot: tokens[i].Snapshot, Session: true}
		from := time.Now()
		o, err := e.Run(ctx, r, host{})
		if err != nil || string(o.Value) != "499500" || o.Snapshot == nil {
			return 0, fmt.Errorf("a program in session %d: %w %s %+v", i, err, o.State, o.Error)
		}
		took = append(took, time.Since(from))
		tokens[i] = o
	}
	return median(took), nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

func mib(bytes int64) float64    { return float64(bytes) / (1 << 20) }
func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
func ask(ctx context.Context, argv []string) ([]byte, error) {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
}

// memory is that of a process and of its descendants.
func memory(pid int) int64 {
	all := field(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"), "Pss:")
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return all
	}
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // it has ended
		}
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				all += memory(n)
			}
		}
	}
	return all
}

func available() int64 { return field("/proc/meminfo", "MemAvailable:") }

// field reads a line of kB; 0 when it is not there.
func field(file, name string) int64 {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) > 1 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
