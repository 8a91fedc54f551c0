package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Broken is a module that an agent's policy allows but that cannot be imported under it.
type Broken struct {
	Module string // as the policy lists it
	Needs  string // the module that was missing; empty if it was another failure
	Reason string // in Python's words
	// Denied is the decision about Needs. It is nil if the policy is not the cause.
	Denied *profiles.Decision
}

// String describes it in a sentence, with the rule.
func (b Broken) String() string {
	if b.Denied == nil {
		return fmt.Sprintf("%s cannot be imported: %s", b.Module, b.Reason)
	}
	at := ""
	if r := b.Denied.Rule; r != nil {
		at = fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	}
	return fmt.Sprintf("%s cannot be imported, because it needs %s: %s%s", b.Module, b.Needs, b.Denied.Reason, at)
}

// Probe imports modules under the profile of an agent, in one guest without the files of the agent and without
// network. It lists the modules that fail. cfg is the Config of an executor; nothing of it is kept. An error
// means that the host cannot run programs, or that the guest ended because of the imports.
func Probe(ctx context.Context, cfg Config, a *profiles.Agent, modules []string) (out []Broken, err error) {
	if len(modules) == 0 || a == nil || a.Python == nil {
		return nil, nil
	}
	cfg.Blank, cfg.Sessions, cfg.Notice = 0, 0, nil
	e, err := New(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	// Without an agent: the set of this profile is not in force yet.
	nobody := &profiles.Agent{MinTier: a.MinTier, Limits: a.Limits, Python: a.Python}
	o, err := e.Run(ctx, executors.Run{
		ID: "probe", Agent: nobody, Limits: probeLimits(),
		Program: executors.Program{Name: "probe.py", Language: profiles.ExecutorPython, Source: probing(modules)},
	}, deaf{})
	if err != nil {
		return nil, fmt.Errorf("probe imports: %w", err)
	}
	var said map[string][3]string
	if o.State != executors.StateDone || json.Unmarshal(o.Value, &said) != nil {
		why := string(o.State)
		if o.Error != nil {
			why = o.Error.Name + ": " + o.Error.Message
		}
		return nil, fmt.Errorf("probe imports: importing %s ended the guest: %s", strings.Join(modules, ", "), why)
	}
	decider := profiles.NewDecider(*a, "", profiles.Environment{Now: cfg.Now()})
	for _, m := range modules {
		if s, failed := said[m]; failed {
			out = append(out, brokenBy(a.Python.Imports, decider, m, s))
		}
	}
	return out, nil
}

// brokenBy finds the cause of a failure. The text of the guest is not trusted, so the policy is asked about the
// name.
func brokenBy(im profiles.Imports, d *profiles.Decider, module string, said [3]string) Broken {
	b := Broken{Module: module, Reason: strings.Join(strings.Fields(said[0]+": "+said[2]), " ")}
	if r := []rune(b.Reason); len(r) > maxReason {
		b.Reason = string(r[:maxReason]) + "…"
	}
	if said[0] != "ImportError" && said[0] != "ModuleNotFoundError" {
		return b
	}
	b.Needs = said[1]
	for _, origin := range []string{profiles.OriginLibrary, profiles.OriginAgent} {
		if b.Needs == "" || origin == profiles.OriginAgent && b.Needs != module {
			continue // a program may be denied what a library may load
		}
		if dec := d.ImportFor(profiles.ExecutorPython, b.Needs, origin); dec.Verdict != profiles.Allow {
			b.Denied = &dec
			return b
		}
	}
	// Some packages catch the denial and raise an error of their own, with its text.
	for _, r := range slices.Concat(im.Deny, im.Process) {
		if !strings.Contains(said[2], `import of "`+r.Name+`"`) &&
			!strings.Contains(said[2], `import of "`+r.Name+`.`) {
			continue
		}
		if dec := d.ImportFor(profiles.ExecutorPython, r.Name, profiles.OriginLibrary); dec.Verdict != profiles.Allow {
			b.Needs, b.Denied = r.Name, &dec
			return b
		}
	}
	return b
}

// maxReason limits an error's text, in characters.
const maxReason = 400

// probing is a program that imports modules one by one, with plain statements only.
func probing(modules []string) string {
	var b strings.Builder
	b.WriteString("failed = {}\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "try:\n    import %s\nexcept BaseException as e:\n    n = e.name if e.__class__.__name__ in "+
			"('ImportError', 'ModuleNotFoundError') else ''\n"+
			"    failed[%q] = [e.__class__.__name__, n or '', '%%s' %% (e,)]\n", m, m)
	}
	b.WriteString("failed\n")
	return b.String()
}

// probeLimits are those of a program with large imports.
func probeLimits() profiles.Limits {
	n := func(v int64) *int64 { return &v }
	return profiles.Limits{
		CPUMillis: n(60_000), WallMillis: n(120_000), MemoryBytes: n(1 << 30), OutputBytes: n(1 << 20),
		ResultBytes: n(1 << 20),
		StackBytes:  n(8 << 20), Processes: n(16), Files: n(256), RefusedCalls: n(1), PauseMillis: n(1),
	}
}

// deaf answers nothing.
type deaf struct{}

func (deaf) Ask(context.Context, executors.Question) (executors.Answer, error) {
	return executors.Answer{
		Error: &executors.GuestError{Name: profiles.ErrorCapabilityDenied, Message: "a probe has no bridges"},
	}, nil
}
func (deaf) Console(executors.ConsoleEntry) {}
func (deaf) Idle([]string)                  {}
