package compiler

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// Limits of the rules for a program's arguments.
const (
	maxWords         = 64
	maxForced        = 64
	maxForcedBytes   = 4 << 10
	maxExamples      = 1000
	hintPlainWords   = "write plain words, compared with the words of a command: push --force"
	hintPlainPattern = "a pattern is plain words, compared with the words of a command: rm -rf"
)

// scripts compiles the shell of a document.
type scripts struct{ *document }

func (d scripts) shell(sh *schema.Shell, rule profiles.Rule) *profiles.Shell {
	if sh == nil {
		sh = &schema.Shell{}
	}
	const at = "spec.executors.shell"
	out := &profiles.Shell{Limits: limiter(d).limits(profiles.ExecutorShell, at+".limits", sh.Limits),
		Rule:         d.ruleOr(at+".binaries", rule),
		Pipes:        grantedUnless(d.policy.Compact, sh.AllowPipes),
		Redirects:    grantedUnless(d.policy.Compact, sh.AllowRedirects),
		Substitution: grantedUnless(d.policy.Compact, sh.AllowSubstitution),
		JIT:          grantedUnless(false, sh.JIT),
		Env:          d.variables(at+".env", sh.Env),
		Audit:        sh.Audit}
	if out.JIT && len(sh.Binaries) == 0 {
		d.warn(at+".jit", codeNeverMatches, "list the program that needs it in shell.binaries, or leave jit out",
			"no program is granted that could use it")
	}
	for i, b := range sh.Binaries {
		if bin, ok := d.binary(fmt.Sprintf("%s.binaries[%d]", at, i), b, *out.Limits.PauseMillis); ok {
			out.Binaries = append(out.Binaries, bin)
		}
	}
	for i, p := range sh.DenyPatterns {
		here := fmt.Sprintf("%s.denyPatterns[%d]", at, i)
		if words, ok := d.pattern(here, p); !ok {
			d.told.Broken = true
		} else {
			out.DeniedPatterns = append(out.DeniedPatterns, words)
			d.told.Patterns = append(d.told.Patterns, known.Told{Rule: words.Rule,
				Match: d.examples(here+".match", p.Match), NotMatch: d.examples(here+".notMatch", p.NotMatch)})
		}
	}
	return out
}

// grantedUnless returns the value of a switch. If the policy does not set the switch, it is off. The compact
// form has no such switch: there it is on.
func grantedUnless(compact bool, written *bool) bool {
	if written != nil {
		return *written
	}
	return compact
}

// binary compiles one program.
func (d scripts) binary(at string, b schema.Binary, pause int64) (profiles.Binary, bool) {
	here := at + ".path"
	if !d.programPath(here, b.Path, "list every program by its path") {
		return profiles.Binary{}, false
	}
	if strings.Contains(b.Path, " ") {
		d.warn(here, codePath, "a path has no arguments; refuse arguments with denied patterns", "%q holds a space",
			clip(b.Path))
	}
	out := profiles.Binary{Path: b.Path, Rule: d.rule(here), Interpreted: known.IsShell(b.Path),
		ForceEnv: d.variables(at+".env", b.Env)}
	out.Exception, out.Expires = d.grantingException(at)
	for i, p := range b.Helpers {
		if here := fmt.Sprintf("%s.helpers[%d]", at, i); d.programPath(here, p,
			"list a folder, which stands for the programs in it") {
			out.Helpers = append(out.Helpers, profiles.PathRule{Path: p, Rule: d.rule(here), Within: b.Under[p]})
		}
	}
	before := len(d.found)
	d.args(at+".args", b.Args, &out, pause)
	d.told.Binaries = append(d.told.Binaries, known.Told{Rule: out.Rule, Force: d.rule(at + ".args.force"),
		Broken:       d.found[before:].Refused(),
		Acknowledged: grantedUnless(false, b.Acknowledge),
		Match:        d.examples(at+".match", b.Match), NotMatch: d.examples(at+".notMatch", b.NotMatch)})
	return out, true
}

// programPath reports whether a path can name a program.
func (d scripts) programPath(at, p, patternHint string) bool {
	if !schema.CleanAbsolute(p) || p == "/" {
		d.report(at, codePath, schema.CleanHint(p), "%q is not the absolute, clean path of a program", clip(p))
		return false
	}
	return !d.oddPath(at, p, patternHint)
}

// args compiles the rules for the arguments of a program.
func (d scripts) args(at string, a *schema.Args, out *profiles.Binary, pause int64) {
	if a == nil {
		return
	}
	d.subcommands(at, a, out)
	d.denied(at, a, out)
	d.asks(at, a, out, pause)
	if a.MaxArgs != nil {
		out.MaxArgs = int64(*a.MaxArgs)
	}
	if out.SafeConfig = grantedUnless(false, a.SafeConfig); out.SafeConfig && path.Base(out.Path) != "git" {
		d.report(at+".safeConfig", codeNeverMatches, "leave it out",
			"%s has no configuration keys that ringd knows; git has", clip(path.Base(out.Path)))
	}
	if len(a.Force) > maxForced {
		d.report(at+".force", CodeLimit, "", "holds more than %d words", maxForced)
	}
	for i, word := range a.Force {
		here := fmt.Sprintf("%s.force[%d]", at, i)
		if len(word) > maxForcedBytes || strings.ContainsFunc(word, schema.Unseen) {
			d.report(here, codePattern, "", "is longer than %d bytes, or contains an invisible character",
				maxForcedBytes)
			continue
		}
		out.ForceArgs = append(out.ForceArgs, word)
	}
}

// subcommands compiles the sub-commands that are granted.
func (d scripts) subcommands(at string, a *schema.Args, out *profiles.Binary) {
	if a.Subcommands != nil {
		out.Allow = []profiles.Pattern{} // nil would allow all
	}
	if a.Subcommands != nil && len(a.Subcommands) == 0 {
		d.report(at+".subcommands", codeNeverMatches, "list the sub-commands, or leave the field out to grant them all",
			"lists none, which would refuse every use of the program")
	}
	for i, text := range a.Subcommands {
		here := fmt.Sprintf("%s.subcommands[%d]", at, i)
		words, ok := d.ruleWords(here, text, out.Path)
		if ok && slices.ContainsFunc(words, isFlag) {
			d.report(here, codePattern, "list the sub-command alone, and refuse flags in denyFlags or deny",
				"%q holds a flag, and a sub-command is granted with all of its flags", clip(text))
			ok = false
		}
		if ok {
			out.Allow = append(out.Allow, profiles.Pattern{Words: words, Text: text, Rule: d.rule(here)})
		}
	}
}

// denied compiles the arguments and flags that are denied.
func (d scripts) denied(at string, a *schema.Args, out *profiles.Binary) {
	for i, w := range a.Deny {
		here := fmt.Sprintf("%s.deny[%d]", at, i)
		if words, ok := d.ruleWords(here+".words", w.Words, out.Path); ok {
			out.Deny = append(out.Deny, profiles.Pattern{Words: words, Text: w.Words,
				Reason:  d.sentence(here+".because", w.Because),
				Instead: d.instead(here+".instead", w.Instead), Rule: d.rule(here + ".words")})
		}
	}
	for i, text := range a.DenyFlags {
		here := fmt.Sprintf("%s.denyFlags[%d]", at, i)
		words, ok := d.ruleWords(here, text, out.Path)
		if ok && (len(words) != 1 || strings.Trim(text, "-") == "") {
			d.report(here, codePattern, "write sub-commands with flags into deny", "%q is not one flag", clip(text))
			ok = false
		}
		if ok {
			out.Deny = append(out.Deny, profiles.Pattern{Words: words, Text: text, Rule: d.rule(here)})
		}
	}
}

// asks compiles the sub-commands that need an approval.
func (d scripts) asks(at string, a *schema.Args, out *profiles.Binary, pause int64) {
	for i, w := range a.Ask {
		here := fmt.Sprintf("%s.ask[%d]", at, i)
		words, ok := d.ruleWords(here+".words", w.Words, out.Path)
		approval := d.wordsApproval(here+".approval", w.Approval, pause)
		if ok {
			out.Ask = append(out.Ask, profiles.AskRule{Approval: *approval,
				Pattern: profiles.Pattern{Words: words, Text: w.Words, Reason: d.sentence(here+".because", w.Because),
					Rule: d.rule(here + ".words")}})
		}
	}
}

// wordsApproval compiles the approval of a command. The default is one approver of the host.
func (d scripts) wordsApproval(at string, a *schema.WordsApproval, pause int64) *profiles.Approval {
	if a == nil {
		a = &schema.WordsApproval{}
	}
	out := approvals(d).approval(at, &schema.Approval{Required: true, From: a.From, Count: a.Count,
		ExpiresAfter: a.ExpiresAfter}, pause)
	if out.HoldMillis = approvals(d).holdTime(at+".hold", a.Hold, out.ExpiresMillis); out.HoldMillis == 0 {
		out.HoldMillis = min(profiles.DefaultHoldMillis, out.ExpiresMillis)
	}
	return out
}

// ruleWords splits the text of a rule into the arguments of a program. It rejects a text that begins with the
// program's own name.
func (d scripts) ruleWords(at, text, program string) ([]string, bool) {
	words, ok := d.plainWords(at, text, hintPlainWords)
	if ok && len(words) > 1 && words[0] == path.Base(program) {
		d.report(at, codePattern, fmt.Sprintf("write %q", clip(strings.Join(words[1:], " "))),
			"begins with the program; write only the words after it")
		return nil, false
	}
	return words, ok
}

func isFlag(word string) bool { return strings.HasPrefix(word, "-") }

// sentence checks a text of the author that a denial shows.
func (d scripts) sentence(at, text string) string {
	if strings.ContainsFunc(strings.ReplaceAll(text, "\n", " "), schema.Unseen) {
		d.report(at, codePattern, "write it again by hand", "contains an invisible character")
	}
	return text
}

func (d scripts) instead(at, text string) []string {
	if text == "" {
		return nil
	}
	return []string{d.sentence(at, text)}
}

// variables compiles the variables that every script has, or that a program always gets.
func (d scripts) variables(at string, env map[string]string) (out []string) {
	if len(env) > maxForced {
		d.report(at, CodeLimit, "", "sets more than %d variables", maxForced)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		here, value := at+"."+name, env[name]
		switch {
		case known.ReservedProgram(name):
			d.report(here, known.CodeVariable, "leave it out", "%s is set by ringd for every program", name)
		case len(value) > maxForcedBytes || strings.ContainsFunc(value, schema.Unseen):
			d.report(here, known.CodeVariable, "", "is longer than %d bytes, or contains an invisible character",
				maxForcedBytes)
		default:
			out = append(out, name+"="+value)
		}
	}
	return out
}

func (d scripts) examples(at string, texts []string) (out []known.Example) {
	if len(texts) > maxExamples {
		d.report(at, CodeLimit, "", "holds more than %d examples", maxExamples)
		texts = nil
	}
	for i, text := range texts {
		out = append(out, known.Example{Text: text, Rule: d.rule(fmt.Sprintf("%s[%d]", at, i))})
	}
	return out
}

// pattern compiles a denied command. A pattern of either kind is a list of words: the command and its
// arguments. Matching a substring of the script would be useless, because the shell changes the text before
// it runs.
func (d scripts) pattern(at string, p schema.DenyPattern) (profiles.Pattern, bool) {
	if p.Kind != "" && p.Kind != "argv" && p.Kind != "literal" {
		d.report(at+".kind", CodeUnsupported, "write the command and its flags as words: rm -rf",
			"nothing matches a denied pattern of kind %s", clip(p.Kind))
		return profiles.Pattern{}, false
	}
	here := at + ".pattern"
	words, ok := d.plainWords(here, p.Pattern, hintPlainPattern)
	if !ok {
		return profiles.Pattern{}, false
	}
	if isFlag(words[0]) || strings.HasSuffix(words[0], "/") {
		d.report(here, codePattern, "start with the command: rm -rf", "%q is not a command", clip(words[0]))
		return profiles.Pattern{}, false
	}
	return profiles.Pattern{Words: words, Text: p.Pattern, Reason: d.sentence(at+".reason", p.Reason),
		Instead: d.instead(at+".instead", p.Instead), Rule: d.rule(here)}, true
}

// plainWords splits the text of a rule at white space. It rejects characters that have a meaning in the
// shell, such as quotes, because a rule is compared literally.
func (d scripts) plainWords(at, text, hint string) ([]string, bool) {
	words := strings.Fields(text)
	switch i := strings.IndexAny(text, "'\"`\\$|;&<>(){}*?[]!#\x00\r\n"); {
	case len(words) == 0:
		d.report(at, codePattern, "", "the pattern is empty")
	case i >= 0:
		d.report(at, codePattern, hint, "%q has no special meaning in a pattern", text[i:i+1])
	case strings.ContainsFunc(strings.Join(words, ""), schema.Unseen):
		d.report(at, codePattern, "write it again by hand", "%q contains an invisible character", clip(text))
	case len(words) > maxWords:
		d.report(at, codePattern, "", "has more than %d words", maxWords)
	default:
		return words, true
	}
	return nil, false
}

// programs reports the findings about the programs and patterns of a compiled agent.
func (d scripts) programs(agent profiles.Agent) {
	d.told.Agent, d.told.Compact = agent, d.policy.Compact
	for _, f := range known.CheckPrograms(d.told) {
		d.reportAt(f.Rule, schema.Diagnostic{Code: f.Code, Msg: f.Msg, Hint: f.Hint}, f.Warning, f.Related...)
	}
}

// reportAt adds a finding at a rule.
func (d *document) reportAt(at profiles.Rule, f schema.Diagnostic, warning bool, related ...profiles.Rule) {
	if warning {
		f.Severity = schema.Warning
	}
	for _, r := range related {
		f.Related = append(f.Related, posOf(r))
	}
	d.add(schema.Origin{Pos: posOf(at), Path: at.Path, Layer: at.Layer}, f)
}

func posOf(r profiles.Rule) schema.Pos {
	return schema.Pos{File: r.File, Line: r.Line, Column: r.Column}
}
