package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/compiler/policytest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/schema"
)

// report is the result of a test run. --json prints it.
type report struct {
	Revision string             `json:"revision,omitempty"` // of the policy; empty if it is refused
	Findings schema.Diagnostics `json:"findings"`
	Files    []*fileReport      `json:"files"`
	Coverage coverage           `json:"coverage"`
	Summary  summary            `json:"summary"`

	policy cli.Policy
}

// fileReport is one file of tests.
type fileReport struct {
	File     string       `json:"file"` // as the user would type it
	Cases    []caseReport `json:"cases"`
	Tests    []regoReport `json:"tests,omitempty"`    // of a Rego file, which has no cases
	Coverage *thresholds  `json:"coverage,omitempty"` // nil if the file requires none
}

// caseReport is one case, decided for one agent.
type caseReport struct {
	Name     string            `json:"name"`
	Agent    string            `json:"agent"`
	Passed   bool              `json:"passed"`
	Line     int               `json:"line"`
	Expect   profiles.Verdict  `json:"expect"`
	Got      profiles.Decision `json:"got"`
	GotRule  string            `json:"gotRule,omitempty"` // in the form of a case
	Problems []string          `json:"problems,omitempty"`

	action profiles.Action
}

// coverage has the rules that decided a case, and the others.
type coverage struct {
	Rules     policytest.Share  `json:"rules"`
	Denies    policytest.Share  `json:"denies"`
	Uncovered []policytest.Line `json:"uncovered"`
}

// thresholds are the shares that a file requires, and those of its agents.
type thresholds struct {
	WantRules  int               `json:"wantRules"`
	WantDenies int               `json:"wantDenies"`
	Rules      policytest.Share  `json:"rules"`
	Denies     policytest.Share  `json:"denies"`
	Met        bool              `json:"met"`
	Uncovered  []policytest.Line `json:"uncovered"`
}

type summary struct {
	Passed  int  `json:"passed"`
	Failed  int  `json:"failed"`
	Skipped int  `json:"skipped"` // left out by --run
	Covered bool `json:"covered"` // every file has its required shares
}

// testRun is the state of one run.
type testRun struct {
	TestConfig
	q        testFlags
	sets     map[time.Time]*profiles.Set // by the time of the compilation
	now      time.Time                   // time of cases whose file names none
	report   *report
	coverage map[string]*policytest.Coverage // by agent
	schemas  jsonvalue.Known
}

// run compiles a policy, runs the tests of its guardrails and decides its cases.
func (c TestConfig) run(ctx context.Context, q testFlags, policy cli.Policy, tests []schema.Source) (*report, error) {
	r := &report{Findings: schema.Diagnostics{}, Files: []*fileReport{}, policy: policy}
	r.Coverage.Uncovered = []policytest.Line{}
	var files []policytest.File
	var rego []schema.Source
	var unread schema.Diagnostics // findings about test files
	for _, src := range tests {
		if strings.HasSuffix(src.Name, ".rego") {
			rego = append(rego, src)
			continue
		}
		f, found := policytest.Decode(src)
		unread = append(unread, policy.Place(found)...)
		if !found.Refused() {
			files = append(files, f)
		}
	}
	t := &testRun{TestConfig: c, q: q, now: c.Now().Round(0).UTC(), report: r, sets: map[time.Time]*profiles.Set{},
		coverage: map[string]*policytest.Coverage{}, schemas: jsonvalue.Known{}}
	if err := t.compile(ctx, policy, files); err != nil {
		return nil, err
	}
	r.Findings = append(r.Findings, unread...)
	if r.Findings.Refused() {
		return r, nil
	}
	targets := make([][]string, len(files))
	for i := range files {
		of, found := files[i].Targets(t.sets[t.caseTime(&files[i])])
		targets[i] = of
		r.Findings = append(r.Findings, policy.Place(found)...)
	}
	guardrails, err := t.runRego(ctx, rego)
	if err != nil || r.Findings.Refused() {
		return r, err
	}
	for _, set := range t.sets {
		r.Revision = set.Revision // the same for every time
		for name, a := range set.Agents {
			t.coverage[name] = policytest.NewCoverage(a)
		}
	}
	for i := range files {
		if err := t.file(ctx, &files[i], targets[i]); err != nil {
			return nil, err
		}
	}
	t.sumCoverage(files, targets)
	t.reportRego(guardrails)
	return r, nil
}

// caseTime returns the time at which the cases of a file are decided.
func (t *testRun) caseTime(f *policytest.File) time.Time {
	if f.Now.IsZero() {
		return t.now
	}
	return f.Now.UTC()
}

// compile compiles the policy once for each time that a test file names, and for now if a file names none, or
// if there is no file. At a named time, ended exceptions are as in a daemon: they grant nothing and refuse
// nothing, and the cases show the effect. Each finding is reported once.
func (t *testRun) compile(ctx context.Context, policy cli.Policy, files []policytest.File) error {
	type moment struct {
		at   time.Time
		said bool
	}
	var moments []moment
	for i := range files {
		moments = append(moments, moment{t.caseTime(&files[i]), !files[i].Now.IsZero()})
	}
	if len(moments) == 0 {
		moments = []moment{{at: t.now}}
	}
	told := map[string]bool{}
	for _, m := range moments {
		if _, ok := t.sets[m.at]; ok {
			continue
		}
		set, found, err := t.Compile(ctx, policy, m.at, m.said)
		if err != nil {
			return err
		}
		t.sets[m.at] = set
		for _, d := range found {
			text := d.String()
			if told[text] || m.said && d.Code == layers.CodeExpired && d.Severity == schema.Warning {
				continue
			}
			told[text] = true
			t.report.Findings = append(t.report.Findings, d)
		}
		if set == nil && !found.Refused() {
			return errors.New("compile policy: neither a set nor a finding that refuses it")
		}
	}
	return nil
}

// file decides the cases of one file.
func (t *testRun) file(ctx context.Context, f *policytest.File, targets []string) (err error) {
	out := &fileReport{File: t.report.policy.Shown(f.Name), Cases: []caseReport{}}
	t.report.Files = append(t.report.Files, out)
	cfg := t.Scripts
	cfg.Workspace, cfg.Home = f.Workspace, f.Home
	reader, err := worker.NewScripts(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	calls := worker.NewCalls(t.Calls)
	defer func() { err = errors.Join(err, calls.Close()) }()
	now := t.caseTime(f)
	env := profiles.Environment{Workspace: f.Workspace, Home: f.Home, Now: now,
		Condition: calls.Condition(ctx), Guardrail: calls.Guardrail(ctx), Script: reader.Decide(ctx)}
	deciders := map[string]*profiles.Decider{}
	for i := range f.Cases {
		c := &f.Cases[i]
		for _, agent := range c.Of(targets) {
			if !t.q.only.MatchString(f.Name + "/" + agent + "/" + c.Name) {
				t.report.Summary.Skipped++
				continue
			}
			if deciders[agent] == nil {
				deciders[agent] = t.sets[now].Decider(agent, env)
			}
			a := t.sets[now].Agents[agent]
			one := t.decideCase(deciders[agent], a, agent, c)
			if one.Passed {
				t.markUsed(a, env, c, one.Got)
			}
			out.Cases = append(out.Cases, one)
		}
	}
	return ctx.Err()
}

// markUsed marks the programs and subcommands that a case used.
func (t *testRun) markUsed(a profiles.Agent, env profiles.Environment, c *policytest.Case, got profiles.Decision) {
	if got.Verdict == profiles.Deny || got.Would != nil || c.Action.Exec == nil && c.Action.Shell == nil {
		return
	}
	rules := policytest.Programs(a, func(other profiles.Agent) bool {
		return t.decideAction(profiles.NewDecider(other, "", env), c).Verdict != profiles.Deny
	})
	for _, m := range t.coverage {
		m.Use(rules)
	}
}

// decideCase decides a case for an agent.
func (t *testRun) decideCase(d *profiles.Decider, a profiles.Agent, agent string, c *policytest.Case) caseReport {
	got := t.decideAction(d, c)
	out := caseReport{Name: c.Name, Agent: agent, Line: c.Pos.Line, Expect: c.Expect, Got: got,
		Problems: c.Misses(a, got), action: c.Action}
	if got.Rule != nil {
		out.GotRule = policytest.Named(a, got.Rule)
	}
	out.Passed = len(out.Problems) == 0
	if out.Passed {
		t.report.Summary.Passed++
		// A rule of a layer above several agents counts for all of them.
		for _, m := range t.coverage {
			m.Mark(got)
		}
	} else {
		t.report.Summary.Failed++
	}
	return out
}

// decideAction decides an action. For a bridge call it adds the checks of the ring: the schemas of an argument that
// the case has, and the number of calls of a run.
func (t *testRun) decideAction(d *profiles.Decider, c *policytest.Case) profiles.Decision {
	dec := d.Decide(c.Action)
	b := c.Action.Bridge
	if b == nil || dec.Verdict == profiles.Deny {
		return dec
	}
	grant, ok := d.BridgeGrant(b.Name)
	if !ok {
		return dec
	}
	refuse := func(code profiles.Code, reason string) profiles.Decision {
		return profiles.Decision{Code: code, Reason: reason, Rule: &grant.Rule, Revision: d.Revision()}
	}
	if len(b.Args) > 0 {
		if err := t.schemas.Fit(b.Args, append([]json.RawMessage{grant.Arguments}, grant.Also...)...); err != nil {
			return refuse(profiles.CodeBridgeArguments, fmt.Sprintf(
				"the argument of %s does not match its schema: %v", b.Name, err))
		}
	}
	spent := budget.NewSpend()
	spent.Calls[b.Name] = c.Call - 1
	agents := int64(1)
	if budget.Spawns(grant.Limits) && len(b.Args) > 0 {
		n, err := budget.AgentsOf(b.Args)
		if err != nil {
			return refuse(profiles.CodeBridgeArguments, err.Error())
		}
		agents = n
	}
	if _, over := spent.Admit(b.Name, grant.Limits, agents, 0, budget.NewTree(0)); over != nil {
		return refuse(over.Code, over.Text)
	}
	return dec
}

// sumCoverage computes the coverage and compares it with the required one. A part of the cases says nothing about
// coverage.
func (t *testRun) sumCoverage(files []policytest.File, targets [][]string) {
	r := t.report
	r.Summary.Covered = true
	all := t.coverageOf(slices.Sorted(maps.Keys(t.coverage)))
	r.Coverage = coverage{all.Rules, all.Denies, all.Uncovered}
	for i := range files {
		f := &files[i]
		if f.Rules == 0 && f.Denies == 0 || t.q.run != "" {
			continue
		}
		agents := slices.Clone(targets[i])
		for _, c := range f.Cases {
			agents = append(agents, c.Agents...)
		}
		slices.Sort(agents)
		have := t.coverageOf(slices.Compact(agents))
		have.WantRules, have.WantDenies = f.Rules, f.Denies
		have.Met = have.Rules.Percent() >= f.Rules && have.Denies.Percent() >= f.Denies
		r.Summary.Covered = r.Summary.Covered && have.Met
		r.Files[i].Coverage = &have
	}
}

// coverageOf computes the coverage of some agents. A rule that several have counts once.
func (t *testRun) coverageOf(agents []string) thresholds {
	seen := map[string]policytest.Line{}
	for _, agent := range agents {
		for _, l := range t.coverage[agent].Lines() {
			key := fmt.Sprint(l.Rule)
			if first, ok := seen[key]; ok {
				l.Covered = l.Covered || first.Covered
			}
			seen[key] = l
		}
	}
	out := thresholds{Uncovered: []policytest.Line{}}
	for _, l := range seen {
		out.Rules.Count(l.Covered)
		if l.Denies {
			out.Denies.Count(l.Covered)
		}
		if !l.Covered {
			l.Rule.File = t.report.policy.Shown(l.Rule.File)
			out.Uncovered = append(out.Uncovered, l)
		}
	}
	slices.SortFunc(out.Uncovered, func(a, b policytest.Line) int {
		return cmp.Or(strings.Compare(a.Rule.File, b.Rule.File), cmp.Compare(a.Rule.Line, b.Rule.Line),
			cmp.Compare(a.Rule.Column, b.Rule.Column),
			strings.Compare(a.Rule.Path, b.Rule.Path))
	})
	return out
}
