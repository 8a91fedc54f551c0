// Package executors declares the interface Executor, which runs agent code, and
// the guest protocol. An executor needs two things from outside: a Launcher that
// starts a guest process, and a Host that answers the questions of a program.
//
// An executor enforces and never decides: every effect of a program is a
// Question to the Host. The interpreter ring calls executors; executors know
// profiles and never policy.
package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Executor runs programs of one language. It is safe for concurrent use.
type Executor interface {
	// Name is "js", "python" or "shell".
	Name() string
	// Run runs one program to its end and returns its outcome. It returns an error only if the program did not
	// run or its end is unknown. Errors of the program itself are in the outcome. When ctx ends, the guest is
	// gone before Run returns, and the State of the outcome is cancelled or limit.
	Run(ctx context.Context, r Run, h Host) (Outcome, error)
	// Close ends every guest and waits for them.
	Close() error
}

// Living is an Executor whose sessions are processes that stay alive between two runs. Outcome.Snapshot then
// only names such a process.
type Living interface {
	// Forget ends the process that the snapshot names, if there is one.
	Forget(snapshot []byte)
	// Living returns the number of live sessions and the memory they use.
	Living() (sessions int, bytes int64)
}

// Run is one program with all its limits. It is immutable.
type Run struct {
	ID       string
	Actor    string
	Agent    *profiles.Agent
	Grants   []profiles.Grants // Kernel is already narrowed by them; a later policy is narrowed as well
	Revision string
	Modules  map[string]profiles.Module // all of the set; the agent's allow list selects among them
	Program  Program
	Inputs   map[string]json.RawMessage // values in the tagged encoding, by name
	Limits   profiles.Limits            // effective limits, no field is nil
	Seed     [32]byte                   // seed of the guest's random numbers

	// Pause receives one value to request that the program stop where it waits. If Pause is nil, that never
	// happens. A program that does not wait goes on, and stops when it next waits or ends. After requesting a
	// pause, the host must not answer any call: an answer that arrives after the guest was told to pause ends
	// the run, fail closed.
	Pause <-chan struct{}
	// Resume continues from a snapshot. If it is nil, Program starts. Unless Resume.Session is set, Program
	// must be the same text as before, so that errors name its lines.
	Resume *Resume
	// Session keeps the state of a program that ended cleanly (done, or failed by itself) in Outcome.Snapshot.
	// If the state cannot be kept, Snapshot is nil.
	Session bool
}

// Spent returns the outcome of a run that had already used up its processor or wall time when it was paused.
func (r Run) Spent(cpu, wall time.Duration) (Outcome, bool) {
	if r.Resume == nil {
		return Outcome{}, false
	}
	why := ""
	switch used := r.Resume.Used; {
	case used.CPU >= cpu:
		why = fmt.Sprintf("processor time limit of %v reached", cpu)
	case used.Wall >= wall:
		why = fmt.Sprintf("wall time limit of %v reached", wall)
	default:
		return Outcome{}, false
	}
	return Outcome{
		State: StateLimit, Engine: r.Resume.Engine, Usage: Usage{Calls: map[string]int64{}},
		Error: &ProgramError{Name: profiles.ErrorTimeout, Message: why},
	}, true
}

// Resume says where a program continues. It is immutable.
type Resume struct {
	Engine   string     // digest of the engine that made Snapshot
	Snapshot []byte     // Outcome.Snapshot of the part before; the caller has verified that it is authentic
	Open     []Question // open calls of the program; each is asked again under its Call
	Used     Usage      // usage of the parts before; CPU and Wall count against the limits
	Session  bool       // Snapshot is that of a session: no program is running in it, Program starts there
}

// ErrPaused is the cancellation cause of the questions of a program that is paused. The call stays open, and
// the Host returns this error.
var ErrPaused = errors.New("the run is paused")

// Errors of a Run with a Resume. No statement of the program has run.
var (
	// ErrEngine is wrapped when no guest has the engine of the snapshot. The text names its digest.
	ErrEngine = errors.New("no guest has the engine of the snapshot")
	// ErrFormat is wrapped together with ErrSnapshot when another version wrote the snapshot.
	ErrFormat = errors.New("a format that this version does not know")
	// ErrSnapshot is wrapped when the snapshot cannot be restored.
	ErrSnapshot = errors.New("the snapshot cannot be restored")
	// ErrSlow is wrapped when restoring took too long, for example on a busy host. The snapshot may be good,
	// and the caller may retry.
	ErrSlow = errors.New("the snapshot was not restored in time")
)

// SessionError wraps ErrSnapshot: the process of the session is gone, or it cannot serve the run. Why is shown
// to the caller and holds no information about the host.
type SessionError struct{ Why string }

// Error returns Why.
func (e *SessionError) Error() string { return e.Why }

// Unwrap returns ErrSnapshot.
func (e *SessionError) Unwrap() error { return ErrSnapshot }

// Program is source text. Frames show its Name.
type Program struct {
	Name     string
	Language string // "js", "ts", "python" or "shell"; if empty, the executor chooses by Name
	Source   string

	// Stdin and Dir are for programs with standard streams and a working directory. A nil Stdin is at its end.
	// If Dir is empty, the policy's working directory is used.
	Stdin []byte `json:",omitempty"`
	Dir   string `json:",omitempty"`
}

// Host answers for one run. Its methods may be called concurrently.
type Host interface {
	// Ask decides and performs one question. A denial is an Answer with an Error. An error from Ask itself ends
	// the run, fail closed. Ask returns soon after ctx ends, and ctx ends at the latest with the run. If the
	// cause is ErrPaused, the call stays open and Ask returns an error that wraps ErrPaused or
	// context.Canceled. Any other result then ends the run, fail closed, since the snapshot does not contain
	// it.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Console receives each console entry as it is written.
	Console(e ConsoleEntry)
	// Idle says that the program cannot continue until one of the open calls is answered. open holds their
	// names in no particular order. An open Ask may begin only after Idle has named it, since each Ask runs in
	// its own goroutine.
	Idle(open []string)
}

// Question is one bridge call. Args is a JSON array in the tagged encoding, copied when the program made the
// call.
type Question struct {
	Call   string // "c1", unique in the run
	Bridge string
	Args   json.RawMessage

	// Action replaces Bridge and Args if the program wants to do something in the guest itself: start a
	// program, open a file, set a variable. The Value of the Answer is a profiles.Decision as JSON, allow or
	// deny. A denial is not an Error here.
	Action *profiles.Action
	// Ahead says that the program has not begun. The action needs an approval, and that approval covers every
	// start with exactly the same words in this run. Before the program begins, a snapshot of the guest can be
	// taken, so such a run pauses. Later the program is held instead.
	Ahead bool

	// Hold is set if no snapshot of the program can be taken. The host calls it with true while people are
	// asked about the question, and with false afterwards. The wall time between is not charged to the program.
	Hold func(bool) `json:"-"`

	// Taken is set if the arguments are large. The host calls it, once or more often, when the question no
	// longer waits for its turn. Until then little more is read from the guest.
	Taken func() `json:"-"`

	// Turn is the place of the question among those of the program. It is nil for a question that is repeated
	// after a pause.
	Turn *Turn `json:"-"`
}

// Answer settles a question: a tagged value, or an error that the program can catch.
type Answer struct {
	Value json.RawMessage
	Error *GuestError
}

// GuestError is the view that a program has of a failure. It holds no text, path or stack of the host.
type GuestError struct {
	Name    string `json:"name"` // CapabilityDenied, BudgetExceeded, BridgeError, …
	Message string `json:"message"`
}

// Levels of a ConsoleEntry with output of the program's standard streams: any number of lines, or a part of
// one, always whole characters.
const (
	LevelStdout = "stdout"
	LevelStderr = "stderr"
)

// ConsoleEntry is one line that a program wrote to the console, or a piece of its standard streams.
type ConsoleEntry struct {
	Seq   int64  `json:"seq"`   // continues after a pause
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
	State    State
	Value    json.RawMessage // in the tagged encoding; nil unless done
	ExitCode int             // exit code of a shell script (126: denied) or a Python program
	Console  []ConsoleEntry
	Dropped  int64 // bytes of console output over the limit
	Error    *ProgramError
	// denials made by the guest itself, as it reports them; the caller audits them
	Denials     []profiles.Decision
	Refused     int64    // denials in addition to those in Denials
	Imports     []string // modules that the program itself imported, as its guest reports them
	Repr        bool     // Value is a text that shows a value which is not JSON
	Usage       Usage
	Attestation Attestation
	Engine      string // digest of the engine that ran the program
	// Snapshot is set with StatePaused, and by Run.Session after a clean end. If a session could not be kept,
	// it is nil and Unkept says why.
	Snapshot []byte
	Unkept   string
}

// ProgramError is an uncaught error, or the limit that ended the run (Timeout, OutOfMemory, Deadlock,
// Cancelled).
type ProgramError struct {
	Name    string  `json:"name"`
	Message string  `json:"message"`
	Frames  []Frame `json:"frames,omitempty"`
}

// Frame is a position in the author's program, before any translation.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// Usage is what a run used. CPU, host wait and wall time are separate figures. Taking and restoring a snapshot
// is wall time only. The Usage of an Outcome covers only its part of the run: the caller adds Resume.Used.
type Usage struct {
	CPU       time.Duration
	Wall      time.Duration
	HostWait  time.Duration // wall time in which the program waited for answers
	PeakBytes int64
	Calls     map[string]int64
}

// Attestation lists the layers of enforcement around the guest.
type Attestation struct {
	Tier   profiles.Tier     `json:"tier"`
	Layers map[string]string `json:"layers"` // layer -> enforced | best-effort | unavailable
	// LandlockABI is the version of Landlock in force, or 0 if there is none.
	LandlockABI int `json:"landlock_abi,omitempty"`
	// Profile is the digest of the kernel profile in force, or empty if there is none.
	Profile string `json:"profile,omitempty"`
}

// Launcher starts guest processes. The kernel ring implements it.
type Launcher interface {
	// Launch starts a guest or denies: with a *profiles.Denial with CodeTierUnavailable if the host cannot give
	// the tier that s asks for.
	Launch(ctx context.Context, s Spec) (Guest, error)
}

// ErrRevoked is wrapped by the end of a guest that had something the policy no longer grants. Launch, reads of
// its connection and Streamer.Wait return it.
var ErrRevoked = errors.New("the policy in force no longer grants everything that its process was started with")

// ErrViolation is wrapped by reads of the connection of a guest that the launcher has ended, because it
// attempted an operation that it had given up, or because its attempts cannot be recorded.
var ErrViolation = errors.New("the guest was ended")

// ErrOwn is wrapped by Launch if this host cannot give a guest the folders in Spec.Own, Code, List or Room. The
// executor runs without them, or in another way.
var ErrOwn = errors.New("the executor's own folder cannot be given to a guest")

// Spec describes the guest to start. The zero value starts nothing.
type Spec struct {
	Executor    string
	Argv        []string // of the guest; Argv[0] is the path of the program
	MinTier     profiles.Tier
	CPU         time.Duration // backstop in the kernel; the guest's own limit is tighter
	MemoryBytes int64         // backstop for the guest's address space in use
	FileBytes   int64         // size of the largest file it may write; 0: it can write none

	// Agent owns the guest. It is empty while the guest is started in advance and not assigned.
	Agent string
	// Kernel is what the guest may do to its host beyond running its program. It applies where the host
	// provides the layers. Elsewhere a guest gets the limits above, and nothing of the host is granted to it.
	Kernel profiles.Kernel
	// Grants narrow the network access of the agent, in every generation. If nil, nothing is narrowed. Kernel
	// is already narrowed.
	Grants []profiles.Grants
	// Own is what the executor itself lets its guest read, such as a compile cache. The policy neither grants
	// nor revokes it. So it is separate from Kernel, which is compared with the set in force whenever that
	// changes.
	Own []profiles.PathRule
	// Code is like Own, for what the executor's own program loads as code: shared objects and folders of them.
	// Their content must not change. A guest with Code can start no program: no file of Code, not its own
	// program again, no loader. So its Kernel grants no programs, and it does not seal itself.
	Code []profiles.PathRule
	// List names folders in which the guest may list the entries that it has access to, although it has no
	// access to the folders themselves. An interpreter needs that: it looks for modules by the names in the
	// folders of sys.path.
	List []profiles.PathRule
	// Room is a folder of the executor's own that its guest may read and write, or empty. It is separate from
	// Kernel as Own is, and no policy can grant it.
	Room string
	Env  []string // environment of the guest, KEY=value; nil: empty
	Dir  string   // its working directory, one of the granted ones; if empty, /
	// Seals says that the guest drops the rest of its powers itself once it is ready: see Sealer.
	Seals bool
	// Streams gives the guest standard streams: see Streamer. Without it all three are the null device.
	Streams bool
}

// Satisfies reports whether the isolation of tier have is at least that of want. An unknown tier satisfies
// nothing and is never satisfied.
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
	// Conn is the guest's one connection. Closing it ends a well-behaved guest. Unless the guest seals itself,
	// the connection is two pipes, over which no descriptor can be sent.
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

// Serving is a Guest that knows which run it serves, so that its denials are recorded for that run.
type Serving interface {
	// Serve names the run, before anything of it is sent to the guest.
	Serve(run string)
}

// Streamer is a Guest that was launched with Spec.Streams.
type Streamer interface {
	// The caller closes Stdin. Stdout and Stderr end with the guest. When both together have delivered
	// Kernel.OutputBytes, the guest is ended.
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Wait returns how the program ended. No descendant is alive then.
	Wait(ctx context.Context) (Exit, error)
}

// drainer is a standard stream of a guest that serves several runs. It separates the output of one run from
// later output.
type drainer interface {
	io.Reader
	// SetReadDeadline ends a waiting Read with os.ErrDeadlineExceeded.
	SetReadDeadline(t time.Time) error
	// Drain reads the bytes that are there without waiting. If there are none, it returns 0 and nil.
	Drain(p []byte) (int, error)
}

// Exit is how a guest's program ended.
type Exit struct {
	Code   int
	Signal int    // if not 0, the signal that ended it
	Limit  string // the limit that ended it: "cpu", "wall", "output", "memory" or none
	// with Limit "memory", the kernel objects it held too many of; if empty, it was its own memory
	Held string
	CPU  time.Duration // of all its processes
	Peak int64         // bytes, of its largest process
}
