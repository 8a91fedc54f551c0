// Package command owns the decision on one simple command: the program that its first word
// names, whether a denied pattern or a rule of the program matches its words, the programs
// that it would start because of its words, and the variables that it sets. Words may be
// known only in part, as in a script before it runs. Then the verdict may be Unsettled,
// which is not a permission.
//
// It denies programs that are not listed. It does not parse scripts: it returns scripts that
// a command would run, and the caller parses or denies them.
//
// Package profiles and the shell executor call it.
package command

import (
	"github.com/ringd/ringd/profiles/argv"
)

// Verdict is the decision on a command. The zero Verdict denies.
type Verdict uint8

// The verdicts, from strict to loose.
const (
	Deny      Verdict = iota // denied, whatever its unknown words are
	Unsettled                // its final words decide
	Ask                      // allowed after an approval
	Allow
)

// String returns "deny", "unsettled", "ask" or "allow". Every unknown value is "deny".
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Unsettled:
		return "unsettled"
	case Deny:
		return "deny"
	default:
		return "deny"
	}
}

// Judgement is the decision on one command.
type Judgement struct {
	Verdict Verdict
	Finding Finding
	// Path is the listed program to start. It is empty for a builtin, and for a shell that ringd interprets.
	Path    string
	Program int // index in Config.Binaries; only valid with Path
	Builtin bool
	Scripts []argv.Script // must be decided before the verdict is final
	Nested  []Nested      // listed programs that it starts
	// Stdin is the language of the program that the command reads from its standard input, as a name of
	// package programs. It is empty if the command reads none. If the input is unknown, that program has not
	// been checked.
	Stdin string
}

// Nested is a listed program that a command starts because of its words.
type Nested struct {
	Binary  int // in Config.Binaries
	Words   []argv.Word
	Cleared bool // it may not get its starter's environment
}

// Finding is the reason of a decision.
type Finding struct {
	Code    string // of profiles
	Reason  string
	Instead []string
	Argv    []string // the matching words, as far as they are known
	Chain   []string // the commands that lead to them: "find -exec", "timeout"
	// Indexes of the deciding rules in the profile; -1 is none. At most one list of Binary has an index.
	Pattern, Binary  int
	Deny, Allow, Ask int // of Binary
}

// Codes of a Finding. Package profiles documents them.
const (
	codeAllowed    = "allowed"
	codeNotListed  = "exec.not_granted"
	codePattern    = "shell.denied_pattern"
	codeSubcommand = "shell.subcommand"
	codeConfig     = "shell.config"
	codeStarts     = "shell.starts"
	codeOpaque     = "shell.opaque"
	codeUnsettled  = "shell.unsettled"
	codeVariable   = "shell.variable"
	codeBuiltin    = "shell.builtin"
	codeSize       = "shell.size"
	codeAsk        = "approval_required"
)
