//go:build linux

// Command neighbour measures what one guest of the kernel ring can do to another:
// a run of JavaScript and a plain loop, alone and beside a guest that takes all it
// may have. All of them take turns, round after round, so that a drifting machine
// drifts for all. It prints a Markdown table of medians with the ratio to the same
// run alone.
//
//	neighbour [-rounds 15] [-processes 64]
//
// The hogs are bounded by the limits of their profile and end with their round.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/executors/js/jsguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// Roles of this program in a guest.
const (
	verbGuest = "js-guest"
	verbLoop  = "loop"
	verbHog   = "hog"
)

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case verbGuest:
			os.Exit(jsguest.Main(ctx, jsguest.Config{Now: time.Now}))
		case verbLoop:
			loops(os.Stdin, os.Stdout)
			return
		case verbHog:
			hog(os.Args[2], os.Args[3], os.Stdout)
			return
		}
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "neighbour:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("neighbour", flag.ContinueOnError)
	rounds := f.Int("rounds", 15, "runs beside each")
	processes := f.Int64("processes", 64, "that the hog may have")
	only := f.String("only", "", "one hog; \"\": all")
	if err := f.Parse(args); err != nil {
		return err
	}
	b, err := newBench(ctx, *processes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	took := map[string]map[string][]time.Duration{}
	names := append([]string{alone, "a plain process"}, hogs()...)
	if *only != "" {
		names = []string{alone, *only}
	}
	for range *rounds {
		for _, name := range names {
			one, err := b.beside(ctx, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for what, d := range one {
				if took[what] == nil {
					took[what] = map[string][]time.Duration{}
				}
				took[what][name] = append(took[what][name], d)
			}
		}
	}
	fmt.Fprintf(out, "As uid %d, %d rounds, %d processes.\n\n| beside | JavaScript, fib(24) | plain loop |\n"+
		"|---|---|---|\n", os.Getuid(), *rounds, *processes)
	for _, name := range names {
		fmt.Fprintf(out, "| %s |", name)
		for _, what := range []string{"js", "loop"} {
			d, base := median(took[what][name]), median(took[what][alone])
			fmt.Fprintf(out, " %.1f ms (%.2fx) |", float64(d)/1e6, float64(d)/float64(base))
		}
		fmt.Fprintln(out)
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

const alone = "nothing"

// bench is the two neighbours, ready, and what starts the third.
type bench struct {
	ring      *kernel.Ring
	js        *js.Executor
	self      string
	dir       string // of the executor, and a folder that hogs may write into
	processes int64
	loop      executors.Streamer
	killLoop  func() error
	lines     *bufio.Reader
	all       sync.WaitGroup
}

func newBench(ctx context.Context, processes int64) (_ *bench, err error) {
	b := &bench{processes: processes}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "ringd-neighbour-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return nil, err
	}
	b.ring, err = kernel.New(kernel.Config{Go: func(f func()) { b.all.Go(f) }, Token: rand.Reader,
		Report: func(kernel.Violation) error { return nil }})
	if err != nil {
		return nil, err
	}
	for name, mode := range map[string]os.FileMode{"cache": 0o700, "work": 0o777} {
		if err := os.Mkdir(filepath.Join(b.dir, name), mode); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(filepath.Join(b.dir, "work"), 0o777); err != nil {
		return nil, err
	}
	b.js, err = js.New(js.Config{
		Launcher: b.ring, Argv: []string{"/proc/self/exe", verbGuest}, CacheDir: filepath.Join(b.dir, "cache"),
		Go: func(f func()) { b.all.Go(f) }, Now: time.Now, Idle: 1, PerKey: 1, Reuse: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	if _, err := b.script(ctx); err != nil {
		return nil, err
	}
	g, err := b.ring.Launch(ctx, b.spec(4, verbLoop))
	if err != nil {
		return nil, err
	}
	b.killLoop, b.loop = g.Kill, g.(executors.Streamer)
	b.lines = bufio.NewReader(b.loop.Stdout())
	return b, nil
}

func (b *bench) close() error {
	err := errors.Join(b.killLoop(), b.js.Close(), b.ring.Close())
	b.all.Wait()
	return errors.Join(err, os.RemoveAll(b.dir))
}

// spec is a guest of this program.
func (b *bench) spec(processes int64, args ...string) executors.Spec {
	return executors.Spec{
		Executor: profiles.ExecutorShell, MinTier: profiles.TierOS, Streams: true,
		Argv: append([]string{b.self}, args...),
		Env:  []string{"GOMAXPROCS=1"}, CPU: 20 * time.Minute, MemoryBytes: 256 << 20,
		Kernel: profiles.Kernel{
			Executor: profiles.ExecutorShell, Network: profiles.NetworkOff, CPUMillis: 1_200_000, WallMillis: 1_200_000,
			Write:       []profiles.PathRule{{Path: filepath.Join(b.dir, "work")}},
			MemoryBytes: 256 << 20, FileBytes: 64 << 20, TempBytes: 32 << 20, Processes: processes, Files: 256,
			OutputBytes: 1 << 20,
		},
	}
}

// beside measures both neighbours while a hog is at work.
func (b *bench) beside(ctx context.Context, name string) (_ map[string]time.Duration, err error) {
	switch name {
	case alone:
	case "a plain process": // what one more busy program on the host does
		c := exec.CommandContext(ctx, b.self, verbHog, "one", b.dir)
		if err := c.Start(); err != nil {
			return nil, err
		}
		defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	default:
		g, err := b.ring.Launch(ctx, b.spec(b.processes, verbHog, name, filepath.Join(b.dir, "work")))
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = g.Kill(), g.Conn().Close() }()
		if _, err := bufio.NewReader(g.(executors.Streamer).Stdout()).ReadString('\n'); err != nil {
			return nil, fmt.Errorf("it does not begin: %w", err)
		}
	}
	<-time.After(settle)
	out := map[string]time.Duration{}
	if out["js"], err = b.script(ctx); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(b.loop.Stdin()); err != nil {
		return nil, err
	}
	line, err := b.lines.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(line[:len(line)-1], 10, 64)
	out["loop"] = time.Duration(n)
	return out, err
}

// settle is how long a hog is at work before anything is measured.
const settle = 150 * time.Millisecond

func ptr(n int64) *int64 { return &n }

// script runs the JavaScript in its guest, which is warm.
func (b *bench) script(ctx context.Context) (time.Duration, error) {
	a := &profiles.Agent{MinTier: profiles.TierOS, JS: &profiles.JS{}}
	began := time.Now()
	out, err := b.js.Run(ctx, executors.Run{
		ID: "r", Actor: "me", Agent: a, Revision: "sha256:1",
		Program: executors.Program{
			Name: "fib.js", Source: "const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2)\nfib(24)"},
		Limits: profiles.Limits{CPUMillis: ptr(60_000), WallMillis: ptr(120_000), MemoryBytes: ptr(32 << 20),
			OutputBytes: ptr(64 << 10),
			ResultBytes: ptr(1 << 20), StackBytes: ptr(256 << 10), RefusedCalls: ptr(64)},
	}, host{})
	if err == nil && string(out.Value) != "46368" {
		err = fmt.Errorf("%+v", out)
	}
	return time.Since(began), err
}

type host struct{}

func (host) Ask(context.Context, executors.Question) (executors.Answer, error) {
	return executors.Answer{}, errors.New("nothing is asked")
}
func (host) Console(executors.ConsoleEntry) {}
func (host) Idle([]string)                  {}
