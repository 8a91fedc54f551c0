// Package runner runs a parsed script. It is the only place where mvdan's interpreter is made. Every handler of
// the interpreter is set, so that only Host reaches anything outside. The guest calls it with a Host that acts,
// package dryrun with a Host that has no effects.
//
// A denial stops the script wherever it happens: in a pipe, in the background, in a substitution, in a trap.
// The package itself starts no program and opens no file.
package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// Host is everything that a script can reach. Its methods may be called concurrently, for the parts of a pipe
// and for background jobs. An error that is a *profiles.Denial is a denial. An *fs.PathError is a failure that
// the script sees. Every other error is a fault. A denial and a fault stop the script.
type Host interface {
	// Start starts a program and waits for it. The context ends when the script is stopped. The program has to
	// be killed then.
	Start(ctx context.Context, p Program) (exit uint8, err error)
	// Open opens a file for a redirect, source or $(<file).
	Open(ctx context.Context, f File) (io.ReadWriteCloser, error)
	// Look returns the state of a path, for tests, cd and globs.
	Look(ctx context.Context, l Look) (Seen, error)
	// Set reports a variable that the Decider denies. If it returns nil, the script continues.
	Set(ctx context.Context, name, value string) error
	// Keep makes a file with this content, which programs of the script can read until the script ends, and
	// returns its path. <(list) expands to it.
	Keep(ctx context.Context, content []byte) (string, error)
}

// Rules decide the commands that a shell runs itself. A *profiles.Decider implements them.
type Rules interface {
	Command(c argv.Command) (profiles.Decision, command.Judgement)
	Variable(a profiles.VariableAction) profiles.Decision
}

// Program is a program start with its final words.
type Program struct {
	Argv           []string // Argv[0] as the script wrote it
	Dir            string   // absolute and clean
	Env            []string // NAME=value of all exported variables, sorted
	Stdin          io.Reader
	Stdout, Stderr io.Writer // *os.File if it is one
	At
}

// At is the position in the outermost script at which something happens.
type At struct {
	Line, Column int      // 0: not known
	Chain        []string // commands that lead to it: "bash -c", "eval"
}

// The operations of a redirect on a file.
const (
	Read   = "read"
	Write  = "write"
	Append = "append"
)

// File is a file to open.
type File struct {
	Op   string // Read, Write or Append
	Path string // absolute, symbolic links not resolved
	At
}

// Look asks for the state of a path.
type Look struct {
	Path   string // absolute and clean
	Link   bool   // of the link itself
	List   bool   // the entries of a folder
	Enter  bool   // a dry run has gone there: it is a folder
	Access uint32 // 4 read, 2 write, 1 execute or enter; if 0, not asked
}

// Seen answers a Look.
type Seen struct {
	Info    fs.FileInfo   // unless List or Access was asked
	Entries []fs.DirEntry // of List, sorted
}

// Limits limit a run. A zero field takes its default.
type Limits struct {
	Steps int   // statements
	Depth int   // nesting of statements, through functions and shells as well
	Bytes int64 // of variables, and of the result of one expansion
	Shell int   // nesting of shells
}

// The defaults of Limits.
const (
	defaultSteps = 20_000_000
	defaultDepth = 5000
	DefaultBytes = 32 << 20
	defaultShell = 16
)

// Config says how a script runs. The zero Config is rejected.
type Config struct {
	Host    Host
	Decider Rules     // a *profiles.Decider
	Dir     string    // absolute and clean
	Env     []string  // NAME=value, exported; PATH, HOME and TMPDIR among them
	State   *State    // of an earlier run, or nil
	Name    string    // $0; if empty, bash
	Params  []string  // $1 and following
	Stdin   io.Reader // preferably an *os.File; if nil, nothing can be read
	Stdout  io.Writer // if nil, output is dropped
	Stderr  io.Writer
	User    int // $UID, $EUID
	Now     func() time.Time
	Limits  Limits
	Dry     bool // a dry run: a denial is recorded and the script continues
	// Check decides a text that a script runs by eval, trap, source or a shell, before it runs. A Deny denies
	// it. If Check is nil, the commands of the text are decided one by one. functions are the names of the
	// shell's functions.
	Check func(ctx context.Context, s *script.Script, dir string, functions []string) profiles.Decision
}

// State is the state of a script at its end, for the next script of the session.
type State struct {
	Dir       string            `json:"dir"`
	Variables []Variable        `json:"variables,omitempty"` // sorted
	Functions map[string]string `json:"functions,omitempty"` // source of each, as it was written
	Options   string            `json:"options,omitempty"`   // as in $-, and options without a letter by name
}

// Variable is one variable of a State.
type Variable struct {
	Name     string            `json:"name"`
	Value    string            `json:"value,omitempty"`
	List     []string          `json:"list,omitempty"`
	Indexes  []int             `json:"indexes,omitempty"`
	Map      map[string]string `json:"map,omitempty"`
	Kind     string            `json:"kind,omitempty"` // "", list or map
	Exported bool              `json:"exported,omitempty"`
	ReadOnly bool              `json:"readOnly,omitempty"`
}

// Refusal is one denial.
type Refusal struct {
	Decision profiles.Decision
	Output   bool // the denied text contains Output
	At
}

// Result is how a script ended.
type Result struct {
	Exit    uint8     // profiles.ExitRefused after a denial
	Refused []Refusal // the first denial; in a dry run all of them, in the order of the text
	Endless string    // the limit that the script exceeded, or empty
	State   *State    // nil after a denial or a fault, and in a dry run
}

// ExitBound is the exit code of a script that exceeded a limit. After a denial it is profiles.ExitRefused.
const ExitBound = 125

// Run runs a script. It returns when the script has ended and no Host call is open. The error is a fault of the
// host, or that of ctx if it ended; then the Result has no State. Run must not be called with a Config whose
// Stdin is in use by another call. It takes the tree of s and only reads its text; no other caller may use s
// meanwhile.
func Run(ctx context.Context, c Config, s *script.Script) (Result, error) {
	if c.Host == nil || c.Decider == nil || s == nil || !path.IsAbs(c.Dir) || c.Now == nil {
		return Result{Exit: profiles.ExitRefused}, errors.New(
			"run script: host, decider, clock, folder and script are needed",
		)
	}
	return run(ctx, c, s)
}
