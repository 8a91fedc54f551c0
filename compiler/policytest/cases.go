// Package policytest owns the tests next to a policy (*_test.yaml): their form, the action
// of each case, the comparison with the expected decision, and the coverage of rules.
//
// It rejects unknown fields, like package schema, and a case that does not describe
// exactly one action. The command test decides the cases and prints the results.
package policytest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema"
)

//go:embed cases.cue
var definitions string // go:embed needs a variable; it is never written

// Codes of findings about tests, in addition to those of package schema.
const (
	codeAction      = "test-action"      // no action, several, or an invalid one
	codeTarget      = "test-target"      // an unknown policy or agent
	codeUnsupported = "unsupported"      // a field that is not supported yet
	codeUnsaid      = "test-contradicts" // an expectation that no decision can meet
)

// Default folders of the places. They do not depend on the host.
const (
	defaultWorkspace = "/workspace"
	defaultHome      = "/home/agent"
)

// File is one file of tests.
type File struct {
	Name            string   // of the source
	Policy          string   // if empty, Agents applies
	Agents          []string // as written; if empty, those of Policy, or the only one
	Now             time.Time
	Workspace, Home string
	Cases           []Case
	Rules, Denies   int // lowest coverage, in percent; 0: none
	At              schema.Pos
	origins         map[string]schema.Origin
}

// Case is one action with its expected decision.
type Case struct {
	Name      string
	Agents    []string // a subset of the file's agents; empty: all
	Action    profiles.Action
	Call      int64 // for a bridge: the number of the call in the run, from 1
	Expect    profiles.Verdict
	Rule      string // empty: any
	Code      string
	Exception string
	Pos       schema.Pos // of the name
	At        schema.Pos // of the expected decision
}

// The document as written.
type (
	document struct {
		Policy    string    `cue:"policy"`
		Agent     string    `cue:"agent"`
		Agents    []string  `cue:"agents"`
		Now       string    `cue:"now"`
		Workspace string    `cue:"workspace"`
		Home      string    `cue:"home"`
		Cases     []written `cue:"cases"`
		Coverage  *struct {
			Rules  string `cue:"rules"`
			Denies string `cue:"denies"`
		} `cue:"coverage"`
		Exports []byte `cue:"exports"`
	}
	written struct {
		Name   string   `cue:"name"`
		Agents []string `cue:"agents"`
		Python *struct {
			Import string `cue:"import"`
			Origin string `cue:"origin"`
		} `cue:"python"`
		JS *struct {
			Import string `cue:"import"`
		} `cue:"js"`
		Import   []byte `cue:"import"`
		Egress   []byte `cue:"egress"`
		Shell    *shell `cue:"shell"`
		Exec     []byte `cue:"exec"`
		File     []byte `cue:"file"`
		Bridge   *call  `cue:"bridge"`
		Variable []byte `cue:"variable"`

		Expect    string `cue:"expect"`
		Rule      string `cue:"rule"`
		Code      string `cue:"code"`
		Exception string `cue:"exception"`
	}
	shell struct {
		Script string   `cue:"script"`
		Argv   []string `cue:"argv"`
		Cwd    string   `cue:"cwd"`
	}
	call struct {
		Name     string `cue:"name"`
		Args     []byte `cue:"args"`
		Executor string `cue:"executor"`
		Call     int64  `cue:"call"`
	}
)

// Decode reads one file of tests. If a finding is an error, the File is the zero File.
func Decode(src schema.Source) (File, schema.Diagnostics) {
	var d document
	origins, found := schema.Document(src, definitions, "#Tests", &d)
	if found.Refused() {
		return File{}, found
	}
	r := &reading{origins: origins, found: found}
	out := File{Name: src.Name, Policy: d.Policy, Agents: d.Agents, Workspace: d.Workspace, Home: d.Home,
		At: schema.Pos{File: src.Name, Line: 1, Column: 1}, origins: origins}
	if out.Workspace == "" {
		out.Workspace = defaultWorkspace
	}
	if out.Home == "" {
		out.Home = defaultHome
	}
	r.head(&out, &d)
	for i := range d.Cases {
		out.Cases = append(out.Cases, r.readCase(fmt.Sprintf("cases[%d]", i), &d.Cases[i]))
	}
	if r.found = r.found.Sort(); r.found.Refused() {
		return File{}, r.found
	}
	return out, r.found
}

// reading is the state of one [Decode].
type reading struct {
	origins map[string]schema.Origin
	found   schema.Diagnostics
}

func (r *reading) pos(path string) schema.Pos { return r.origins[path].Pos }

func (r *reading) report(path, code, hint, format string, args ...any) {
	r.found = append(r.found, schema.Diagnostic{Pos: r.pos(path), Code: code, Hint: hint, Msg: path + ": " +
		fmt.Sprintf(format, args...)})
}

// head reads the fields outside of the cases.
func (r *reading) head(out *File, d *document) {
	if d.Agent != "" {
		if len(d.Agents) > 0 {
			r.report("agent", codeTarget, "keep one of them", "agent and agents say the same")
		}
		out.Agents = []string{d.Agent}
	}
	if d.Policy != "" && len(out.Agents) > 0 {
		r.report("policy", codeTarget, "keep one of them", "policy and agents both name the agents of the cases")
	}
	if d.Now != "" {
		var err error
		if out.Now, err = moment(d.Now); err != nil {
			r.report("now", schema.CodeSchema, "", "there is no such day")
		}
	}
	if d.Exports != nil {
		r.report("exports", codeUnsupported, "leave it out: cases are decided by ringd alone",
			"this build cannot compare cases with other systems")
	}
	if d.Coverage != nil {
		out.Rules, out.Denies = percent(d.Coverage.Rules), percent(d.Coverage.Denies)
	}
}

// moment parses a date, or a date with a time.
func moment(text string) (time.Time, error) {
	if strings.Contains(text, "T") {
		return time.Parse(time.RFC3339, text)
	}
	return time.Parse(time.DateOnly, text)
}

// percent parses "100%". An empty text is 0. The form is already checked.
func percent(text string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(text, "%"))
	return n
}

// readCase reads a case.
func (r *reading) readCase(path string, w *written) Case {
	c := Case{Name: w.Name, Agents: w.Agents, Rule: w.Rule, Code: w.Code, Exception: w.Exception,
		Pos: r.pos(path + ".name"), At: r.pos(path + ".expect"), Call: 1}
	if err := c.Expect.UnmarshalText([]byte(w.Expect)); err != nil { // the definition has checked it
		r.report(path+".expect", schema.CodeEnum, "", "%v", err)
	}
	if w.Exception != "" && c.Expect != profiles.Allow {
		r.report(path+".exception", codeUnsaid, "expect: allow",
			"a case with an exception has to expect allow, not %s", w.Expect)
	}
	if w.Code == string(profiles.CodeAllowed) && c.Expect != profiles.Allow {
		r.report(path+".code", codeUnsaid, "", "this code means that the action is allowed, and the case expects %s",
			w.Expect)
	}
	action, kind, ok := r.action(path, w)
	if !ok {
		return c
	}
	if w.Bridge != nil {
		c.Call = max(w.Bridge.Call, 1)
	}
	text, err := json.Marshal(map[string]json.RawMessage{kind: action})
	if err == nil {
		c.Action, err = profiles.DecodeAction(text)
	}
	if err != nil {
		r.report(path+"."+r.key(path, kind), codeAction, "", "%v", err)
	}
	return c
}

// key returns the field of the author's text that holds the action.
func (r *reading) key(path, kind string) string {
	for _, name := range []string{kind, "python", "js", "shell"} {
		if _, ok := r.origins[path+"."+name]; ok {
			return name
		}
	}
	return "name"
}

// action returns the one action of a case in the form of `ringd decide`.
func (r *reading) action(path string, w *written) (text json.RawMessage, kind string, ok bool) {
	type form struct {
		kind, field string
		text        []byte
	}
	var forms []form
	add := func(kind, field string, text []byte) {
		if text != nil {
			forms = append(forms, form{kind, field, text})
		}
	}
	if w.Python != nil {
		add("import", "python", encoded(profiles.ImportAction{Executor: profiles.ExecutorPython,
			Module: w.Python.Import, Origin: w.Python.Origin}))
	}
	if w.JS != nil {
		add("import", "js", encoded(profiles.ImportAction{Executor: profiles.ExecutorJS, Module: w.JS.Import}))
	}
	add("import", "import", w.Import)
	add("egress", "egress", w.Egress)
	if s := w.Shell; s != nil {
		kind, text := s.action()
		if text == nil {
			r.report(path+".shell", codeAction, "shell: {script: git status} or shell: {argv: [git, status]}",
				"has one of script and argv")
			return nil, "", false
		}
		add(kind, "shell", text)
	}
	add("exec", "exec", w.Exec)
	add("file", "file", w.File)
	if b := w.Bridge; b != nil {
		add("bridge", "bridge", encoded(profiles.BridgeAction{Name: b.Name, Args: b.Args, Executor: b.Executor}))
	}
	add("variable", "variable", w.Variable)
	switch len(forms) {
	case 0:
		r.report(path+".name", codeAction,
			"name one of python, js, import, egress, shell, exec, file, bridge and variable", "the case has no action")
		return nil, "", false
	case 1:
		return forms[0].text, forms[0].kind, true
	default:
		r.report(path+"."+forms[1].field, codeAction, "write a case for each",
			"a case has one action, and this one has %s and %s", forms[0].field, forms[1].field)
		return nil, "", false
	}
}

// encoded returns v as JSON. Its types come from this package and from profiles, so there can be no error.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func (s *shell) action() (kind string, text []byte) {
	switch {
	case s.Script != "" && s.Argv == nil:
		return "shell", encoded(profiles.ShellAction{Script: s.Script, Cwd: s.Cwd})
	case s.Script == "" && s.Argv != nil:
		return "exec", encoded(profiles.ExecAction{Argv: s.Argv, Cwd: s.Cwd})
	default:
		return "", nil
	}
}

// Targets returns the agents for which the cases of a file are decided, sorted, and findings about unknown
// names.
func (f *File) Targets(set *profiles.Set) ([]string, schema.Diagnostics) {
	var found schema.Diagnostics
	known, policies := agentsOf(set)
	report := func(path, kind, name string, names []string) {
		d := schema.Diagnostic{Pos: f.origins[path].Pos, Code: codeTarget,
			Msg: fmt.Sprintf("%s: there is no %s %q", path, kind, name)}
		if some := spelling.Some(name, names, 1, spelling.Effort{Names: 32, Letters: 400}); len(some) > 0 {
			d.Hint = "there is: " + strings.Join(some, ", ")
		}
		found = append(found, d)
	}
	targets := slices.Clone(f.Agents)
	switch {
	case f.Policy != "" && policies[f.Policy] == nil:
		report("policy", "policy of an agent", f.Policy, sortedNames(policies))
	case f.Policy != "":
		targets = policies[f.Policy]
	case len(targets) == 0 && len(known) == 1:
		targets = known
	case len(targets) == 0 && !f.everyCaseSays():
		found = append(found, schema.Diagnostic{Pos: f.At, Code: codeTarget,
			Msg:  "the file does not name the agents of its cases",
			Hint: "policy: NAME, or agents: [" + strings.Join(known[:min(len(known), 3)], ", ") + "]"})
	}
	for i, name := range f.Agents {
		if !slices.Contains(known, name) {
			path := fmt.Sprintf("agents[%d]", i)
			if _, ok := f.origins[path]; !ok {
				path = "agent"
			}
			report(path, "agent", name, known)
		}
	}
	for i, c := range f.Cases {
		for j, name := range c.Agents {
			path := fmt.Sprintf("cases[%d].agents[%d]", i, j)
			switch {
			case !slices.Contains(known, name):
				report(path, "agent", name, known)
			case (f.Policy != "" || len(f.Agents) > 0) && !slices.Contains(targets, name):
				found = append(found, schema.Diagnostic{Pos: f.origins[path].Pos, Code: codeTarget,
					Msg:  fmt.Sprintf("%s: %s is none of the agents of the file", path, name),
					Hint: "add it to agents at the top"})
			}
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets), found.Sort()
}

func (f *File) everyCaseSays() bool {
	return !slices.ContainsFunc(f.Cases, func(c Case) bool { return len(c.Agents) == 0 })
}

// Of returns the agents of a case, given those of its file.
func (c *Case) Of(targets []string) []string {
	if len(c.Agents) > 0 {
		return c.Agents
	}
	return targets
}

func agentsOf(set *profiles.Set) (agents []string, policies map[string][]string) {
	policies = map[string][]string{}
	for name, a := range set.Agents {
		agents = append(agents, name)
		policies[a.Policy] = append(policies[a.Policy], name)
	}
	slices.Sort(agents)
	return agents, policies
}

func sortedNames(m map[string][]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
