// Package runner owns the running of a script that was read: the one place where
// mvdan's interpreter is made, with every handler of it set, so that nothing of
// the host is reached but what Host gives. The guest calls it with a Host that
// does things, package dryrun with one that does nothing.
//
// A refusal stops the script wherever it happens: in a pipe, in the background,
// in a substitution, in a trap. It starts no program and opens no file itself.
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

// Host is all that a script can reach. Its methods may be called concurrently,
// for the parts of a pipe and for what runs in the background. An error that is a
// *profiles.Denial is a refusal, an *fs.PathError a failure that the script sees;
// every other error is a fault. A refusal and a fault stop the script.
type Host interface {
	// Start starts a program and waits for it. The context ends when the script is
	// stopped, and then the program has to be killed.
	Start(ctx context.Context, p Program) (exit uint8, err error)
	// Open opens a file for a redirect, source or $(<file).
	Open(ctx context.Context, f File) (io.ReadWriteCloser, error)
	// Look says what is at a path: for tests, cd and globs.
	Look(ctx context.Context, l Look) (Seen, error)
	// Set is told of a variable that the Decider refuses. Without an error the
	// script goes on.
	Set(ctx context.Context, name, value string) error
	// Keep makes a file of content that programs of the script can read until the
	// script ends, and gives its path. It is what <(list) stands for.
	Keep(ctx context.Context, content []byte) (string, error)
}

// Rules decide what a shell does itself. A *profiles.Decider is one.
type Rules interface {
	Command(c argv.Command) (profiles.Decision, command.Judgement)
	Variable(a profiles.VariableAction) profiles.Decision
}

// Program is a program start with its final words.
type Program struct {
	Argv           []string // Argv[0] as it was called
	Dir            string   // absolute and clean
	Env            []string // NAME=value of all exported variables, sorted
	Stdin          io.Reader
	Stdout, Stderr io.Writer // *os.File where it is one
	At
}

// At is where in the outermost script something happens.
type At struct {
	Line, Column int      // 0: not known
	Chain        []string // what leads to it: "bash -c", "eval"
}

// What a redirect does with a file.
const (
	Read   = "read"
	Write  = "write"
	Append = "append"
)

// File is a file to be opened.
type File struct {
	Op   string // Read, Write or Append
	Path string // absolute, not cleaned of symbolic links
	At
}

// Look asks for what is at a path.
type Look struct {
	Path   string // absolute and clean
	Link   bool   // of the link itself
	List   bool   // the entries of a folder
	Enter  bool   // a dry run has gone there: it is a folder
	Access uint32 // 4 read, 2 write, 1 execute or enter; 0: not asked
}

// Seen answers a Look.
type Seen struct {
	Info    fs.FileInfo   // unless List or Access was asked
	Entries []fs.DirEntry // of List, sorted
}

// Limits bound a run; a zero field takes its default.
type Limits struct {
	Steps int   // statements
	Depth int   // statements inside of statements, of functions and shells as well
	Bytes int64 // of variables, and of what one expansion makes
	Shell int   // shells inside of shells
}

// The defaults of Limits.
const (
	defaultSteps = 20_000_000
	defaultDepth = 5000
	DefaultBytes = 32 << 20
	defaultShell = 16
)

// Config says how a script runs. The zero Config is refused.
type Config struct {
	Host    Host
	Decider Rules     // a *profiles.Decider
	Dir     string    // absolute and clean
	Env     []string  // NAME=value, exported; PATH, HOME and TMPDIR among them
	State   *State    // of an earlier run; nil: none
	Name    string    // $0; "" is bash
	Params  []string  // $1 and on
	Stdin   io.Reader // best an *os.File; nil: nothing can be read
	Stdout  io.Writer // nil: thrown away
	Stderr  io.Writer
	User    int // $UID, $EUID
	Now     func() time.Time
	Limits  Limits
	Dry     bool // a dry run: a refusal is kept and the script goes on
	// Check decides what the text says that a script runs by eval, trap, source or a
	// shell, before it runs; a Deny refuses. Nil: its commands are decided as they
	// come. Functions are names that the shell has functions of.
	Check func(ctx context.Context, s *script.Script, dir string, functions []string) profiles.Decision
}

// State is what a script leaves behind for another: of a session.
type State struct {
	Dir       string            `json:"dir"`
	Variables []Variable        `json:"variables,omitempty"` // sorted
	Functions map[string]string `json:"functions,omitempty"` // text of each, as it was written
	Options   string            `json:"options,omitempty"`   // as in $-, and what has no letter by name
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

// Refusal is one refused thing.
type Refusal struct {
	Decision profiles.Decision
	Output   bool // of a text with Output in it
	At
}

// Result is how a script ended.
type Result struct {
	Exit    uint8     // profiles.ExitRefused after a refusal
	Refused []Refusal // the first; of a dry run all, in the order of the text
	Endless string    // not "": the bound that the script ran into
	State   *State    // nil after a refusal or a fault, and of a dry run
}

// ExitBound is the exit code of a script that ran into a bound; that of a refusal is
// profiles.ExitRefused.
const ExitBound = 125

// Run runs a script and returns when it has ended and no Host call is open. The
// error is a fault of the host, or that of ctx when it ended; then the Result has
// no State. It must not be called again with a Config whose Stdin is in use. It
// takes the tree of s, and only reads its text: nobody else may use s meanwhile.
func Run(ctx context.Context, c Config, s *script.Script) (Result, error) {
	if c.Host == nil || c.Decider == nil || s == nil || !path.IsAbs(c.Dir) || c.Now == nil {
		return Result{Exit: profiles.ExitRefused}, errors.New("run script: host, decider, clock, folder and script are needed")
	}
	return run(ctx, c, s)
}
