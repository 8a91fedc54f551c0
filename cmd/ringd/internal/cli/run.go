package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Stream writes what a program wrote to a standard stream, unchanged. For a terminal it replaces control
// characters.
func (p Page) Stream(e wire.ConsoleEntry) {
	text := e.Text
	if p.Terminal {
		text = Block(text)
	}
	_, _ = io.WriteString(safetext.Bytes(p.W), text) // a reader that closes the stream does not end the run
}

// Console prints one console line of a program.
func (p Page) Console(e wire.ConsoleEntry) {
	text := Block(e.Text) // may have several lines
	switch e.Level {
	case "error":
		text = p.style(safetext.Red, text)
	case "warn":
		text = p.style(safetext.Yellow, text)
	case "debug":
		text = p.style(safetext.Dim, text)
	}
	fmt.Fprintln(p.W, text)
}

// Denial formats a denial, with its rule and what is allowed instead.
func Denial(d *profiles.Denial) string {
	s := Clean(fmt.Sprintf("%s: %s: %s", d.Decision.Code, d.Capability, d.Decision.Reason))
	if r := d.Decision.Rule; r != nil && r.File != "" {
		s += Clean(fmt.Sprintf(" (%s:%d:%d)", r.File, r.Line, r.Column))
	}
	if len(d.Decision.Instead) > 0 {
		s += "\n    hint: " + Clean(strings.Join(d.Decision.Instead, "; "))
	}
	return s
}

// UnavailableText formats a denial because this host lacks something, in lines of 80 columns after the prefix
// "ringd: ".
func UnavailableText(d *profiles.Denial) string {
	first, hint, _ := strings.Cut(Denial(d), "\n    hint: ")
	lines := fold(first, width-len("ringd: "))
	lines = append(lines[:1:1], fold(strings.Join(lines[1:], " "), width-4)...)
	if hint != "" {
		lines = append(lines, foldCommands("hint: "+hint, width-4)...)
	}
	return strings.Join(lines, "\n    ")
}

// RefusalText formats a refusal of a daemon in the same way.
func RefusalText(text string) string {
	lines := fold(Block(text), width-len("ringd: "))
	if len(lines) < 2 {
		return strings.Join(lines, "")
	}
	return strings.Join(append(lines[:1:1], foldCommands(strings.Join(lines[1:], " "), width-4)...), "\n    ")
}

// undefined is the encoded value of a program without a last expression.
const undefined = `{"$ringd":"undefined"}`

// Value prints the value of a run. A value that is no JSON is the text of Python's repr; see reprText. A
// script has no value, only its output. The value None of Python is not printed.
func (p Page) Value(run wire.Run) error {
	none := run.Executor == profiles.ExecutorPython && string(run.Value) == "null"
	if run.Executor == profiles.ExecutorShell || len(run.Value) == 0 || string(run.Value) == undefined || none {
		return nil
	}
	text := valueOf(run.Value)
	var shown string
	if run.Repr && json.Unmarshal(run.Value, &shown) == nil {
		text = reprText(shown)
	}
	if _, err := fmt.Fprintln(p.W, text); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// reprText formats a text of repr. If it has several lines, all are indented, so that none looks like a
// record and the columns of a table stay aligned.
func reprText(text string) string {
	text = strings.TrimRight(text, "\n")
	if !strings.Contains(text, "\n") {
		return Block(text)
	}
	const indent = "    "
	return indent + Indented(text, indent)
}

// valueOf formats a value as one line of JSON, with invisible characters escaped.
func valueOf(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return Clean(string(value))
	}
	return escapeJSON(b.String())
}

// Run prints how a run ended: its open calls, errors and denials.
func (p Page) Run(run wire.Run) {
	for _, c := range run.Pending {
		fmt.Fprintf(p.W, "run %s waits for %s: call %s of %s%s\n", ShortID(run.ID), Clean(c.For), Clean(c.ID),
			Visible(c.Bridge), ruleSuffix(c.Rule))
		p.printRuleOfTwo(c)
	}
	if run.Queued > 0 {
		fmt.Fprintf(p.W, "run %s has more calls that wait for their turn: %d\n", ShortID(run.ID), run.Queued)
	}
	if t := run.RuleOfTwo; t != nil && len(t.Touched) == 3 {
		fmt.Fprintln(p.W, strings.Join(foldCommands("touched: "+powersText(t), width-4), "\n    "))
	}
	if run.Dropped > 0 {
		what := "console"
		if run.Executor != profiles.ExecutorJS {
			what = "output"
		}
		fmt.Fprintf(p.W, "%s: %d bytes over the limit were dropped\n", what, run.Dropped)
	}
	if run.SessionError != "" {
		text := fmt.Sprintf("session %s is not kept: %s", Visible(run.Session), Block(run.SessionError))
		fmt.Fprintln(p.W, strings.Join(foldCommands(text, width-4), "\n    "))
	}
	if e := run.Error; run.State == string(executors.StateDenied) && run.ExitCode != 0 && run.Stderr != "" &&
		e != nil && e.Name == "CapabilityDenied" {
		return // the denial of a script is on its stderr; a run without a guest wrote none
	}
	// The stderr of a program has its traceback.
	traced := func(e *wire.RunError) bool {
		return run.Executor == profiles.ExecutorPython && run.ExitCode != 0 &&
			strings.Contains(run.Stderr, e.Name+": "+e.Message)
	}
	// A run that did not begin has no place, and its denial is printed below.
	refused := func(e *wire.RunError) bool {
		return len(e.Frames) == 0 && e.Message != "" && slices.ContainsFunc(
			run.Denials, func(d profiles.Decision) bool {
				return d.Text == "" && (e.Message == d.Reason || e.Message == string(d.Code)+": "+d.Reason)
			})
	}
	if e := run.Error; e != nil && !traced(e) && !refused(e) {
		fmt.Fprintf(p.W, "%s:%s\n", p.style(safetext.Red, Clean(e.Name)),
			p.indentAfter(displayWidth(Clean(e.Name))+1, e.Message))
		for _, f := range e.Frames {
			fmt.Fprintf(p.W, "    at %s\n", Clean(frame(f)))
		}
	}
	for _, d := range run.Denials {
		if d.Text != "" { // as the author of the script reads it
			fmt.Fprintln(p.W, Lines(d.Text)+timesText(d.Count))
			continue
		}
		fmt.Fprintln(p.W, strings.Join(foldCommands("refused: "+decision(d), width-4), "\n    "))
		for i, l := range foldCommands(Block(strings.Join(d.Instead, "; ")), width-len("    hint: ")) {
			fmt.Fprintf(p.W, "    %-6s%s\n", map[bool]string{true: "hint:"}[i == 0], l)
		}
	}
	if run.DenialsMore > 0 {
		fmt.Fprintf(p.W, "refused: and %s\n", moreDenials(run))
	}
}

// moreDenials returns how many denials the outcome does not list.
func moreDenials(run wire.Run) string {
	return fmt.Sprintf("%d more, in addition to the %d kinds above", run.DenialsMore, len(run.Denials))
}

// timesText formats how often a denial happened. It is empty for one.
func timesText(n int64) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}

// Held prints that a call holds a program, and how to continue. place has the flags of the commands, with a
// leading space.
func (p Page) Held(run wire.Run, c wire.Pending, place string, now time.Time) {
	who := "its harness"
	if c.For == "approver" {
		who = "an approver"
	}
	fmt.Fprintf(p.W, "run %s is held: call %s of %s waits for %s%s\n", ShortID(run.ID), Clean(c.ID), Visible(c.Bridge),
		who, ruleSuffix(c.Rule))
	p.printRuleOfTwo(c)
	if c.For == "approver" && c.Expires != nil {
		fmt.Fprintf(p.W, "    hint: ringd approve %s %s%s, or ringd deny, within %s\n", ShortID(run.ID), Clean(c.ID),
			Clean(place), c.Expires.Sub(now).Round(time.Second))
	}
}

// printRuleOfTwo prints why the rule of two asks about a call.
func (p Page) printRuleOfTwo(c wire.Pending) {
	if c.Because != "" {
		fmt.Fprintln(p.W, "    "+strings.Join(foldCommands("because: "+Block(c.Because), width-4), "\n    "))
	}
}

// powersText formats the powers that a run has used, and their causes.
func powersText(t *wire.RuleOfTwo) string {
	var out []string
	for _, power := range t.Touched {
		if by := t.By[power]; len(by) > 0 {
			power += " by " + strings.Join(by, ", ")
		}
		out = append(out, Clean(power))
	}
	return strings.Join(out, "; ")
}

// ruleSuffix formats the place of a rule.
func ruleSuffix(r *profiles.Rule) string {
	if r == nil || r.File == "" {
		return ""
	}
	return Clean(fmt.Sprintf(" (%s:%d:%d)", r.File, r.Line, r.Column))
}

func frame(f wire.Frame) string {
	at := fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	if f.Function == "" {
		return at
	}
	return f.Function + " (" + at + ")"
}

func decision(d profiles.Decision) string {
	s := Clean(fmt.Sprintf("%s: %s", d.Code, d.Reason))
	if d.Rule != nil && d.Rule.File != "" {
		s += Clean(fmt.Sprintf(" (%s:%d)", d.Rule.File, d.Rule.Line))
	}
	return s + timesText(d.Count)
}

// Report prints which program ran, under which policy, and its use of each limit. set is nil if the daemon
// has the policy.
func (p Page) Report(run wire.Run, set *profiles.Set) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(p.W, "%-9s %s\n", what, Clean(fmt.Sprintf(format, args...)))
	}
	var agent profiles.Agent
	if set != nil {
		agent, _ = set.Agent(run.Agent)
	}
	line("run", "%s: %s", run.ID, run.State)
	line("policy", "%s, generation %d", Short(run.Attestation.Revision), run.Attestation.Generation)
	line("guest", "%s", tierOf(run.Attestation))
	for _, s := range attestedLines(run.Attestation) {
		line("", "%s", s)
	}
	u := run.Usage
	cpu, memory, wall := "", "", ""
	if l := limitsOf(agent, run.Executor); l != nil {
		cpu, memory, wall = ofMillis(l.CPUMillis), ofBytes(l.MemoryBytes), ofMillis(l.WallMillis)
	}
	line("cpu", "%s%s", renderSpan(u.CPUMillis), cpu)
	line("memory", "%s%s", size(u.PeakBytes), memory)
	line("wall", "%s%s, of it %s waiting for answers", renderSpan(u.WallMillis), wall, renderSpan(u.HostWaitMillis))
	for _, name := range keys(u.Calls) {
		most := ""
		if b, ok := agent.Bridges[name]; ok {
			most = fmt.Sprintf(" of %d", b.Limits.CallsPerRun)
		}
		line("calls", "%s: %d%s", name, u.Calls[name], most)
	}
	if t := run.RuleOfTwo; t != nil && len(t.Touched) > 0 {
		for i, l := range fold(powersText(t), reportWidth) {
			line(map[bool]string{true: "touched"}[i == 0], "%s", l)
		}
	}
	for _, d := range run.Denials {
		line("refused", "%s", decision(d))
	}
	if run.DenialsMore > 0 {
		line("refused", "and %s", moreDenials(run))
	}
}

// limitsOf returns the limits of an executor, or nil if it is not granted.
func limitsOf(a profiles.Agent, executor string) *profiles.Limits {
	switch {
	case executor == profiles.ExecutorShell && a.Shell != nil:
		return &a.Shell.Limits
	case executor == profiles.ExecutorPython && a.Python != nil:
		return &a.Python.Limits
	case executor == profiles.ExecutorJS && a.JS != nil:
		return &a.JS.Limits
	default:
		return nil
	}
}

func tierOf(a wire.Attestation) string {
	switch {
	case a.Tier == "":
		return "none was started"
	case a.Profile == "":
		return "tier " + a.Tier
	default:
		return "tier " + a.Tier + ", profile " + Short(a.Profile)
	}
}

// attestedLines formats the layers by state, in lines for a narrow terminal.
func attestedLines(a wire.Attestation) []string {
	by := map[string][]string{}
	for _, name := range keys(a.Layers) {
		state, shown := a.Layers[name], name
		if name == "landlock" && a.LandlockABI > 0 {
			shown = fmt.Sprintf("landlock(%d)", a.LandlockABI)
		}
		by[state] = append(by[state], shown)
	}
	var out []string
	for _, state := range keys(by) {
		out = append(out, fold(state+": "+strings.Join(by[state], " "), reportWidth)...)
	}
	return out
}

// reportWidth is the width of the text after a name, in 80 columns.
const reportWidth = 70

func ofMillis(v *int64) string {
	if v == nil {
		return ""
	}
	return " of " + renderSpan(float64(*v))
}

func ofBytes(v *int64) string {
	if v == nil {
		return ""
	}
	return " of " + size(*v)
}

func renderSpan(millis float64) string {
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

func Short(revision string) string {
	const n = len("sha256:") + 12
	if len(revision) > n {
		revision = revision[:n]
	}
	return Clean(revision)
}

// RefusedRun returns the outcome of a run that did not begin.
func RefusedRun(agent, executor string, d *profiles.Denial) wire.Run {
	return wire.Run{
		State: string(executors.StateDenied), Agent: agent, Executor: executor,
		Console: []wire.ConsoleEntry{}, Denials: []profiles.Decision{d.Decision},
		Error: &wire.RunError{Name: "Denied", Message: string(d.Decision.Code) + ": " + d.Decision.Reason},
		Usage: wire.Usage{Calls: map[string]int64{}}, Attestation: wire.Attestation{Layers: map[string]string{}},
	}
}
