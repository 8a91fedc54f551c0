// Package command owns the decision of one simple command: which program its first word names,
// whether a denied pattern or a rule of the program matches its words, what it would start by them,
// and which variables it sets. Words may be known in part, as a script has them before it runs.
// Then the verdict may be Unsettled, which is no permission.
//
// It refuses a program that is not listed, and reads no shell: the caller gets scripts that a
// command would run, and reads or refuses them.
//
// Package profiles and the executor of shell scripts call it.
package command

import (
	"github.com/ringd/ringd/profiles/argv"
)

// Verdict is what is known of a command. The zero Verdict denies.
type Verdict uint8

// The verdicts, from strict to loose.
const (
	Deny      Verdict = iota // refused, whatever its unknown words are
	Unsettled                // its final words decide
	Ask                      // allowed once people approve it
	Allow
)

// String returns "deny", "unsettled", "ask" or "allow"; every unknown value is "deny".
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

// Judgement is the decision of one command.
type Judgement struct {
	Verdict Verdict
	Finding Finding
	// Path is the listed program that starts. It is empty for a builtin, and for a shell that ringd
	// interprets.
	Path    string
	Program int // its place in Config.Binaries; counts with Path alone
	Builtin bool
	Scripts []argv.Script // to be read before the verdict counts
	Nested  []Nested      // listed programs that it starts
	// Stdin is the language of the program that the command reads from its standard input, in a name
	// of package programs. If it is empty, the command reads none. If the input is not known, nobody
	// has read that program.
	Stdin string
}

// Nested is a listed program that a command starts by its words.
type Nested struct {
	Binary  int // in Config.Binaries
	Words   []argv.Word
	Cleared bool // it may not get the environment that its starter has
}

// Finding is what decided, in words.
type Finding struct {
	Code    string // of profiles
	Reason  string
	Instead []string
	Argv    []string // the words that met it, as far as they are known
	Chain   []string // what leads to them: "find -exec", "timeout"
	// The places in the profile that decided; -1 is none. At most one of Binary's lists has a place.
	Pattern, Binary  int
	Deny, Allow, Ask int // of Binary
}

// Codes that a Finding has; package profiles says what they mean.
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
