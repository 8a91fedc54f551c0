// Package command owns the decision of one simple command: which program its
// first word names, whether a denied pattern or a rule of the program matches its
// words, what it would start by them, and which variables it sets. It decides on
// words, never on text, and reads no shell: scripts that a command would run come
// back to the caller, who reads them or refuses.
//
// It is pure. Words may be known in part, as a script has them before it runs:
// then the verdict may be Unsettled, which is no permission.
package command

import (
	"github.com/ringd/ringd/profiles/words"
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

// Command is a simple command of a script, or one that another would start.
type Command struct {
	Words []words.Word
	Set   []Assignment // in front of it, or what its environment has unlike that of the start
	More  bool         // further unknown words may follow, as behind xargs
	// Outside says that a program starts it, not the shell: its first word is no
	// builtin and no function.
	Outside bool
}

// Assignment sets a variable.
type Assignment struct {
	Name  string
	Value words.Word
}

// Script is shell text that a command would run, by eval, trap, sh -c and their
// like. The caller reads it and decides each of its commands.
type Script struct {
	Text   string
	Known  bool         // false: nobody can read it before it runs
	Params []words.Word // $0 and on, where the command gives some
	Chain  []string     // what leads to it, as in Judgement
	Shell  string       // "" where the shell itself runs it (eval, trap), else the shell's name
	// Outside says that a program would start the shell: ringd cannot interpret it.
	Outside bool
}

// Judgement is the decision of one command.
type Judgement struct {
	Verdict Verdict
	Finding Finding
	// Path is the listed program that starts; "" for a builtin, and for a shell that
	// ringd interprets.
	Path    string
	Builtin bool
	Scripts []Script // to be read before the verdict counts
}

// Finding is what decided, in words.
type Finding struct {
	Code    string // of profiles
	Reason  string
	Instead []string
	Argv    []string // the words that met it, as far as they are known
	Chain   []string // what leads to them: "find -exec", "timeout"
	// What of the profile it is; -1: none. At most one of Binary's lists is meant.
	Pattern, Binary  int
	Deny, Allow, Ask int // of Binary
}
