package runner

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/bashcompat"
	"github.com/ringd/ringd/executors/shell/script"
)

// environ is the environment at the start of a shell. Until the shell is ready, it returns a TMPDIR under which
// no path can be: the interpreter keeps that one for files that it opens without asking.
type environ struct {
	names  []string
	values []expand.Variable // variables in the order of their names
	index  map[string]int
	ready  bool
}

const nowhereToWrite = "/\x00"

func (e *environ) Get(name string) expand.Variable {
	if name == "TMPDIR" && !e.ready {
		return expand.Variable{Set: true, Kind: expand.String, Str: nowhereToWrite}
	}
	return e.get(name)
}

func (e *environ) get(name string) expand.Variable {
	i, ok := e.index[name]
	if !ok {
		return expand.Variable{}
	}
	return e.values[i]
}

func (e *environ) Each(f func(string, expand.Variable) bool) {
	for i, name := range e.names {
		if !f(name, e.values[i]) {
			return
		}
	}
}

func (e *environ) set(name string, v expand.Variable) {
	i, ok := e.index[name]
	if !ok {
		e.index[name] = len(e.names)
		e.names, e.values = append(e.names, name), append(e.values, v)
		return
	}
	e.values[i] = v
}

// environOf builds the variables of a shell. It includes all those that the interpreter would otherwise read
// from the host.
func environOf(env []string, user int) *environ {
	size := len(env) + 10
	e := &environ{
		names: make([]string, 0, size), values: make([]expand.Variable, 0, size), index: make(map[string]int, size),
	}
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if ok && syntax.ValidName(name) {
			e.set(name, expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value})
		}
	}
	if !e.get("HOME").Set {
		e.set("HOME", expand.Variable{Set: true, Kind: expand.String, Str: "/"})
	}
	id := expand.Variable{Set: true, ReadOnly: true, Kind: expand.String, Str: strconv.Itoa(user)}
	for _, name := range []string{"UID", "EUID", "GID"} {
		e.set(name, id)
	}
	for _, v := range [...][2]string{
		{"BASH_VERSION", "5.2.0(1)-release"}, {"BASH", "/bin/bash"}, {"HOSTNAME", "localhost"}, {"OSTYPE", "linux-gnu"},
		{"SHLVL", "1"},
	} {
		if !e.get(v[0]).Set {
			e.set(v[0], expand.Variable{Set: true, Kind: expand.String, Str: v[1]})
		}
	}
	return e
}

func startEnv(c Config) *environ {
	e := environOf(c.Env, c.User)
	if c.State == nil {
		return e
	}
	for _, v := range c.State.Variables {
		if !syntax.ValidName(v.Name) || isShellVariable(v.Name) || e.get(v.Name).ReadOnly {
			continue
		}
		x := expand.Variable{Set: true, Exported: v.Exported, ReadOnly: v.ReadOnly, Kind: expand.String, Str: v.Value}
		switch v.Kind {
		case "list":
			x.Kind, x.List = expand.Indexed, v.List
			if len(v.Indexes) == len(v.List) && len(v.List) > 0 && slices.IsSorted(v.Indexes) && v.Indexes[0] >= 0 {
				x.Indexes = v.Indexes
			}
		case "map":
			x.Kind, x.Map = expand.Associative, v.Map
		}
		e.set(v.Name, x)
	}
	return e
}

// restore gives a shell the functions and options of an earlier run, and records the current variables as
// allowed.
func (g *runState) restore(ctx context.Context, r *interp.Runner, s *State) error {
	r.Env.Each(func(name string, v expand.Variable) bool {
		g.seen[name] = v.Str
		return true
	})
	if s == nil {
		return nil
	}
	for _, v := range s.Variables { // if they differ from those at the start, they are decided again
		if !slices.ContainsFunc(g.c.Env, func(pair string) bool { return pair == v.Name+"="+v.Value }) {
			delete(g.seen, v.Name)
		}
	}
	names := make([]string, 0, len(s.Functions))
	for name := range s.Functions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tree, err := g.function(s.Functions[name])
		if err != nil {
			return fmt.Errorf("restore function: %w", err)
		}
		for _, st := range tree.Stmts {
			if _, ok := st.Cmd.(*syntax.FuncDecl); !ok {
				return fmt.Errorf("restore function %q: the text is none", name)
			}
			if err := r.Run(ctx, st); err != nil {
				return fmt.Errorf("restore function %q: %w", name, err)
			}
		}
	}
	var options []string
	letters, named, _ := strings.Cut(s.Options, " ")
	for _, c := range letters {
		if strings.ContainsRune("aefux", c) {
			options = append(options, "-"+string(c))
		}
	}
	if named == "pipefail" {
		options = append(options, "-o", "pipefail")
	}
	if len(options) > 0 {
		if err := interp.Params(options...)(r); err != nil {
			return fmt.Errorf("restore options: %w", err)
		}
	}
	return nil
}

// function parses the text of a function from an earlier run.
func (g *runState) function(text string) (*syntax.File, error) {
	s, r := script.Parse(text)
	if r != nil {
		return nil, r
	}
	return g.plant(s, nil)
}

// checkLast checks the variables once more: the last statement may have set one.
func (g *runState) checkLast(ctx context.Context, r *interp.Runner) {
	if g.stopped() == nil {
		_ = g.variables(ctx, vars(r.Vars), 0, 0, At{})
		g.options = options(ctx, r)
	}
}

// vars are the variables of an interpreter that has ended.
type vars map[string]expand.Variable

func (v vars) Get(name string) expand.Variable { return v[name] }
func (v vars) Each(f func(string, expand.Variable) bool) {
	for name, x := range v {
		if !f(name, x) {
			return
		}
	}
}

// state is the state at the end of a shell. The caller holds mu.
func (g *runState) state(r *interp.Runner) *State {
	s := &State{Dir: path.Clean(r.Dir), Options: g.options}
	fresh := environOf(g.c.Env, g.c.User)
	for name, v := range r.Vars {
		if isShellVariable(name) || !v.IsSet() || !syntax.ValidName(name) {
			continue
		}
		if f := fresh.get(name); f.IsSet() && v.Kind == f.Kind && v.Str == f.Str && v.Exported == f.Exported {
			continue // each run starts with it
		}
		x := Variable{Name: name, Value: v.Str, Exported: v.Exported, ReadOnly: v.ReadOnly}
		switch v.Kind {
		case expand.String:
		case expand.Indexed:
			x.Kind, x.Value, x.List, x.Indexes = "list", "", v.List, v.Indexes
		case expand.Associative:
			x.Kind, x.Value, x.Map = "map", "", v.Map
		case expand.Unknown, expand.NameRef, expand.KeepValue:
			continue
		default:
			continue
		}
		s.Variables = append(s.Variables, x)
	}
	slices.SortFunc(s.Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	for name, body := range r.Funcs {
		if s.Functions == nil {
			s.Functions = map[string]string{}
		}
		bashcompat.StripSteps(body)
		text, err := bashcompat.Source(&syntax.File{Stmts: []*syntax.Stmt{{Cmd: &syntax.FuncDecl{
			Parens: true, Name: &syntax.Lit{Value: name}, Body: body,
		}}}})
		if err == nil {
			s.Functions[name] = strings.TrimSpace(text)
		}
	}
	return s
}
