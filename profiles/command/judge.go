package command

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/command/programs"
)

// Limits of one judgement.
const (
	maxDepth    = 16   // of nested commands
	maxCommands = 64   // in total
	maxWords    = 4096 // of one command
)

// Judge decides one command, and every command that it would start. It returns the scripts with the commands
// that lead to them. Nil rules deny.
func (r *Rules) Judge(c argv.Command) Judgement {
	if r == nil {
		return Judgement{Finding: finding(codeNotListed, "no profile is in force")}
	}
	j := judgement{rules: r, verdict: Allow, finding: finding(codeAllowed, "")}
	j.command(c, nil, false)
	return Judgement{
		Verdict: j.verdict, Finding: j.finding, Path: j.path, Program: j.place, Builtin: j.builtin,
		Scripts: j.scripts, Nested: j.nested, Stdin: j.stdin,
	}
}

// judgement is the state of one judgement: the strictest verdict so far, and its reason.
type judgement struct {
	rules   *Rules
	verdict Verdict
	finding Finding
	count   int
	path    string
	place   int
	builtin bool
	scripts []argv.Script
	nested  []Nested
	stdin   string
}

func finding(code, reason string) Finding {
	return Finding{Code: code, Reason: reason, Pattern: -1, Binary: -1, Deny: -1, Allow: -1, Ask: -1}
}

// candidate is a command that is judged now.
type candidate struct {
	*judgement
	argv.Command
	chain   []string
	words   *argv.Words
	cleared bool // it may not get the environment of the first command
	filled  bool // a program fills in words, so the final ones cannot be checked
}

// filled reports whether a program fills in all unknown words of a command, so that a later check knows no
// more.
func filled(c argv.Command) bool {
	is := c.More
	for _, w := range c.Words {
		if w.Open && !w.Fed {
			return false
		}
		is = is || w.Fed
	}
	return is
}

// addFinding records a verdict if it is stricter than the current one.
func (o *candidate) addFinding(v Verdict, f Finding) {
	if v == Unsettled && o.filled {
		v = Deny
	}
	if v >= o.verdict {
		return
	}
	f.Argv, f.Chain = texts(o.Words), o.chain
	o.verdict, o.finding = v, f
}

// texts returns the words as far as they are known.
func texts(ws []argv.Word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Text
		if w.Open {
			out[i] += "…"
		}
	}
	return out
}

// command decides a command; chain leads to it.
func (j *judgement) command(c argv.Command, chain []string, cleared bool) {
	if j.count++; j.verdict == Deny {
		return
	}
	o := &candidate{judgement: j, Command: c, chain: chain, cleared: cleared, filled: filled(c)}
	if j.count > maxCommands || len(chain) > maxDepth || len(c.Words) > maxWords {
		o.addFinding(Deny, finding(codeSize, "the command starts more commands, or has more words, than ringd reads"))
		return
	}
	o.assignments(c.Set)
	if len(c.Words) == 0 {
		if c.More {
			o.addFinding(Deny, finding(codeUnsettled, "the command comes from the output of a program"))
		}
		j.builtin = j.builtin || len(chain) == 0
		return
	}
	first := c.Words[0]
	for _, w := range c.Words {
		if strings.IndexByte(w.Text, 0) >= 0 {
			o.addFinding(Deny, finding(codeNotListed, "a word holds a NUL byte"))
			return
		}
	}
	if first.Open {
		o.addFinding(Unsettled, finding(codeUnsettled, "the name of the command is known only at run time"))
		return
	}
	o.words = argv.Split(c.Words, c.More)
	o.pattern(argv.Base(first.Text))
	if !c.Outside && o.checkBuiltin(first.Text) {
		j.builtin = j.builtin || len(chain) == 0
	} else if !o.program(first.Text) {
		return
	}
	o.checkStarted()
}

// assignments decides variables that are set for a command, or by it.
func (o *candidate) assignments(set []argv.Assignment) {
	for _, a := range set {
		o.variable(a.Name, a.Value)
	}
}

func (o *candidate) variable(name string, value argv.Word) {
	reason, refused, maybe := VariableRefused(name, value)
	switch {
	case refused:
		o.addFinding(Deny, finding(codeVariable, canonjson.Clip(reason)))
	case maybe:
		o.addFinding(Unsettled, finding(codeUnsettled, canonjson.Clip(reason)))
	}
}

// pattern checks the denied patterns.
func (o *candidate) pattern(name string) {
	of := o.rules.patterns[name]
	if of == nil {
		return
	}
	for i, p := range of.read(name, o.rules.denied) {
		is := o.words.Denies(p)
		if is == argv.No {
			continue
		}
		f := finding(codePattern, "")
		f.Pattern = of.at[i]
		text := strings.Join(o.rules.denied[of.at[i]], " ")
		switch is {
		case argv.Yes:
			f.Reason = fmt.Sprintf("%s matches the denied pattern %q", short(o.words), text)
			o.addFinding(Deny, f)
			return
		case argv.Maybe:
			f.Code = codeUnsettled
			if o.filled {
				f.Code = codePattern
			}
			f.Reason = fmt.Sprintf("with its unknown words, %s could match the denied pattern %q",
				short(o.words), text)
			o.addFinding(Unsettled, f)
		case argv.No:
		}
	}
}

// short returns a command in one line for a reason.
func short(w *argv.Words) string { return canonjson.Clip(w.Text()) }

// program finds the listed program of a first word and checks its rules. It returns false if there is none.
func (o *candidate) program(word string) bool {
	at, ok := o.rules.Find(word)
	if !ok {
		f := finding(codeNotListed, fmt.Sprintf("%s is not a listed program", quoted(word)))
		if strings.Contains(word, "/") && word[0] != '/' {
			f.Reason += ": a path is absolute"
		}
		o.addFinding(Deny, f)
		return false
	}
	b := &o.rules.binaries[at]
	if len(o.chain) == 0 {
		if o.verdict == Allow {
			o.finding.Binary = at
		}
		if !b.Interpreted {
			o.path, o.place = b.Path, at
		}
	} else {
		o.nested = append(o.nested, Nested{Binary: at, Words: o.Words, Cleared: o.cleared})
	}
	o.checkRules(b, at)
	return true
}

func quoted(word string) string { return fmt.Sprintf("%q", canonjson.Clip(word)) }

// checkRules checks the rules of a program.
func (o *candidate) checkRules(b *binary, at int) {
	rule := func(code, format string, args ...any) Finding {
		f := finding(code, fmt.Sprintf(format, args...))
		f.Binary = at
		return f
	}
	if b.MaxArgs > 0 {
		n, sure := o.words.Args()
		switch {
		case int64(n) > b.MaxArgs:
			o.addFinding(Deny, rule(codeSubcommand, "%s has %d arguments, %d are allowed", b.name, n, b.MaxArgs))
		case !sure:
			o.addFinding(Unsettled, rule(codeUnsettled,
				"the number of arguments of %s is known only at run time", b.name))
		}
	}
	own := b.read()
	for i, p := range own.deny {
		switch o.words.Denies(p) {
		case argv.Yes:
			words := strings.Join(b.Deny[i], " ")
			f := rule(codeSubcommand, "%s matches the denied words %q of %s", short(o.words), words, b.name)
			f.Deny = i
			o.addFinding(Deny, f)
		case argv.Maybe:
			f := rule(codeUnsettled, "with its unknown words, %s could match the denied words %q",
				short(o.words), strings.Join(b.Deny[i], " "))
			f.Deny = i
			o.addFinding(Unsettled, f)
		case argv.No:
		}
	}
	if own.allow != nil {
		o.checkSubcommand(b, rule)
	}
	if b.SafeConfig {
		o.checkConfigKeys(rule)
	}
	for i, p := range own.ask {
		t := o.words.Denies(p)
		if t == argv.No {
			continue
		}
		f := rule(codeAsk, "%s needs an approval", short(o.words))
		f.Ask = i
		if t == argv.Maybe && !o.filled {
			f.Code = codeUnsettled
			o.addFinding(Unsettled, f)
		} else {
			o.addFinding(Ask, f)
		}
	}
}

// checkSubcommand decides a command of a program that allows only some sub-commands.
func (o *candidate) checkSubcommand(b *binary, rule func(code, format string, args ...any) Finding) {
	best, at := argv.No, -1
	for i, p := range b.read().allow {
		if t := o.words.Allows(p); t > best {
			best, at = t, i
		}
	}
	if best == argv.Yes {
		return
	}
	f := rule(codeSubcommand, "%s is not among the allowed words of %s", short(o.words), b.name)
	f.Allow = at
	for _, p := range b.Allow[:min(len(b.Allow), 8)] {
		f.Instead = append(f.Instead, strings.Join(append([]string{b.name}, p...), " "))
	}
	if best == argv.Maybe {
		f.Code = codeUnsettled
		o.addFinding(Unsettled, f)
		return
	}
	o.addFinding(Deny, f)
}

// checkStarted decides the commands that the command would start because of its words.
func (o *candidate) checkStarted() {
	if o.verdict == Deny {
		return
	}
	res := programs.Of(o.Command)
	for _, r := range res.Refused {
		f := finding(codeStarts, canonjson.Clip(r.Reason))
		o.addFinding(Deny, f)
	}
	o.assignments(res.Sets)
	for _, name := range res.Needs {
		o.checkNeeded(name)
	}
	if res.Maybe {
		f := finding(codeUnsettled, fmt.Sprintf(
			"with its unknown words, %s could start another program", short(o.words)))
		if o.filled {
			f.Code = codeStarts
		}
		o.addFinding(Unsettled, f)
	}
	for _, s := range res.Scripts {
		s.Chain = append(slices.Clone(o.chain), s.Chain...)
		o.scripts = append(o.scripts, s)
	}
	if len(o.chain) == 0 {
		o.stdin = res.Stdin
	} else if res.Stdin != "" && o.stdin == "" {
		o.stdin = res.Stdin
	}
	for _, c := range res.Commands {
		o.judgement.command(c.Command, append(slices.Clone(o.chain), c.Via), o.cleared || o.startsWithoutEnvironment())
	}
}

// startsWithoutEnvironment reports whether the command may start others without its environment.
func (o *candidate) startsWithoutEnvironment() bool {
	switch argv.Base(o.Words[0].Text) {
	case "env":
		return o.words.Has("i") != argv.No || o.words.Has("u") != argv.No ||
			slices.ContainsFunc(o.Words[1:], func(w argv.Word) bool { return !w.Open && w.Text == "-" })
	case "command", "builtin", "exec", "time", "timeout", "nice", "nohup", "ionice", "chrt", "taskset", "setsid",
		"stdbuf", "xargs", "find", "parallel", "watch":
		return false
	default:
		return true
	}
}

// checkNeeded decides a program that the command chooses itself.
func (o *candidate) checkNeeded(name string) {
	if _, ok := o.rules.Find(name); ok {
		return
	}
	if at, ok := o.rules.Find(o.Words[0].Text); ok {
		for _, h := range o.rules.binaries[at].Helpers {
			if path.Base(h) == name {
				return
			}
		}
	}
	f := finding(codeStarts, fmt.Sprintf("%s would start %s, which is not a listed program", short(o.words), name))
	o.addFinding(Deny, f)
}
