package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/bashcompat"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// Names that lead from call to exec. They hold a NUL byte, which no word of a script can: call rejects words
// with one.
const (
	ours    = "\x00builtin\x00" // a builtin of package runner
	program = "\x00program"     // a program, even if a function has its name
)

// call decides each simple command before it runs, also functions and builtins, and selects the part of the
// interpreter that runs it.
func (g *runState) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	p := placeOf(hc)
	if signal, killed := g.killed(p); killed {
		return []string{"exit", strconv.Itoa(128 + signal)}, nil
	}
	if err := g.stopped(); err != nil {
		return nil, err
	}
	for i, a := range args {
		if strings.IndexByte(a, 0) >= 0 {
			args = slices.Clone(args) // words in bash hold no such bytes
			args[i] = strings.ReplaceAll(a, "\x00", "")
		}
	}
	// variables that are set in front of the command
	if err := g.variables(ctx, hc.Env, 0, 0, p.at); err != nil {
		return nil, err
	}
	g.mu.Lock()
	function := g.funcs[args[0]]
	g.mu.Unlock()
	if function {
		return args, nil
	}
	if !interp.IsBuiltin(args[0]) {
		return args, nil
	}
	switch args[0] { // commands without an effect outside, which loops run most
	case ":", "true", "false", "break", "continue", "return", "[", "test":
		if len(args) == 1 || args[0] == "[" || args[0] == "test" || args[0] == ":" {
			return g.plain(hc, p, args)
		}
	}
	return g.builtin(ctx, hc, p, args)
}

// plain handles builtins that only a pattern of the policy can deny.
func (g *runState) plain(hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	if next, err := g.decideCommand(hc, p, args); next != nil || err != nil {
		return next, err
	}
	return args, nil
}

// decideCommand asks the rules about a command that the shell runs itself. If it returns words or an error, that is the
// answer. If it returns neither, the command is allowed.
func (g *runState) decideCommand(_ interp.HandlerContext, p *frame, args []string) ([]string, error) {
	d, j := g.c.Decider.Command(argv.Command{Words: argv.AllKnown(args)})
	if j.Verdict != command.Deny || len(j.Scripts) > 0 && d.Verdict != profiles.Deny {
		return nil, nil
	}
	if err := g.refuse(d, p.at); err != nil {
		return nil, err
	}
	return refusedCall(), nil
}

func refusedCall() []string { return []string{ours + "refused"} }

// builtin selects the code that runs a builtin.
func (g *runState) builtin(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	if next, err := g.decideCommand(hc, p, args); next != nil || err != nil {
		return next, err
	}
	switch args[0] {
	case "command":
		return g.command(ctx, hc, p, args)
	case "builtin":
		if len(args) > 1 && args[1] == "--" {
			args = slices.Delete(slices.Clone(args), 1, 2)
		}
		if len(args) == 1 {
			return []string{"true"}, nil
		}
		if !interp.IsBuiltin(args[1]) {
			return args, nil
		}
		return g.without(g.builtin(ctx, hc, p, args[1:]))
	case "exec":
		if len(args) > 1 && strings.HasPrefix(args[1], "-") && args[1] != "--" {
			return g.denyCommand(p, args, "exec with options would change the name or environment of the program")
		}
		if len(args) > 1 && args[1] == "--" {
			args = slices.Delete(slices.Clone(args), 1, 2)
		}
		return args, nil
	case "eval":
		return g.eval(ctx, hc, p, args)
	case "source", ".":
		return g.source(ctx, hc, p, args)
	case "trap":
		return g.trap(ctx, hc, p, args)
	case "set":
		return set(args), nil
	case "unset":
		if len(args) > 1 && args[1] == "-f" {
			g.forgetFunctions(args)
		}
	case "shift":
		return shift(args), nil
	case "cd", "pushd":
		args = cd(args)
		g.enter(targetFolder(hc, args))
		return args, nil
	case "wait":
		return g.wait(args), nil
	case "read":
		if plainRead(args[1:]) {
			return args, nil
		}
	}
	if hasBuiltin(args[0]) {
		return slices.Concat([]string{ours + args[0]}, args[1:]), nil
	}
	return args, nil
}

// without makes words run as a builtin, even if a function has that name.
func (g *runState) without(args []string, err error) ([]string, error) {
	if err != nil || strings.HasPrefix(args[0], "\x00") {
		return args, err
	}
	return slices.Concat([]string{"builtin"}, args), nil
}

func (g *runState) command(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 {
		if rest[0] == "--" {
			rest = rest[1:]
			break
		}
		if strings.Trim(rest[0][1:], "vV") == "" {
			return slices.Concat([]string{ours + "command"}, args[1:]), nil
		}
		if rest[0] != "-p" {
			return []string{ours + "usage", "command: " + rest[0] + ": invalid option"}, nil
		}
		rest = rest[1:] // -p searches a standard PATH; here PATH is not searched at all
	}
	switch {
	case len(rest) == 0:
		return []string{"true"}, nil
	case interp.IsBuiltin(rest[0]):
		return g.without(g.builtin(ctx, hc, p, rest))
	default:
		return slices.Concat([]string{program}, rest), nil
	}
}

// denyCommand denies a command for a reason of the shell's own.
func (g *runState) denyCommand(p *frame, args []string, reason string) ([]string, error) {
	d := profiles.Decision{
		Code: profiles.CodeShellBuiltin, Reason: args[0] + ": " + reason, Evidence: &profiles.Evidence{Argv: args},
	}
	if err := g.refuse(d, p.at); err != nil {
		return nil, err
	}
	return refusedCall(), nil
}

// read parses a text that the script made and would run, and has it checked.
func (g *runState) read(ctx context.Context, text, dir string) (*script.Script, error) {
	s, r := script.Parse(text)
	if r != nil {
		return nil, &profiles.Denial{Capability: profiles.ExecutorShell, Decision: refusalOf(r)}
	}
	if g.c.Check == nil {
		return s, nil
	}
	g.mu.Lock()
	functions := slices.Sorted(maps.Keys(g.funcs))
	g.mu.Unlock()
	if d := g.c.Check(ctx, s, dir, functions); d.Verdict == profiles.Deny {
		return nil, &profiles.Denial{Capability: profiles.ExecutorShell, Decision: d}
	}
	return s, nil
}

// plant marks a parsed script. If from is set, its statements all get that position.
func (g *runState) plant(read *script.Script, from *At) (*syntax.File, error) {
	tree, r := read.Take()
	if r != nil {
		return nil, &profiles.Denial{Capability: profiles.ExecutorShell, Decision: refusalOf(r)}
	}
	if d := g.functions(tree); d != nil {
		return nil, d
	}
	o := bashcompat.StepOptions{Dry: g.c.Dry}
	if from != nil {
		o.Line, o.Column = from.Line, from.Column
	}
	bashcompat.Rewrite(tree, read.Text)
	bashcompat.PlantSteps(tree, o)
	tree.Name = g.c.Name
	return tree, nil
}

// functions records the names of the functions that a tree defines. Commands that run text or other commands
// keep their names: their text is read before it runs.
func (g *runState) functions(tree *syntax.File) error {
	var refused error
	g.mu.Lock()
	defer g.mu.Unlock()
	syntax.Walk(tree, func(n syntax.Node) bool {
		f, ok := n.(*syntax.FuncDecl)
		if !ok || f.Name == nil {
			return true
		}
		switch f.Name.Value {
		case "eval", "source", ".", "trap", "exec", "command", "builtin":
			refused = &profiles.Denial{Capability: profiles.ExecutorShell, Decision: profiles.Decision{
				Code:     profiles.CodeShellUnsupported,
				Reason:   "a function cannot be called " + f.Name.Value + ", which runs other commands",
				Instead:  []string{"another name for the function"},
				Evidence: &profiles.Evidence{Line: int(f.Pos().Line()), Column: int(f.Pos().Col())},
			}}
		}
		g.funcs[f.Name.Value] = true
		return true
	})
	return refused
}

// forgetFunctions removes functions that unset removes.
func (g *runState) forgetFunctions(args []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range args[1:] {
		delete(g.funcs, a)
	}
}

func refusalOf(r *script.Refusal) profiles.Decision {
	d := profiles.Decision{Code: r.Code, Reason: r.Reason, Instead: r.Instead}
	if r.Line > 0 {
		d.Evidence = &profiles.Evidence{Line: r.Line, Column: r.Column}
	}
	return d
}

// inner parses a text that a command of the script runs in the same shell, and returns it as text with marks.
func (g *runState) inner(ctx context.Context, text, by, dir string, p *frame) (string, error) {
	if p.texts++; p.texts > maxTexts {
		return "", g.bound(
			"texts run one another more than %d deep, such as an eval that calls itself", maxTexts,
		)
	}
	var tree *syntax.File
	s, err := g.read(ctx, text, dir)
	if err == nil {
		tree, err = g.plant(s, &p.at)
	}
	if err != nil {
		at := p.at
		at.Chain = slices.Concat(at.Chain, []string{by})
		var d *profiles.Denial
		if errors.As(err, &d) && d.Decision.Evidence != nil { // a position in another text
			d.Decision.Reason = fmt.Sprintf(
				"%s (line %d of the text that %s runs)", d.Decision.Reason, d.Decision.Evidence.Line, by,
			)
			d.Decision.Evidence = nil
		}
		return "", g.failed(err, at)
	}
	out, err := bashcompat.Source(tree)
	if err != nil {
		return "", g.failed(err, p.at)
	}
	return out, nil
}

func (g *runState) eval(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	text := strings.Join(rest, " ")
	if strings.TrimSpace(text) == "" {
		return []string{"true"}, nil
	}
	if err := g.opaque(text, "eval", p); err != nil {
		return nil, err
	}
	out, err := g.inner(ctx, text, "eval", hc.Dir, p)
	if err != nil {
		return nil, err
	}
	if out == "" {
		return refusedCall(), nil
	}
	return []string{"eval", out}, nil
}

// maxTexts limits texts that run inside of texts.
const maxTexts = 32

// maxSource limits a file that source reads.
const maxSource = script.MaxBytes + 1

func (g *runState) source(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	g.mu.Lock()
	content, kept := g.kept[args[1]]
	g.mu.Unlock()
	if kept {
		return g.sourced(ctx, hc, content, p, args)
	}
	f, err := g.openHost(ctx, File{Op: Read, Path: args[1], At: p.at}, hc.Dir)
	if err != nil {
		if g.stopped() != nil {
			return nil, errStop
		}
		return []string{ours + "failed", args[0] + ": " + args[1] + ": No such file or directory"}, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSource))
	_ = f.Close()
	if err != nil {
		return []string{ours + "failed", args[0] + ": " + args[1] + ": cannot be read"}, nil
	}
	return g.sourced(ctx, hc, string(b), p, args)
}

// sourced runs a text as source does.
func (g *runState) sourced(
	ctx context.Context, hc interp.HandlerContext, content string, p *frame, args []string,
) ([]string, error) {
	by := "source " + path.Base(args[1])
	if err := g.opaque(content, by, p); err != nil {
		return nil, err
	}
	text, err := g.inner(ctx, content, by, hc.Dir, p)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	name := "\x01source" + strconv.Itoa(len(g.sources))
	g.sources[name] = text
	g.mu.Unlock()
	return slices.Concat([]string{"source", name}, args[2:]), nil
}

// trap has the text of a trap checked before it is set. Signals reach programs, not the interpreter: a trap on
// one never runs.
func (g *runState) trap(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) ([]string, error) {
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		return args, nil
	}
	text, signals := "-", rest
	if len(rest) > 1 {
		text, signals = rest[0], rest[1:]
	}
	if text != "" && text != "-" {
		if err := g.opaque(text, "trap", p); err != nil {
			return nil, err
		}
		out, err := g.inner(ctx, text, "trap", hc.Dir, p)
		if err != nil {
			return nil, err
		}
		text = out
	}
	kept := []string{"trap", text}
	for _, s := range signals {
		switch strings.ToUpper(s) {
		case "EXIT", "0":
			kept = append(kept, "EXIT")
		case "ERR":
			kept = append(kept, "ERR")
		}
	}
	if len(kept) == 2 {
		return []string{"true"}, nil
	}
	return kept, nil
}

// set removes options that have no effect here.
func set(args []string) []string {
	out := []string{"set"}
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-" || len(a) < 2 || a[0] != '-' && a[0] != '+' {
			return append(out, args[i:]...)
		}
		letters := strings.Map(func(r rune) rune {
			if strings.ContainsRune("hmbBHETk", r) {
				return -1
			}
			return r
		}, a[1:])
		if strings.HasSuffix(letters, "o") && i+1 < len(args) {
			if harmless(args[i+1]) {
				letters = strings.TrimSuffix(letters, "o")
			} else {
				if letters != "" {
					out = append(out, a[:1]+letters)
				}
				out = append(out, args[i+1])
				i++
				continue
			}
			i++
		}
		if letters != "" {
			out = append(out, a[:1]+letters)
		}
	}
	if len(out) == 1 && len(args) > 1 {
		return []string{"true"}
	}
	return out
}

// shift fails if there are fewer parameters, as in bash, and for a negative number, on which the interpreter
// would panic.
func shift(args []string) []string {
	have := -1 // not known
	if count, ok := strings.CutPrefix(args[len(args)-1], bashcompat.Count); ok && len(args) > 1 {
		args = args[: len(args)-1 : len(args)-1]
		n, err := strconv.Atoi(count)
		if err != nil {
			return []string{"false"}
		}
		have = n
	}
	n := 1
	if len(args) == 2 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			return args
		}
	}
	if n < 0 || have >= 0 && n > have {
		return []string{"false"}
	}
	return args
}

func harmless(option string) bool {
	switch option {
	case "errtrace", "functrace", "monitor", "history", "histexpand", "hashall", "braceexpand", "emacs", "vi", "notify",
		"posix", "interactive-comments":
		return true
	default:
		return false
	}
}

// cd removes options that make no difference: the host resolves links.
func cd(args []string) []string {
	out := args[:1:1]
	for i, a := range args[1:] {
		switch a {
		case "-P", "-L", "-e", "-@":
			continue
		case "--":
			return append(out, args[i+2:]...)
		}
		return append(out, args[i+1:]...)
	}
	return out
}

// targetFolder returns the folder that cd or pushd goes to.
func targetFolder(hc interp.HandlerContext, args []string) string {
	dir := hc.Env.Get("HOME").String()
	if len(args) > 1 {
		dir = args[1]
	}
	if dir == "-" {
		dir = hc.Env.Get("OLDPWD").String()
	}
	if !path.IsAbs(dir) {
		dir = path.Join(hc.Dir, dir)
	}
	return path.Clean(dir)
}

func (g *runState) wait(args []string) []string {
	if g.c.Dry {
		return []string{"true"}
	}
	out := slices.Clone(args)
	for i, a := range out {
		if n, ok := strings.CutPrefix(a, "%"); ok {
			out[i] = "g" + n
		}
	}
	return out
}

func exported(env expand.Environ) []string {
	var some [32]string
	names := some[:0]
	for name, v := range env.Each {
		if v.Exported {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := make([]string, 0, len(names))
	for _, name := range slices.Compact(names) { // a name may occur twice, from nested scopes
		if v := env.Get(name); v.Exported && v.IsSet() && v.Kind == expand.String {
			out = append(out, name+"="+v.Str)
		}
	}
	slices.Sort(out)
	return out
}
