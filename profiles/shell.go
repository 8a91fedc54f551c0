package profiles

import (
	"path"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
	"github.com/ringd/ringd/profiles/paths"
	"github.com/ringd/ringd/profiles/spelling"
)

// shellIndex is the indexed shell profile.
type shellIndex struct {
	rules *command.Rules
	place string // folder that a script may write without file grants
	// listed returns the listed programs and their basenames, sorted. It is computed at the first denial.
	listed func() (paths, names []string)
}

// newShellIndex indexes the programs as of a time. A program whose exception has ended keeps its position in
// the list, but cannot be found by its path.
func newShellIndex(s *Shell, workspace string, now time.Time) shellIndex {
	cfg := command.Config{Binaries: make([]command.Binary, len(s.Binaries)),
		Patterns: make([][]string, len(s.DeniedPatterns))}
	x := shellIndex{place: scriptWorkspace, listed: sync.OnceValues(func() (paths, names []string) {
		for _, b := range s.Binaries {
			if !live(b.Expires, now) {
				continue
			}
			paths, names = append(paths, b.Path), append(names, path.Base(b.Path))
		}
		return spelling.Sorted(paths), spelling.Sorted(names)
	})}
	for i, b := range s.Binaries {
		one := command.Binary{Path: b.Path, Interpreted: b.Interpreted, Deny: wordsOf(b.Deny), MaxArgs: b.MaxArgs,
			SafeConfig: b.SafeConfig}
		if b.Allow != nil {
			one.Allow = append([][]string{}, wordsOf(b.Allow)...)
		}
		for _, a := range b.Ask {
			one.Ask = append(one.Ask, a.Pattern.Words)
		}
		for _, h := range b.Helpers {
			one.Helpers = append(one.Helpers, h.Path)
		}
		if !live(b.Expires, now) {
			one.Path = ""
		}
		cfg.Binaries[i] = one
	}
	for i, p := range s.DeniedPatterns {
		cfg.Patterns[i] = p.Words
	}
	x.rules = command.New(cfg)
	if paths.Clean(workspace) {
		x.place = workspace
	}
	return x
}

func wordsOf(list []Pattern) [][]string {
	var out [][]string
	for _, p := range list {
		out = append(out, p.Words)
	}
	return out
}

// Shell decides a script as Environment.Script reads it.
func (d *Decider) Shell(a ShellAction) Decision {
	if dec, closed := d.noShell(); closed {
		return dec
	}
	if d.script == nil {
		return d.deny(CodeExecutorUnavailable, &d.agent.Shell.Rule,
			"this build has no shell executor to read the script")
	}
	return d.script(d, a)
}

// noShell returns the denial and true if the agent may not run scripts.
func (d *Decider) noShell() (Decision, bool) {
	if dec, closed := d.refuse(); closed {
		return dec, true
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell), true
	}
	return Decision{}, false
}

// Command decides a command whose words may be known only in part. If that is not enough to decide (Judgement
// is unsettled), the decision is a Deny with CodeShellUnsettled, and the final words may still be allowed.
// The caller must also read the scripts in Judgement.Scripts, and program text on standard input. Until then
// an Allow is not final.
func (d *Decider) Command(c argv.Command) (Decision, command.Judgement) {
	if dec, closed := d.noShell(); closed {
		return dec, command.Judgement{}
	}
	j := d.shell.rules.Judge(c)
	return shellJudgement{d, j}.decision(), j
}

// shellJudgement is a finding of the command rules for the policy of a decider.
type shellJudgement struct {
	*Decider
	command.Judgement
}

// decision adds the matching rule of the policy and the text that its author wrote.
func (d shellJudgement) decision() Decision {
	f := d.Finding
	dec := Decision{Code: Code(f.Code), Reason: f.Reason, Rule: ruleOrNil(&d.agent.Shell.Rule), Revision: d.revision}
	if d.Verdict != command.Allow {
		dec.Evidence, dec.Instead = &Evidence{Argv: f.Argv, Chain: f.Chain}, f.Instead
	}
	switch d.Verdict {
	case command.Allow:
		dec.Verdict, dec.Code, dec.Reason = Allow, CodeAllowed, "builtins are allowed"
		if f.Binary >= 0 {
			b := &d.agent.Shell.Binaries[f.Binary]
			dec.Rule, dec.Reason = ruleOrNil(&b.Rule), b.Path+" is listed"
			if b.Exception != "" {
				dec.Exception, dec.Reason = b.Exception, dec.Reason+" by exception "+b.Exception
			}
		}
	case command.Ask:
		if a := d.agent.Shell.askRule(f); a != nil {
			dec.Verdict, dec.Code, dec.Rule = Ask, CodeApprovalRequired, ruleOrNil(&a.Approval.Rule)
			dec.Reason = strings.TrimSuffix(dec.Reason, "an approval") + a.Approval.words()
			addAuthorText(&dec, &a.Pattern)
		}
	case command.Unsettled:
		dec.Code = CodeShellUnsettled
		d.explainDenial(&dec)
	case command.Deny:
		d.explainDenial(&dec)
	default:
		dec.Code = CodeShellUnsettled
	}
	return dec
}

// askRule returns the rule of a finding that needs an approval, or nil.
func (s *Shell) askRule(f command.Finding) *AskRule {
	if f.Binary < 0 || f.Ask < 0 {
		return nil
	}
	return &s.Binaries[f.Binary].Ask[f.Ask]
}

// explainDenial adds to a denial its rule, the text that the rule's author wrote, and the suggested
// alternative.
func (d shellJudgement) explainDenial(dec *Decision) {
	s, f := d.agent.Shell, d.Finding
	switch {
	case f.Pattern >= 0:
		addAuthorText(dec, &s.DeniedPatterns[f.Pattern])
	case f.Binary >= 0 && f.Deny >= 0:
		addAuthorText(dec, &s.Binaries[f.Binary].Deny[f.Deny])
	case f.Binary >= 0 && f.Allow >= 0:
		addAuthorText(dec, &s.Binaries[f.Binary].Allow[f.Allow])
	case f.Binary >= 0:
		dec.Rule = ruleOrNil(&s.Binaries[f.Binary].Rule)
	}
	if dec.Code == CodeExecNotGranted && len(dec.Instead) == 0 && len(f.Argv) > 0 {
		paths, names := d.shell.listed()
		if strings.Contains(f.Argv[0], "/") {
			names = paths
		}
		dec.Instead = spelling.Instead(f.Argv[0], names)
	}
	if dec.Code == CodeExecNotGranted && len(f.Argv) > 0 {
		addEnded(dec, d.agent.Exceptions, d.now, func(g *Excepted) bool { return g.Program(f.Argv[0]) })
	}
}

// addAuthorText adds the text of a pattern's author to a decision.
func addAuthorText(dec *Decision, p *Pattern) {
	if ruleOrNil(&p.Rule) != nil && dec.Verdict != Ask {
		dec.Rule = &p.Rule
	}
	if p.Reason != "" {
		dec.Reason += ": " + p.Reason
	}
	if len(p.Instead) > 0 {
		dec.Instead = p.Instead
	}
}

// Variable decides setting a variable.
func (d *Decider) Variable(a VariableAction) Decision {
	dec, _ := d.Assign(a.Name, argv.Known(a.Value))
	return dec
}

// Assign decides on setting a variable to a value that may be known only in part. If only the final value can
// decide, it returns false and a Deny.
func (d *Decider) Assign(name string, value argv.Word) (Decision, bool) {
	if dec, closed := d.noShell(); closed {
		return dec, true
	}
	reason, refused, maybe := command.VariableRefused(name, value)
	switch {
	case refused:
		dec := d.deny(CodeVariable, &d.agent.Shell.Rule, "%s", clip(reason))
		dec.Instead = command.VariableInstead(name)
		return dec, true
	case maybe:
		return d.deny(CodeShellUnsettled, &d.agent.Shell.Rule, "%s", clip(reason)), false
	default:
		return Decision{Verdict: Allow, Code: CodeAllowed, Reason: "the variable does not change what programs do",
			Rule: ruleOrNil(&d.agent.Shell.Rule), Revision: d.revision}, true
	}
}

// Builtin decides whether scripts may use a builtin of the shell. The arguments of the builtin are decided by
// Command. Builtin returns false if the shell has no builtin with that name.
func (d *Decider) Builtin(name string) (Decision, bool) {
	if dec, closed := d.noShell(); closed {
		return dec, true
	}
	why, is := command.Builtin(name)
	switch {
	case !is:
		return d.deny(CodeShellBuiltin, &d.agent.Shell.Rule, "the shell has no builtin %q", clip(name)), false
	case why != "":
		return d.deny(CodeShellBuiltin, &d.agent.Shell.Rule, "%s", why), true
	default:
		return Decision{Verdict: Allow, Code: CodeAllowed, Reason: "scripts have the builtin " + name,
			Revision: d.revision}, true
	}
}
