// Command compare sets ringd's decision of scripts beside other command filters on
// one corpus: what of its attacks each accepts, what of its benign scripts each
// does not allow, and how long a decision takes. It prints a Markdown table.
//
// An answer of "ask a person" is neither: no attack was accepted, and no benign
// script allowed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	ringd := flag.String("ringd", "", "the binary")
	peers := flag.String("peers", "", "folder of peer.mjs; without it ringd alone")
	corpus := flag.String("corpus", "", "JSON lines, as testdata/shell.jsonl")
	flag.Parse()
	if err := run(context.Background(), *ringd, *peers, *corpus); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// row is a line of the corpus.
type row struct {
	ID       string   `json:"id"`
	Binaries []string `json:"allowed_binaries"`
	Patterns []string `json:"denied_patterns"`
	Script   string   `json:"script"`
	Expect   string   `json:"expect"`
	Arguable bool     `json:"arguable"`
}

// answer is what a filter says of a row.
type answer struct {
	ID      string  `json:"id"`
	Verdict string  `json:"verdict"`
	Micros  float64 `json:"us"`
}

func run(ctx context.Context, ringd, peers, corpus string) error {
	rows, err := read(corpus)
	if err != nil {
		return err
	}
	fmt.Printf("%d rows of %s, arguable ones left out\n\n", len(rows), filepath.Base(corpus))
	fmt.Println("| filter | attacks accepted | benign not allowed | a decision, p50 | p99 |")
	fmt.Println("|---|---|---|---|---|")
	own, err := decide(ctx, ringd, rows)
	if err != nil {
		return err
	}
	table("ringd decide, through its pipe", rows, own)
	if peers == "" {
		return nil
	}
	for _, p := range []struct{ name, arg string }{
		{"Gemini CLI 0.61.0, PolicyEngine in process", "gemini"},
		{"Codex 0.169.0, `execpolicy check`, a process each", "codex"},
	} {
		out, err := exec.CommandContext(ctx, "node", filepath.Join(peers, "peer.mjs"), p.arg, corpus).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		answers, err := lines[answer](out)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		table(p.name, rows, answers)
	}
	return nil
}

func read(corpus string) ([]row, error) {
	text, err := os.ReadFile(corpus)
	if err != nil {
		return nil, err
	}
	rows, err := lines[row](text)
	return slices.DeleteFunc(rows, func(r row) bool { return r.Arguable }), err
}

func lines[T any](text []byte) (out []T, err error) {
	for line := range bytes.Lines(bytes.TrimSpace(text)) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// table prints one row of the table.
func table(name string, rows []row, answers []answer) {
	by := map[string]answer{}
	for _, a := range answers {
		by[a.ID] = a
	}
	var attacks, accepted, benign, refused int
	var took []float64
	for _, r := range rows {
		a, ok := by[r.ID]
		if !ok {
			a.Verdict = "deny"
		} else {
			took = append(took, a.Micros)
		}
		if r.Expect == "deny" {
			attacks++
			if a.Verdict == "allow" {
				accepted++
			}
			continue
		}
		benign++
		if a.Verdict != "allow" {
			refused++
		}
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[min(int(q*float64(len(took))), len(took)-1)] }
	fmt.Printf("| %s | %d of %d | %d of %d | %.2f ms | %.2f ms |\n", name, accepted, attacks, refused, benign,
		at(0.5)/1e3, at(0.99)/1e3)
}

// decide sends the rows to `ringd decide`, one policy after the other, and measures the time from sending a line
// to reading its answer. The time includes two pipes, to ringd and back.
func decide(ctx context.Context, ringd string, rows []row) (out []answer, err error) {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	groups := map[string][]row{}
	for _, r := range rows {
		policy, err := json.Marshal(
			map[string]any{"interpreter_ring": map[string]any{
				"allowed_binaries": r.Binaries, "denied_patterns": r.Patterns}})
		if err != nil {
			return nil, err
		}
		groups[string(policy)] = append(groups[string(policy)], r)
	}
	for policy, group := range groups {
		file := filepath.Join(dir, "policy.json")
		if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
			return nil, err
		}
		answers, err := ask(ctx, exec.CommandContext(ctx, ringd, "decide", "-p", file), group)
		if err != nil {
			return nil, err
		}
		out = append(out, answers...)
	}
	return out, nil
}

func ask(ctx context.Context, cmd *exec.Cmd, group []row) ([]answer, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = io.Discard // findings about programs that a corpus lists
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewReader(pipe)
	var out []answer
	for i := range len(group) + 1 {
		r := group[max(i-1, 0)] // the first is asked twice: a reader has to start
		line, err := json.Marshal(map[string]any{"shell": map[string]any{"script": r.Script, "cwd": "/workspace"}})
		if err != nil {
			return nil, err
		}
		from := time.Now()
		if _, err := in.Write(append(line, '\n')); err != nil {
			return nil, err
		}
		text, err := said.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.ID, err)
		}
		took := time.Since(from)
		var got struct{ Verdict string }
		if err := json.Unmarshal(text, &got); err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, answer{ID: r.ID, Verdict: got.Verdict, Micros: float64(took.Nanoseconds()) / 1e3})
		}
	}
	if err := in.Close(); err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) { // 1: something was denied
		return nil, err
	}
	return out, ctx.Err()
}
