// Package kernel owns the processes of guests. It starts them with nothing but one connection, limits them,
// ends them and attests the layers around them. It is the only package of the project that starts a guest.
//
// On a Linux that gives the layers, a guest runs in namespaces of its own, sees only the files that its profile
// grants, and is confined by Landlock, seccomp and limits. Its init proves each of these before the program
// begins. This is tier os-sandbox.
//
// A host that does not give a layer, and says so when the first guest is started, gets the unconfined launcher:
// an empty environment, no descriptor but the connection, resource limits, no new privileges. This is tier wasm
// for the JavaScript guest, and tier process for any other. A run that asks for more is denied
// (profiles.CodeTierUnavailable), never run with less, and the grants of a policy do not apply there. A host
// that reports a layer as given although it is not runs nothing. On systems other than Linux New returns an
// error.
//
// cmd/ringd constructs the Ring. Executors use it as their Launcher, the daemon as one of its rings.
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
	// Go starts the goroutines of a Ring. Close waits for them. One of them owns a thread, so they must not be
	// of a limited pool.
	Go func(func())
	// Token returns random bytes.
	Token io.Reader
	// GuestID and GuestCount are the range of user numbers for guests if this process is root. GuestID is the
	// first number, which is also the group of all guests and owns their files. No other user of the host should
	// have a number of the range. If both are 0, they are DefaultGuestID and DefaultGuestCount. With a GuestID
	// and no count, all guests have one user.
	GuestID, GuestCount int
	// Processors is how many of this process's processors a guest that can start programs may use. 0 means 1.
	// With more than one, the threads of a guest can keep all other processes from running: see package spawn.
	Processors int
	// Executors are those of this host. A set is rejected if one of their profiles cannot be built.
	Executors []string
	// Home is the value of ~ in a policy, and Workspace is the value of $WORKSPACE. An empty one has no value.
	Home, Workspace string
	// Private lists the daemon's own folders and sockets, which no grant reaches.
	Private []string
	// Prepared is, by executor, how many guests are started ahead for each kind of guest that was asked for. For
	// any other executor no guest is started ahead.
	Prepared map[string]int
	// Spare keeps one init started ahead, which can become any guest that does not seal itself. If guests have
	// control groups, no such init is started.
	Spare bool
	// Groups gives each guest a control group of its own, if this process is in a subtree that is delegated to
	// it. The process then moves to a group of its own in that subtree.
	Groups bool
	// Report records a denied attempt of a guest. A guest whose attempt cannot be recorded is ended. If nil,
	// denied calls are not reported.
	Report func(Violation) error
	// Egress is the proxy for the networks of guests. If it is nil, these networks reach nothing. The caller has
	// to call Recheck of Egress after each commit.
	Egress *proxy.Egress
	// Runs returns the deciders of a live run. A guest that serves a run can reach only what they allow, and
	// nothing once the run is over. If nil, the agent's profile alone decides.
	Runs func(run string) []*profiles.Decider
	// Generation is the number of the generation in force, for the record. If nil, it is 0.
	Generation func() int64
}

// Numbers that no distribution assigns.
const (
	DefaultGuestID    = 1879048192
	DefaultGuestCount = 65536
)

// Violation is a denied attempt of a guest.
type Violation struct {
	Run      string // the run that it served last, or empty
	Agent    string // empty before it has an agent
	Executor string
	violations.Violation
}

// ErrClosed is returned by Launch after Close.
var ErrClosed = errors.New("kernel ring closed")

// Name is "kernel".
func (r *Ring) Name() string { return "kernel" }

// generation is the state that Prepare's commit swaps. It is immutable.
type generation struct {
	set      *profiles.Set
	deciders *runDeciders
	kernels  map[holder]profiles.Kernel   // of each agent that has the executor, with real paths
	grants   map[string][]initproto.Mount // by digest of a profile: its paths when they were resolved
	known    map[string]initproto.Mount   // by path: the same, of all profiles
	written  []string                     // real paths into which guests of any agent may write
	ports    map[string][]uint16          // of each agent whose guests have a network: where they listen
}

// holder identifies a profile.
type holder struct{ agent, executor string }

// Live is a live guest.
type Live struct {
	Agent    string // empty before it has an agent
	Executor string
	Run      string // the run that it served last, or empty
	Profile  string // digest; if empty, it has no layers
	Around   executors.Attestation
	// Restart says that the policy in force grants more than the guest was started with. It goes on with less
	// until it is started again.
	Restart bool
}

// unmet is a rule that this host cannot enforce as it is meant, so that the set is rejected.
type unmet struct {
	Agent, Executor string
	Path            string        // as the rule names it; empty if the rule has no path
	Rule            profiles.Rule // if zero, the executor's own
	Reason, Remedy  string
}

// executorError rejects a set because of the profile of one executor.
type executorError struct {
	executor string
	err      error
}

// Error names the profile and the error.
func (e *executorError) Error() string {
	return "kernel profile of " + e.executor + ": " + e.err.Error()
}

// Unwrap returns the error without the executor.
func (e *executorError) Unwrap() error { return e.err }

// Executor names the executor.
func (e *executorError) Executor() string { return e.executor }
