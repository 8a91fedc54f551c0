package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// clean makes text of a program fit for a terminal: control characters but
// newline and tab are shown, not sent.
func clean(s string) string {
	if !strings.ContainsFunc(s, hostile) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hostile(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hostile runes move the cursor, change the terminal, or turn text around.
func hostile(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	default:
		return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}
}

func (p *program) printConsole(e wire.ConsoleEntry) {
	text := clean(e.Text)
	switch e.Level {
	case "error":
		text = p.style(p.err, red, text)
	case "warn":
		text = p.style(p.err, yellow, text)
	case "debug":
		text = p.style(p.err, dim, text)
	}
	fmt.Fprintln(p.err, text)
}

// notStarted turns a refusal before the program began into an exit. What this
// host cannot give is exit 125: nothing ran.
func (p *program) notStarted(o runOptions, err error) error {
	code := exitRefused
	var denial *profiles.Denial
	var invalid *daemon.InvalidError
	switch {
	case errors.As(err, &denial):
		if unenforceable(denial.Decision.Code) {
			code = exitUnavailable
		}
		if o.asJSON {
			if err := printJSON(p.out, refusedRun(o, denial)); err != nil {
				return err
			}
		}
		return &exit{code, errors.New(describeDenial(denial))}
	case errors.As(err, &invalid):
		code = exitUsage
	case errors.Is(err, daemon.ErrUnavailable):
		code = exitUnavailable
	}
	return &exit{code, err}
}

// unenforceable reports whether a code says that this host or build lacks what
// is asked for, as opposed to a policy that refuses.
func unenforceable(c profiles.Code) bool {
	return c == profiles.CodeExecutorUnavailable || c == profiles.CodeTierUnavailable || c == profiles.CodeRingUnavailable
}

func describeDenial(d *profiles.Denial) string {
	s := clean(fmt.Sprintf("%s: %s: %s", d.Decision.Code, d.Capability, d.Decision.Reason))
	if r := d.Decision.Rule; r != nil && r.File != "" {
		s += fmt.Sprintf(" (%s:%d:%d)", r.File, r.Line, r.Column)
	}
	if len(d.Decision.Instead) > 0 {
		s += "\n    hint: " + clean(strings.Join(d.Decision.Instead, "; "))
	}
	return s
}

// refusedRun is the outcome of a run that did not begin.
func refusedRun(o runOptions, d *profiles.Denial) wire.Run {
	return wire.Run{
		State: string(executors.StateDenied), Agent: o.agent, Executor: o.executor,
		Console: []wire.ConsoleEntry{}, Denials: []profiles.Decision{d.Decision},
		Error: &wire.RunError{Name: "Denied", Message: string(d.Decision.Code) + ": " + d.Decision.Reason},
		Usage: wire.Usage{Calls: map[string]int64{}}, Attestation: wire.Attestation{Layers: map[string]string{}},
	}
}

// finish prints how a run ended and gives the exit.
func (p *program) finish(o runOptions, run wire.Run, set *profiles.Set) error {
	if o.asJSON {
		if err := printJSON(p.out, run); err != nil {
			return err
		}
	} else if err := p.printRun(run); err != nil {
		return err
	}
	if o.report {
		p.report(run, set)
	} else if o.state != "" && !o.asJSON {
		fmt.Fprintf(p.err, "run %s: %s\n", run.ID, run.State)
	}
	switch executors.State(run.State) {
	case executors.StateDone, executors.StatePaused, wire.StateRunning:
		return nil
	default:
		return &exit{exitRefused, nil}
	}
}

// undefined is the tagged value of a program without a last expression.
const undefined = `{"$ringd":"undefined"}`

func (p *program) printRun(run wire.Run) error {
	if len(run.Value) > 0 && string(run.Value) != undefined {
		if _, err := fmt.Fprintf(p.out, "%s\n", run.Value); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	for _, c := range run.Pending {
		fmt.Fprintf(p.err, "run %s waits for %s: call %s of %s\n", run.ID, c.For, c.ID, c.Bridge)
	}
	if run.Dropped > 0 {
		fmt.Fprintf(p.err, "console: %d bytes over the limit were dropped\n", run.Dropped)
	}
	if e := run.Error; e != nil {
		fmt.Fprintf(p.err, "%s: %s\n", p.style(p.err, red, clean(e.Name)), clean(e.Message))
		for _, f := range e.Frames {
			fmt.Fprintf(p.err, "    at %s\n", clean(frame(f)))
		}
	}
	if executors.State(run.State) == executors.StateDenied {
		for _, d := range run.Denials {
			fmt.Fprintf(p.err, "refused: %s\n", describeDecision(d))
		}
	}
	return nil
}

func frame(f wire.Frame) string {
	at := fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	if f.Function == "" {
		return at
	}
	return f.Function + " (" + at + ")"
}

func describeDecision(d profiles.Decision) string {
	s := fmt.Sprintf("%s: %s", d.Code, clean(d.Reason))
	if d.Rule != nil && d.Rule.File != "" {
		s += fmt.Sprintf(" (%s:%d)", d.Rule.File, d.Rule.Line)
	}
	return s
}

// report says what ran, under what, and how much of each limit it took. set is
// nil when the policy is the daemon's.
func (p *program) report(run wire.Run, set *profiles.Set) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(p.err, "%-9s %s\n", what, fmt.Sprintf(format, args...))
	}
	var agent profiles.Agent
	if set != nil {
		agent, _ = set.Agent(run.Agent)
	}
	line("run", "%s: %s", run.ID, run.State)
	line("policy", "%s, generation %d", short(run.Attestation.Revision), run.Attestation.Generation)
	line("guest", "tier %s: %s", run.Attestation.Tier, layersOf(run.Attestation.Layers))
	u := run.Usage
	cpu, memory, wall := "", "", ""
	if agent.JS != nil {
		cpu, memory, wall = ofMillis(agent.JS.Limits.CPUMillis), ofBytes(agent.JS.Limits.MemoryBytes), ofMillis(agent.JS.Limits.WallMillis)
	}
	line("cpu", "%s%s", span(u.CPUMillis), cpu)
	line("memory", "%s%s", size(u.PeakBytes), memory)
	line("wall", "%s%s, of it %s waiting for answers", span(u.WallMillis), wall, span(u.HostWaitMillis))
	for _, name := range sortedKeys(u.Calls) {
		most := ""
		if b, ok := agent.Bridges[name]; ok {
			most = fmt.Sprintf(" of %d", b.Limits.CallsPerRun)
		}
		line("calls", "%s: %d%s", name, u.Calls[name], most)
	}
	for _, d := range run.Denials {
		line("refused", "%s", describeDecision(d))
	}
}

func layersOf(layers map[string]string) string {
	var on, off []string
	for _, name := range sortedKeys(layers) {
		if layers[name] == "enforced" {
			on = append(on, name)
		} else {
			off = append(off, name)
		}
	}
	s := strings.Join(on, " ")
	if len(off) > 0 {
		s += "; not there: " + strings.Join(off, " ")
	}
	return s
}

func ofMillis(v *int64) string {
	if v == nil {
		return ""
	}
	return " of " + span(float64(*v))
}

func ofBytes(v *int64) string {
	if v == nil {
		return ""
	}
	return " of " + size(*v)
}

func span(millis float64) string {
	d := time.Duration(millis * float64(time.Millisecond))
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	default:
		return fmt.Sprintf("%.1f ms", millis)
	}
}

func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v := float64(n)
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 || v == float64(int64(v)) {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

func short(revision string) string {
	const n = len("sha256:") + 12
	if len(revision) > n {
		return revision[:n]
	}
	return revision
}

// ended reports whether a run can go no further.
func ended(state string) bool {
	return !slices.Contains([]string{wire.StateRunning, string(executors.StatePaused)}, state)
}
