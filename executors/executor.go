// Package executors declares what runs agent code: the Executor, the guest
// protocol it speaks, and the two things it needs from outside, a Launcher that
// starts a guest process and a Host that answers its questions.
//
// An executor enforces and never decides: every effect of a program is a
// Question to the Host. The interpreter ring calls executors; executors know
// profiles and never policy.
package executors

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Executor runs programs of one language. It is safe for concurrent use.
type Executor interface {
	// Name is "js", "python" or "shell".
	Name() string
	// Run runs one program to its end and returns its outcome. It returns an
	// error only when the program did not run or its end is not known; what a
	// program does wrong is in the outcome. When ctx ends, the guest is gone
	// before Run returns, and the outcome's State is cancelled or limit.
	Run(ctx context.Context, r Run, h Host) (Outcome, error)
	// Close ends every guest and waits for them.
	Close() error
}

// Living is an Executor whose sessions are processes that live between two runs:
// Outcome.Snapshot stands for one.
type Living interface {
	// Forget ends the process that a snapshot stands for, if it does for one.
	Forget(snapshot []byte)
	// Living is how many there are, and the memory that they have taken.
	Living() (sessions int, bytes int64)
}

// Run is one program with all that bounds it. It is immutable.
type Run struct {
	ID       string
	Actor    string
	Agent    *profiles.Agent
	Grants   []profiles.Grants // that narrow Agent already, and a later policy of it as well
	Revision string
	Modules  map[string]profiles.Module // of the set; the agent's allow list chooses among them
	Program  Program
	Inputs   map[string]json.RawMessage // tagged values by name
	Limits   profiles.Limits            // effective, no nil field
	Seed     [32]byte                   // of the guest's random numbers

	// Pause is given one value to ask that the program stop where it waits; nil
	// is never. A program that does not wait goes on, and stops when it next does
	// or comes to its end. A host that wishes for a pause answers no call any more:
	// an answer that comes once the guest was told ends the run, closed.
	Pause <-chan struct{}
	// Resume goes on from a snapshot; nil starts Program. Program is the same
	// text again, so that errors name its lines, unless Resume.Session is set.
	Resume *Resume
	// Session keeps the state of a program that ended cleanly (done, or failed by
	// itself) in Outcome.Snapshot. A state that cannot be kept leaves it nil.
	Session bool
}

// Resume is where a program goes on. It is immutable.
type Resume struct {
	Engine   string     // digest of the engine that made Snapshot
	Snapshot []byte     // Outcome.Snapshot; that it is authentic is the caller's affair
	Open     []Question // the calls it waits on: each is asked again under its Call
	Used     Usage      // of the parts before; CPU and Wall count against the limits
	Session  bool       // Snapshot is a session's: no program runs in it, Program starts there
}

// ErrPaused is the cause that cancels the questions of a program that stops:
// the call stays open, and a Host returns it.
var ErrPaused = errors.New("the run is paused")

// Errors of a Run with a Resume. Nothing of the program has run.
var (
	// ErrEngine is wrapped when no guest has the engine of the snapshot; the text
	// names its digest.
	ErrEngine = errors.New("no guest has the engine of the snapshot")
	// ErrFormat is wrapped, beside ErrSnapshot, when another version wrote the snapshot.
	ErrFormat = errors.New("a format that this version does not know")
	// ErrSnapshot is wrapped when the snapshot cannot be restored.
	ErrSnapshot = errors.New("the snapshot cannot be restored")
	// ErrSlow is wrapped when that took too long, as on a host that is busy: nothing
	// is known of the snapshot, and it may be tried again.
	ErrSlow = errors.New("the snapshot was not restored in time")
)

// SessionError wraps ErrSnapshot: the process that had a session is gone, or cannot
// serve the run. Why is for whoever asked, and holds nothing of the host.
type SessionError struct{ Why string }

// Error is the reason.
func (e *SessionError) Error() string { return e.Why }

// Unwrap is ErrSnapshot.
func (e *SessionError) Unwrap() error { return ErrSnapshot }

// Program is source text. Name is what frames show.
type Program struct {
	Name     string
	Language string // "js", "ts", "python", "shell"; "" lets the executor choose by Name
	Source   string

	// Of a program that has standard streams and a working directory. Stdin nil is at
	// its end; Dir "" is what the policy grants.
	Stdin []byte `json:",omitempty"`
	Dir   string `json:",omitempty"`
}

// Host answers for one run. Its methods may be called concurrently.
type Host interface {
	// Ask decides and performs one question. A refusal is an Answer with an
	// Error; an error from Ask itself ends the run, closed. It returns soon after
	// ctx ended, which is at the latest when the run is over. When the cause of
	// that is ErrPaused, the call stays open and Ask returns an error that wraps
	// it or context.Canceled; anything else it returns then ends the run, closed,
	// since the snapshot knows nothing of it.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Console takes one console entry as it is written.
	Console(e ConsoleEntry)
	// Idle says that the program can do nothing before one of the open calls,
	// named by id in no order, is answered. An Ask that is open may begin only
	// after Idle has named it, since each runs on its own.
	Idle(open []string)
}

// Question is one bridge call. Args is a JSON array in the tagged encoding,
// copied when the program made the call.
type Question struct {
	Call   string // "c1", unique in the run
	Bridge string
	Args   json.RawMessage

	// Action is set in place of Bridge and Args for what the program wants to do in
	// its guest itself: start a program, open a file, set a variable. The Answer's
	// Value is a profiles.Decision as JSON, allow or deny; a denial is no Error.
	Action *profiles.Action
	// Ahead says that the program has not begun: the action needs an approval, and
	// whoever approves it approves every start with exactly its words in this run.
	// Before the program began a guest can be written down, so such a run pauses.
	// Later it is held.
	Ahead bool

	// Hold is set where the program cannot be written down: the host calls it with
	// true while people are asked about the question, and with false when that is over.
	// The wall time between is not the program's.
	Hold func(bool) `json:"-"`

	// Taken is set where the arguments are not small: the host calls it, once or more
	// often, when the question waits for its turn no longer. Until then little more is
	// read of the guest.
	Taken func() `json:"-"`
}

// Answer settles a question: a tagged value, or an error the program can catch.
type Answer struct {
	Value json.RawMessage
	Error *GuestError
}

// GuestError is what a program sees of a failure. It holds no text, path or
// stack of the host.
type GuestError struct {
	Name    string `json:"name"` // CapabilityDenied, BudgetExceeded, BridgeError, …
	Message string `json:"message"`
}

// Levels of a ConsoleEntry that hold what a program wrote to its standard
// streams: any number of lines, or a part of one, always whole characters.
const (
	LevelStdout = "stdout"
	LevelStderr = "stderr"
)

// ConsoleEntry is one line a program wrote, or a piece of its standard streams.
type ConsoleEntry struct {
	Seq   int64  `json:"seq"`   // goes on after a pause
	Level string `json:"level"` // log, info, warn, error, debug, stdout, stderr
	Text  string `json:"text"`
}

// State is how a run ended. The zero State is unknown.
type State string

// The states of an outcome.
const (
	StateDone      State = "done"
	StateFailed    State = "failed"
	StateDenied    State = "denied"
	StatePaused    State = "paused"
	StateLimit     State = "limit"
	StateCancelled State = "cancelled"
	StateUnknown   State = "unknown"
)

// Outcome is the end of a program as its executor saw it.
type Outcome struct {
	State       State
	Value       json.RawMessage // tagged; nil unless done
	ExitCode    int             // of a shell script (126: refused) or a Python program
	Console     []ConsoleEntry
	Dropped     int64 // bytes of console output over the limit
	Error       *ProgramError
	Denials     []profiles.Decision // what the guest itself refused, as it says; the caller audits them
	Refused     int64               // refusals beside those of Denials
	Imports     []string            // modules that the program itself imported, as its guest says
	Repr        bool                // Value is text that shows a value which is not JSON
	Usage       Usage
	Attestation Attestation
	Engine      string // digest of the engine that ran it
	// Snapshot is set with StatePaused, and by Run.Session after a clean end. When
	// a session could not be kept it is nil and Unkept says why.
	Snapshot []byte
	Unkept   string
}

// ProgramError is an uncaught error, or the limit that ended the run
// (Timeout, OutOfMemory, Deadlock, Cancelled).
type ProgramError struct {
	Name    string  `json:"name"`
	Message string  `json:"message"`
	Frames  []Frame `json:"frames,omitempty"`
}

// Frame is a place in the author's program, before any translation.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// Usage is what a run used. CPU, host wait and wall are separate figures; writing a
// program down and restoring it is wall time alone. That of an Outcome is of its
// part of the run: the caller adds Resume.Used.
type Usage struct {
	CPU       time.Duration
	Wall      time.Duration
	HostWait  time.Duration // wall time in which the program waited for answers
	PeakBytes int64
	Calls     map[string]int64
}

// Attestation says what stood around the guest.
type Attestation struct {
	Tier   profiles.Tier     `json:"tier"`
	Layers map[string]string `json:"layers"` // layer -> enforced | best-effort | unavailable
	// LandlockABI is the version of Landlock that holds; 0: it does not.
	LandlockABI int `json:"landlock_abi,omitempty"`
	// Profile is the digest of the kernel profile that holds; "": none does.
	Profile string `json:"profile,omitempty"`
}

// Launcher starts guest processes. The kernel ring implements it.
type Launcher interface {
	// Launch starts a guest or refuses: a *profiles.Denial with
	// CodeTierUnavailable when the host cannot give the tier that s asks for.
	Launch(ctx context.Context, s Spec) (Guest, error)
}

// ErrRevoked is wrapped by the end of a guest that had what the policy no longer
// grants: by Launch, by reads of its connection and by Streamer.Wait.
var ErrRevoked = errors.New("the policy in force no longer grants what its process was started with")

// ErrViolation is wrapped by reads of the connection of a guest that the launcher
// has ended: it tried what it had given up, or what it tried cannot be recorded.
var ErrViolation = errors.New("the guest was ended")

// ErrOwn is wrapped by Launch where this host cannot give a guest what Spec.Own,
// Code, List or Room names. The executor does without, or has it elsewhere.
var ErrOwn = errors.New("the executor's own folder cannot be given to a guest")

// Spec is what a guest is started with. The zero value starts nothing.
type Spec struct {
	Executor    string
	Argv        []string // of the guest; Argv[0] is the program's path
	MinTier     profiles.Tier
	CPU         time.Duration // backstop of the kernel; the guest's own limit is tighter
	MemoryBytes int64         // backstop over the guest's address space in use
	FileBytes   int64         // descriptors' largest file; 0: none can be written

	// Agent is whose guest it is; "" is nobody's yet.
	Agent string
	// Kernel is what the guest may do to its host beside running its program. It
	// holds where the host gives the layers; elsewhere a guest gets the limits above
	// and nothing of the host is granted to it.
	Kernel profiles.Kernel
	// Grants narrow what the agent may reach over the network, in every generation;
	// nil narrows nothing. Kernel is narrowed already.
	Grants []profiles.Grants
	// Own is what the executor itself lets its guest read: a compile cache. It is
	// not the policy's to grant or to revoke, so it stands beside Kernel, which is
	// compared with the set in force when that changes.
	Own []profiles.PathRule
	// Code is as Own, of what the executor's own program loads as code: shared
	// objects, and folders of them, in which nothing is changed. A guest with Code
	// starts nothing: no file of it, nor its own program again, nor a loader. So its
	// Kernel grants no programs, and it does not seal itself.
	Code []profiles.PathRule
	// List names folders in which the guest may list what it has of them, though the
	// folders themselves are not its: an interpreter looks for modules by the names
	// in the folders of sys.path.
	List []profiles.PathRule
	// Room is a folder of the executor's own that its guest may read and write; ""
	// is none. It stands beside Kernel as Own does, and no policy can grant it.
	Room string
	Env  []string // of the guest, KEY=value; nil: empty
	Dir  string   // its working directory, of the granted ones; "" is /
	// Seals says that the guest gives up the rest itself once it is ready: see
	// Sealer.
	Seals bool
	// Streams gives the guest standard streams: see Streamer. Without it all three
	// are the null device.
	Streams bool
}

// Satisfies tells whether isolation of tier have is at least want. An unknown
// tier satisfies nothing and is never satisfied.
func Satisfies(have, want profiles.Tier) bool {
	h, w := tierRank(have), tierRank(want)
	return h > 0 && w > 0 && h >= w
}

func tierRank(t profiles.Tier) int {
	switch t {
	case profiles.TierProcess:
		return 1
	case profiles.TierWasm:
		return 2
	case profiles.TierOS:
		return 3
	case profiles.TierContainer:
		return 4
	case profiles.TierMicroVM:
		return 5
	case profiles.TierRemote:
		return 6
	default:
		return 0
	}
}

// Guest is a running guest process.
type Guest interface {
	// Conn is the guest's one connection. Closing it ends a well-behaved guest. Unless the
	// guest seals itself it is two pipes, over which no descriptor can be sent.
	Conn() io.ReadWriteCloser
	Attestation() Attestation
	// Kill ends the guest and all its descendants and waits for them. It may be
	// called more than once.
	Kill() error
	// CPU is the processor time the guest has used so far.
	CPU() (time.Duration, error)
}

// Sealer is a Guest that was launched with Spec.Seals.
type Sealer interface {
	// Sealed waits until the guest has sealed itself, and adds that to the
	// attestation. Nothing untrusted is sent to the guest before.
	Sealed(ctx context.Context) error
}

// Serving is a Guest that is told which run it serves, so that what it is refused
// is on record as that run's.
type Serving interface {
	// Serve names the run, before anything of it is sent to the guest.
	Serve(run string)
}

// Streamer is a Guest that was launched with Spec.Streams.
type Streamer interface {
	// Stdin is closed by the caller. Stdout and Stderr end with the guest, or where
	// together they have given Kernel.OutputBytes: then the guest is ended.
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Wait returns the end of the program, after which no descendant lives.
	Wait(ctx context.Context) (Exit, error)
}

// drainer is a standard stream of a guest that serves several runs: what belongs to
// one is told from what comes later.
type drainer interface {
	io.Reader
	// SetReadDeadline ends a Read that waits with os.ErrDeadlineExceeded.
	SetReadDeadline(t time.Time) error
	// Drain reads what is there and does not wait; nothing is 0 and nil.
	Drain(p []byte) (int, error)
}

// Exit is the end of a guest's program.
type Exit struct {
	Code   int
	Signal int           // not 0: it was ended by this signal
	Limit  string        // "cpu", "wall", "output", "memory": the limit that ended it; "": none
	Held   string        // what it held of the kernel, where that was over Limit "memory"; "": memory of its own
	CPU    time.Duration // of all its processes
	Peak   int64         // bytes, of its largest process
}
