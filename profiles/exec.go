package profiles

import (
	"path"
	"slices"
	"strings"
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
func (d *Decider) Exec(argv []string) Decision {
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
	w := splitWords(argv)
	for _, p := range d.patterns[path.Base(program)] {
		if w.match(p.Words[1:]) {
			dec := d.deny(CodeExecDenied, &p.Rule, "%s matches the denied pattern %q", clip(w.text()), p.Text)
			if p.Reason != "" {
				dec.Reason += ": " + p.Reason
			}
			dec.Evidence = &Evidence{Argv: argv}
			return dec
		}
	}
	if word, starts := startsOther(w); starts {
		dec := d.deny(CodeExecutorUnavailable, &bin.Rule,
			"%s can start another program (%s): only the shell executor can decide that, and this build has none", program, clip(word))
		dec.Evidence = &Evidence{Argv: argv}
		return dec
	}
	return Decision{Verdict: Allow, Code: CodeAllowed, Reason: program + " is listed", Rule: known(&bin.Rule), Revision: d.revision}
}

// words is an argv read the way most programs read theirs.
type words struct {
	base    string
	argv    []string
	long    []string // --force, --force=x as "--force"
	short   [256]bool
	single  []string // -name: the whole word, for programs with long single-dash options
	leading []string // operands after the global options of a program with sub-commands
	sure    bool     // the first of leading is the sub-command
}

func splitWords(argv []string) *words {
	w := &words{base: path.Base(argv[0]), argv: argv}
	for _, a := range argv[1:] {
		if a == "--" {
			break
		}
		switch {
		case a == "-" || !strings.HasPrefix(a, "-"):
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a, "=")
			w.long = append(w.long, name)
		default:
			name, _, _ := strings.Cut(a, "=")
			w.single = append(w.single, name)
			for i := 1; i < len(name); i++ {
				w.short[name[i]] = true
			}
		}
	}
	w.leading, w.sure = leadingOperands(w.base, argv[1:])
	return w
}

func (w *words) text() string { return strings.Join(append([]string{w.base}, w.argv[1:]...), " ") }

// match reports whether every further word of a pattern is there: flags in any
// order, operands in theirs.
func (w *words) match(pattern []string) bool {
	var operands []string
	plain := false
	for _, p := range pattern {
		switch {
		case plain || p == "-" || !strings.HasPrefix(p, "-"):
			operands = append(operands, p)
		case p == "--":
			plain = true
		case strings.HasPrefix(p, "--"):
			if !w.hasLong(p) {
				return false
			}
		default:
			if !w.hasCluster(p) {
				return false
			}
		}
	}
	if len(operands) == 0 {
		return true
	}
	if w.sure && w.first() != operands[0] {
		return false
	}
	return subsequence(operands, w.argv[1:])
}

// hasCluster reports whether the short flags of p are all there, or p stands
// there whole (find -delete).
func (w *words) hasCluster(p string) bool {
	if slices.Contains(w.single, p) {
		return true
	}
	if wholeWords(w.base) {
		return false
	}
	for i := 1; i < len(p); i++ {
		if !w.hasShort(p[i]) {
			return false
		}
	}
	return true
}

func (w *words) hasShort(c byte) bool {
	if w.short[c] {
		return true
	}
	if other, ok := sameShort(w.base, c); ok && w.short[other] {
		return true
	}
	name := longOf(w.base, w.first(), c)
	return name != "" && w.abbreviates(name)
}

func (w *words) hasLong(p string) bool {
	name, _, _ := strings.Cut(p, "=")
	if w.abbreviates(name) {
		return true
	}
	for c := range 128 {
		if longOf(w.base, w.first(), byte(c)) == name && w.hasShort(byte(c)) {
			return true
		}
	}
	return false
}

// abbreviates reports whether a long flag is name or an abbreviation of it.
func (w *words) abbreviates(name string) bool {
	return slices.ContainsFunc(w.long, func(l string) bool {
		return len(l) > 2 && strings.HasPrefix(name, l)
	})
}

// first is the sub-command, as well as it is known.
func (w *words) first() string {
	if len(w.leading) > 0 {
		return w.leading[0]
	}
	return ""
}

// subsequence reports whether the words of want stand in have, in their order.
// A word may also be joined to an option: -XPOST, --request=POST.
func subsequence(want, have []string) bool {
	for _, h := range have {
		if len(want) > 0 && (h == want[0] || strings.HasPrefix(h, "-") && strings.HasSuffix(h, want[0])) {
			want = want[1:]
		}
	}
	return len(want) == 0
}
