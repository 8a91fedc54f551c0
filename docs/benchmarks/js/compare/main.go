// Command compare sets ringd beside the engines that a harness could use
// instead, in one run: every engine in turn, round after round, so that a
// drifting machine drifts for all of them. It prints Markdown tables of medians
// in milliseconds with the ratio to ringd: what running costs, and what stopping
// at a call and going on costs.
//
//	compare -ringd bin/ringd -peers DIR -qjs BINARY
//
// ringd is measured as a harness uses it: over the daemon's socket, with every
// run and every call decided and recorded on disk. The peers decide and record
// nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// figures are milliseconds by the name of what was measured.
type figures map[string]float64

// engine is one row of the table.
type engine struct {
	name  string
	first []string                                    // a process that ends after its first result
	warm  func(context.Context, int) (figures, error) // one round in one process
	pause func(context.Context, int) (figures, error) // the same, of pauses
}

type column struct{ key, title string }

var columns = []column{
	{"cold", "process to first result"},
	{"start", "fresh start + `1+1`"},
	{"call", "awaited host call"},
	{"fib", "fib(22)"},
	{"loop", "loop of 1e6"},
}

var pauseColumns = []column{
	{"pause", "start to durable pause"},
	{"resume", "answer to value"},
	{"bytes", "kept"},
	{"pauseRows", "pause, 5,000 rows"},
	{"resumeRows", "resume, 5,000 rows"},
	{"bytesRows", "kept, 5,000 rows"},
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	bin := fs.String("ringd", "", "the ringd binary")
	peers := fs.String("peers", "", "folder of peer.mjs with its node_modules")
	qjs := fs.String("qjs", "", "the fastschema/qjs binary")
	rounds := fs.Int("rounds", 5, "rounds of every engine")
	runs := fs.Int("runs", 40, "fresh starts in one round")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *bin == "" || *peers == "" || *qjs == "" || *rounds < 1 || *runs < 1 {
		return errors.New("-ringd, -peers and -qjs are needed, -rounds and -runs at least 1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	own, err := startRingd(ctx, *bin)
	if err != nil {
		return err
	}
	defer own.stop()

	engines := []engine{{name: "ringd (daemon)", first: own.first, warm: own.warm}}
	for _, name := range []string{"quickjs-wasi", "quickjs-emscripten", "langchain-quickjs", "vercel-run"} {
		argv := []string{"node", *peers + "/peer.mjs", name}
		engines = append(engines, process(name, argv))
	}
	engines = append(engines, process("fastschema-qjs", []string{*qjs}))

	samples := make(map[string]map[string][]float64)
	for range *rounds {
		for _, e := range engines {
			if err := e.round(ctx, *runs, samples); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	if err := table(out, engines, samples, columns); err != nil {
		return err
	}

	stopping := []engine{{name: "ringd (daemon)", pause: own.pauses}}
	for _, name := range []string{"quickjs-wasi", "vercel-run", "monty"} {
		stopping = append(stopping,
			engine{name: name, pause: peer([]string{"node", *peers + "/peer.mjs", name}, "pause")})
	}
	for range *rounds {
		for _, e := range stopping {
			f, err := e.pause(ctx, *runs)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			add(samples, e.name, f)
		}
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return table(out, stopping, samples, pauseColumns)
}

// process is an engine that runs `argv first` and `argv warm RUNS`.
func process(name string, argv []string) engine {
	return engine{name: name, first: append(slices.Clone(argv), "first"), warm: peer(argv, "warm")}
}

// peer runs `argv mode RUNS` and reads the figures that it prints.
func peer(argv []string, mode string) func(context.Context, int) (figures, error) {
	return func(ctx context.Context, runs int) (figures, error) {
		args := append(slices.Clone(argv[1:]), mode, fmt.Sprint(runs))
		out, err := exec.CommandContext(ctx, argv[0], args...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", mode, explain(err))
		}
		var all map[string]any
		if err := json.Unmarshal(out, &all); err != nil {
			return nil, fmt.Errorf("read its figures: %w", err)
		}
		f := figures{}
		for k, v := range all {
			if n, ok := v.(float64); ok {
				f[k] = n
			}
		}
		return f, nil
	}
}

// round adds one sample of every figure of e.
func (e engine) round(ctx context.Context, runs int, samples map[string]map[string][]float64) error {
	f, err := e.warm(ctx, runs)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := exec.CommandContext(ctx, e.first[0], e.first[1:]...).Run(); err != nil {
		return fmt.Errorf("first: %w", explain(err))
	}
	f["cold"] = millis(time.Since(begin))
	add(samples, e.name, f)
	return nil
}

func add(samples map[string]map[string][]float64, name string, f figures) {
	if samples[name] == nil {
		samples[name] = map[string][]float64{}
	}
	for k, v := range f {
		samples[name][k] = append(samples[name][k], v)
	}
}

func table(out io.Writer, engines []engine, samples map[string]map[string][]float64, columns []column) error {
	var b strings.Builder
	b.WriteString("| engine |")
	rule := "|---|"
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
		rule += "---|"
	}
	b.WriteString("\n" + rule + "\n")
	for i, e := range engines {
		b.WriteString("| " + e.name + " |")
		for _, c := range columns {
			own, got := median(samples[engines[0].name][c.key]), median(samples[e.name][c.key])
			text := fmt.Sprintf("%.3g ms", got)
			if strings.HasPrefix(c.key, "bytes") {
				text = fmt.Sprintf("%.1f KB", got/1000)
			}
			if i > 0 {
				text += fmt.Sprintf(" (%.2gx)", got/own)
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[len(s)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// explain adds what a process said on stderr.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
