//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// rest is how long everything is left alone before a launch: what the one before
// leaves to do, a pool that refills above all, is not to be a part of the next.
const rest = 40 * time.Millisecond

// patience is how long one launch may take.
const patience = 30 * time.Second

// launcher is one row.
type launcher struct {
	name, around string
	// it is launched in one round of so many; 0: in each
	every  int
	launch func(ctx context.Context, program string) (time.Duration, error) // from start to end
	// of the probe inside; nil: it is not measured there
	output func(ctx context.Context) ([]byte, error)
	failed error // why it does not run here
}

// launchers are all rows, a plain start first. What is returned ends them.
func launchers(ctx context.Context, peers string) ([]*launcher, func() error, error) {
	var ends []func() error
	end := func() error {
		var errs []error
		for _, f := range ends {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, end, err
	}
	all := []*launcher{command("fork and exec", "nothing", nil, self)}
	cold, closeCold, err := newRing(0, false)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, closeCold)
	spare, closeSpare, err := newRing(0, true)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, closeSpare)
	pooled, closePooled, err := newRing(8, false)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, closePooled)
	all = append(all,
		ring("ringd", "all namespaces, tmpfs root with 2 programs and 3 files granted, Landlock, seccomp allow-list, "+
			"limits, each proved", cold, self),
		ring("ringd, spare init", "the same; an init that knows no guest yet was started before", spare, self),
		ring("ringd, prepared guest", "the same", pooled, self))
	if path, err := exec.LookPath("bwrap"); err == nil {
		with := func(files []string) []string {
			argv := append([]string{path}, strings.Fields("--unshare-all --die-with-parent --new-session --cap-drop "+
				"ALL --clearenv --tmpfs /tmp --dev /dev --proc /proc")...)
			for _, f := range files {
				argv = append(argv, "--ro-bind", f, f)
			}
			return argv
		}
		l := command("bwrap", "all namespaces and the same files; no Landlock, no seccomp, no limits", with(mounted()),
			"")
		l.output = command("", "", with(mounted(self)), self).output
		all = append(all, l)
	}
	if peers == "" {
		return all, end, nil
	}
	codex := filepath.Join(peers, "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
	all = append(all, command("codex sandbox", "its Rust binary: whole host read-only, seccomp deny-list",
		[]string{codex, "sandbox", "--"}, self))
	l, closeRuntime := runtime(ctx, peers)
	ends = append(ends, closeRuntime)
	whole := command("sandbox-runtime, its command", "with the start of Node.js",
		[]string{filepath.Join(peers, "node_modules/.bin/srt")}, "")
	whole.every = 10
	return append(all, l, whole), end, nil
}

// command is a launcher that is a program with the program to start behind it;
// self is the probe, or "".
func command(name, around string, argv []string, self string) *launcher {
	start := func(ctx context.Context, program ...string) *exec.Cmd {
		all := append(append([]string{}, argv...), program...)
		return exec.CommandContext(ctx, all[0], all[1:]...)
	}
	l := &launcher{name: name, around: around, launch: func(ctx context.Context, program string) (
		time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		cmd := start(ctx, program)
		var words strings.Builder
		began := time.Now()
		err := cmd.Run()
		took := time.Since(began)
		if err != nil { // once more, for what it says
			again := start(ctx, program)
			again.Stderr = &words
			_ = again.Run()
			return took, fmt.Errorf("%w %s", err, words.String())
		}
		return took, nil
	}}
	if self != "" {
		l.output = func(ctx context.Context) ([]byte, error) { return start(ctx, self, probeVerb).Output() }
	}
	return l
}

func newRing(prepared int, spare bool) (*kernel.Ring, func() error, error) {
	var all sync.WaitGroup
	r, err := kernel.New(kernel.Config{
		Go: func(f func()) { all.Go(f) }, Token: rand.Reader,
		Prepared: map[string]int{profiles.ExecutorShell: prepared},
		Spare:    spare,
	})
	if err != nil {
		return nil, nil, err
	}
	return r, func() error {
		err := r.Close()
		all.Wait()
		return err
	}, nil
}

// granted are the programs and files of the profile, beside what these need; more
// is the probe where it is the program.
func granted(more ...string) (programs, files []string) {
	return append([]string{truth, "/usr/bin/bash"}, more...), []string{readable, "/etc/hostname", "/etc/passwd"}
}

// mounted is what a guest of that profile has: programs, files, and the libraries
// and the loader that the programs name.
func mounted(more ...string) []string {
	programs, files := granted(more...)
	out := append(programs, files...)
	for _, pattern := range []string{
		"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/*/libc.so.6", "/lib/*/libtinfo.so.6",
	} {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		out = append(out, found...)
	}
	return out
}

// ring is a launcher that starts guests of r.
func ring(name, around string, r *kernel.Ring, self string) *launcher {
	rules := func(paths []string) []profiles.PathRule {
		var out []profiles.PathRule
		for _, p := range paths {
			out = append(out, profiles.PathRule{Path: p})
		}
		return out
	}
	spec := func(more ...string) executors.Spec {
		programs, files := granted(more...)
		return executors.Spec{
			Executor: profiles.ExecutorShell, MinTier: profiles.TierOS, Streams: true, CPU: time.Minute,
			MemoryBytes: 2 << 30,
			Kernel: profiles.Kernel{
				Executor: profiles.ExecutorShell, Network: profiles.NetworkOff, Exec: rules(programs),
				Read:      rules(files),
				CPUMillis: 60_000, WallMillis: 60_000, MemoryBytes: 2 << 30, Processes: 64, Files: 64,
				OutputBytes: 1 << 16,
			},
		}
	}
	start := func(ctx context.Context, s executors.Spec, argv ...string) (time.Duration, []byte, error) {
		s.Argv = argv
		began := time.Now()
		g, err := r.Launch(ctx, s)
		if err != nil {
			return 0, nil, err
		}
		defer g.Conn().Close()
		end, ok := g.(executors.Streamer)
		if !ok {
			return 0, nil, errors.Join(fmt.Errorf("%T has no streams", g), g.Kill())
		}
		text, err := io.ReadAll(end.Stdout())
		if err != nil {
			return 0, nil, errors.Join(err, g.Kill())
		}
		exit, err := end.Wait(ctx)
		took := time.Since(began)
		if err == nil && (exit.Code != 0 || exit.Signal != 0) {
			words, _ := io.ReadAll(end.Stderr())
			err = fmt.Errorf("exit %+v %s", exit, words)
		}
		return took, text, errors.Join(err, end.Stdin().Close())
	}
	return &launcher{
		name: name, around: around,
		launch: func(ctx context.Context, program string) (time.Duration, error) {
			took, _, err := start(ctx, spec(), program)
			return took, err
		},
		output: func(ctx context.Context) ([]byte, error) {
			_, text, err := start(ctx, spec(self), self, probeVerb)
			return text, err
		},
	}
}

// runtime is Anthropic's sandbox-runtime in a Node.js process that is set up.
func runtime(ctx context.Context, peers string) (*launcher, func() error) {
	l := &launcher{name: "sandbox-runtime", around: "in one Node.js process: bwrap, seccomp, a proxy; whole host " +
		"read-only"}
	cmd := exec.CommandContext(ctx, "node", "launch.mjs", truth)
	cmd.Dir, cmd.Stderr = peers, os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if l.failed = errors.Join(inErr, outErr); l.failed != nil {
		return l, func() error { return nil }
	}
	if l.failed = cmd.Start(); l.failed != nil {
		return l, func() error { return nil }
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		l.failed = errors.New("it does not start")
	}
	l.launch = func(context.Context, string) (time.Duration, error) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			return 0, err
		}
		if !lines.Scan() {
			return 0, errors.New("it ended")
		}
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		return time.Duration(n), err
	}
	return l, func() error {
		_ = in.Close() // it ends then
		_ = cmd.Wait() // how is told by the row
		return nil
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
