package profiles

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// maxArgs bounds the words of one exec action.
const maxArgs = 4096

// Exec decides starting one program: argv[0] is the program's absolute path
// and is listed, and no denied pattern matches the words. A listed program
// whose arguments start another program (env, find -exec, sh -c) is refused
// here: reading what it would start is the shell executor's work.
//
// Matching is conservative: where the options of a program are not known, a
// pattern matches rather than not.
func (d *Decider) Exec(a ExecAction) Decision {
	argv := a.Argv
	if dec, closed := d.refuse(); closed {
		return dec
	}
	if d.agent.Shell == nil {
		return d.notGranted(ExecutorShell)
	}
	if len(argv) == 0 || len(argv) > maxArgs {
		return d.deny(CodeActionMalformed, nil, "argv has %d words", len(argv))
	}
	for _, w := range argv {
		if strings.IndexByte(w, 0) >= 0 {
			return d.deny(CodeActionMalformed, nil, "argv holds a NUL byte")
		}
	}
	program := argv[0]
	bin := d.binaries[program]
	if !cleanPath(program) || bin == nil {
		dec := d.deny(CodeExecNotGranted, &d.agent.Shell.Rule, "%q is not a listed program", clip(program))
		dec.Instead = nearest(program, d.programs)
		dec.Evidence = &Evidence{Argv: argv}
		return dec
	}
	w := words.Split(argv)
	for _, p := range d.patterns[path.Base(program)] {
		if w.Match(p.Words[1:]) {
			dec := d.deny(CodeExecDenied, &p.Rule, "%s matches the denied pattern %q", clip(w.Text()), p.Text)
			if p.Reason != "" {
				dec.Reason += ": " + p.Reason
			}
			dec.Evidence = &Evidence{Argv: argv}
			return dec
		}
	}
	if word, starts := w.Starts(); starts {
		dec := d.deny(CodeExecutorUnavailable, &bin.Rule,
			"%s can start another program (%s): only the shell executor can decide that, and this build has none", program, clip(word))
		dec.Evidence = &Evidence{Argv: argv}
		return dec
	}
	start := &Start{Path: program, Argv: argv}
	if ask := asked(bin, w); ask != nil {
		return Decision{Verdict: Ask, Code: CodeApprovalRequired, Reason: "an approval is needed", Rule: known(&ask.Approval.Rule),
			Start: start, Revision: d.revision}
	}
	return Decision{Verdict: Allow, Code: CodeAllowed, Reason: program + " is listed", Rule: known(&bin.Rule), Start: start, Revision: d.revision}
}

// asked is the rule by which people have to approve the words; nil: none.
func asked(bin *Binary, w *words.Words) *AskRule {
	for i := range bin.Ask {
		if w.Match(bin.Ask[i].Pattern.Words) {
			return &bin.Ask[i]
		}
	}
	return nil
}
