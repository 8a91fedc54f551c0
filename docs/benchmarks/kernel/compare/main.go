//go:build linux

// Command compare sets guests of the kernel ring beside the launchers that a
// harness could use instead, in one run and one process: every launcher in turn,
// round after round, so that a drifting machine drifts for all of them. It prints
// Markdown tables of medians with the ratio to a plain start.
//
//	compare [-rounds 100] [-peers DIR]
//
// Each launch runs /usr/bin/true to its end. What surrounds it differs, and the
// table says how.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == probeVerb {
		if err := probe(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "probe:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	rounds := f.Int("rounds", 100, "launches of each")
	probes := f.Int("probes", 5, "rounds of system calls")
	peers := f.String("peers", "", "folder of the peers from npm; \"\": without them")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Fprintf(out, "As uid %d, %d rounds.\n\n", os.Getuid(), *rounds)
	all, closeAll, err := launchers(ctx, *peers)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	table(out, all, *rounds, func(l *launcher) (time.Duration, error) { return l.launch(ctx, truth) })
	return calls(ctx, out, all, *probes)
}

// table measures every launcher in turn and prints a row for each.
func table(out io.Writer, all []*launcher, rounds int, launch func(*launcher) (time.Duration, error)) {
	took := map[string][]time.Duration{}
	for round := range rounds + 2 {
		for _, l := range all {
			if l.failed != nil || l.every > 0 && round%l.every != 0 {
				continue
			}
			<-time.After(rest)
			// Nobody pays for a processor that has slept.
			if _, err := launch(all[0]); err != nil {
				all[0].failed = err
				break
			}
			d, err := launch(l)
			switch {
			case err != nil:
				l.failed = err
			case round > 1: // the first two warm caches
				took[l.name] = append(took[l.name], d)
			}
		}
	}
	fmt.Fprintln(out, "| start to end of `/usr/bin/true` | median | p90 | over plain | what is around it |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	plain := median(took[all[0].name])
	for _, l := range all {
		if l.failed != nil {
			fmt.Fprintf(out, "| %s | does not run here | | | %s |\n", l.name, firstLine(l.failed.Error()))
			continue
		}
		d := took[l.name]
		slices.Sort(d)
		if len(d) == 0 {
			continue
		}
		fmt.Fprintf(out, "| %s | %.2f ms | %.2f ms | %.1fx | %s |\n", l.name, ms(median(d)), ms(d[len(d)*9/10]),
			float64(median(d))/float64(plain), l.around)
	}
}

// calls measures system calls inside what can run the probe.
func calls(ctx context.Context, out io.Writer, all []*launcher, rounds int) error {
	took := map[string]map[string][]time.Duration{}
	for range rounds {
		for _, l := range all {
			if l.output == nil || l.failed != nil {
				continue
			}
			text, err := l.output(ctx)
			if err != nil {
				return fmt.Errorf("%s: system calls: %w", l.name, err)
			}
			var one map[string]time.Duration
			if err := json.Unmarshal(text, &one); err != nil {
				return fmt.Errorf("%s: system calls: %w: %q", l.name, err, text)
			}
			if took[l.name] == nil {
				took[l.name] = map[string][]time.Duration{}
			}
			for call, d := range one {
				took[l.name][call] = append(took[l.name][call], d)
			}
		}
	}
	fmt.Fprintln(out, "\n| a system call inside | getppid | open and close | fork, exec and wait |")
	fmt.Fprintln(out, "|---|---|---|---|")
	plain := took[all[0].name]
	for _, l := range all {
		own := took[l.name]
		if own == nil {
			continue
		}
		fmt.Fprintf(out, "| %s |", l.name)
		for _, c := range []string{callParent, callOpen, callStart} {
			d, over := median(own[c]), median(own[c])-median(plain[c])
			if l == all[0] {
				fmt.Fprintf(out, " %s |", short(d))
				continue
			}
			fmt.Fprintf(out, " %s (%s%s) |", short(d), map[bool]string{true: "+"}[over >= 0], short(over))
		}
		fmt.Fprintln(out)
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func short(d time.Duration) string {
	switch a := max(d, -d); {
	case a < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case a < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond))
	default:
		return fmt.Sprintf("%.1f ms", ms(d))
	}
}
