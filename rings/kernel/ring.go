// Package kernel owns the processes of guests: it starts them with nothing but
// one connection, bounds them, ends them and says truthfully what stood around
// them. Nothing else in the project starts a guest.
//
// On a Linux that gives them, a guest stands in namespaces of its own, sees only
// the files that its profile grants, and is held by Landlock, seccomp and limits;
// its init proves each of these before the program begins: tier os-sandbox. A
// host that does not give a layer, and says so when the first guest is started,
// gets the plain launcher: an empty environment, no descriptor but the
// connection, resource limits, no new privileges; tier wasm for the JavaScript
// guest, process for any other. A run that asks for more is refused
// (profiles.CodeTierUnavailable), never run with less, and a policy's grants mean
// nothing there. A host that says it gave a layer and did not runs nothing. On
// other systems than Linux New refuses.
//
// cmd/ringd constructs the Ring; executors use it as their Launcher, the daemon
// as one of its rings.
package kernel

import (
	"errors"
	"io"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// Config is what a Ring needs.
type Config struct {
	// Go starts the goroutines of a Ring; Close waits for them. One owns a thread,
	// so they must not be of a bounded pool.
	Go func(func())
	// Token gives random bytes.
	Token io.Reader
	// GuestID and GuestCount are the users of guests when this process is root: the
	// first number, which is their group as well and owns their files, and how many.
	// Nothing else on the host should have them. 0 and 0 are DefaultGuestID and
	// DefaultGuestCount; a GuestID without a count is one user of all guests.
	GuestID, GuestCount int
	// Processors is how many processors a guest of programs may run on, of those that this process
	// may use: 0 is 1. With more of them, threads of a guest can take turns from all
	// others, see spawn.
	Processors int
	// Executors are those of this host: a set is refused when a profile of theirs
	// cannot be built.
	Executors []string
	// Home is what ~ stands for in a policy, Workspace what $WORKSPACE does; "" is
	// neither.
	Home, Workspace string
	// Private lists the daemon's own folders and sockets, which no grant reaches.
	Private []string
	// Prepared says how many guests wait for a program, by executor, of each kind
	// that was asked for; none when it is not named.
	Prepared map[string]int
	// Spare keeps one init started for a guest of any kind that does not seal itself.
	// Where guests have control groups there is none.
	Spare bool
	// Groups gives each guest a control group of its own, where this process sits in
	// a subtree that is delegated to it: it then moves to a group of its own in it.
	Groups bool
	// Report records what a guest tried and was refused. What it cannot record ends
	// the guest. nil: refused calls are not seen.
	Report func(Violation) error
	// Egress is where the networks of guests lead to; nil: nowhere. Its Recheck is
	// due behind each commit.
	Egress *proxy.Egress
	// Runs gives what a live run may reach: a guest that serves one reaches no more
	// than that, and nothing once the run is over. nil: the agent's profile alone
	// decides.
	Runs func(run string) []*profiles.Decider
	// Generation is the number of the generation in force, for the record; nil: 0.
	Generation func() int64
}

// Numbers that no distribution gives to anybody.
const (
	DefaultGuestID    = 1879048192
	DefaultGuestCount = 65536
)

// Violation is something that a guest tried and was refused.
type Violation struct {
	Run      string // that it served last; "": none yet
	Agent    string // "": nobody's yet
	Executor string
	violations.Violation
}

// ErrClosed is returned by Launch after Close.
var ErrClosed = errors.New("kernel ring closed")

// Name is "kernel".
func (r *Ring) Name() string { return "kernel" }

// generation is what Prepare's commit swaps. It is immutable.
type generation struct {
	set      *profiles.Set
	deciders *runDeciders
	kernels  map[holder]profiles.Kernel   // of each agent that has the executor, with real paths
	grants   map[string][]initproto.Mount // by digest of a profile: what its paths were
	known    map[string]initproto.Mount   // by path: the same, of all profiles
	written  []string                     // real: what guests of any agent may write into
	ports    map[string][]uint16          // of each agent whose guests have a network: what they listen on
}

// holder is who has a profile.
type holder struct{ agent, executor string }

// Live is a guest that runs.
type Live struct {
	Agent    string // "": nobody's yet
	Executor string
	Run      string // that it served last; "": none yet
	Profile  string // digest; "": it has no layers
	Around   executors.Attestation
	// Restart says that the policy in force grants more than the guest was started
	// with: it goes on with less until it is started again.
	Restart bool
}

// unmet is a rule that this host cannot hold as it is meant: the set is refused.
type unmet struct {
	Agent, Executor string
	Path            string        // as the rule names it; "": it is no rule of a path
	Rule            profiles.Rule // zero: the executor's own
	Reason, Remedy  string
}

// executorError rejects a set over the profile of one executor.
type executorError struct {
	executor string
	err      error
}

// Error says whose profile it is and what is wrong with it.
func (e *executorError) Error() string {
	return "kernel profile of " + e.executor + ": " + e.err.Error()
}

// Unwrap returns what is wrong.
func (e *executorError) Unwrap() error { return e.err }

// Executor names the executor.
func (e *executorError) Executor() string { return e.executor }
