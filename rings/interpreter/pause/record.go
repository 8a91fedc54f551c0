// Package pause is the record of a run that waits: everything that another process needs to
// go on with it, in one value, and its encoding.
//
// A record is not authentic by itself: the daemon seals it where it keeps it. A decoded
// record is checked all the same, so that no record can make the ring do something that no
// run could do. The interpreter ring makes and reads records; the daemon encodes them.
package pause

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// Limits of a record.
const (
	MaxProfiles = 8         // policies that one run may be bound by
	MaxHanded   = 64        // grants that narrow its subagents
	maxCalls    = 4096      // open calls
	MaxDenials  = 256       // refusals that are kept and differ
	maxHead     = 128 << 20 // bytes of all but the snapshot
)

// The parties that settle a call.
const (
	ForHarness  = "harness"
	ForApprover = "approver"
)

// Record is a paused run. It is immutable and shares nothing with a live run. It encodes as
// JSON, all fields of the embedded structs in one object: their order is that of the bytes
// on disk.
type Record struct {
	Subject
	Timing

	Engine   string // digest of the engine that made Snapshot
	Snapshot []byte `json:"-"`

	Policies

	Calls []Call // open, in the order they were made
	// Queued are the calls that wait until fewer calls of their bridges are open, in the order they were made.
	Queued   []Call `json:",omitempty"`
	LastCall int64  // the highest N of the ids "cN" so far
	Order    int    // calls admitted so far

	Spending

	Acts Acts // of its guests

	// Touched is what the tree of the run had touched of the three powers; nil for nothing.
	Touched *ruleoftwo.Touched `json:",omitempty"`

	Output
	Attestation executors.Attestation
}

// Subject says which run is paused, and what it runs.
type Subject struct {
	Run      string
	Actor    string
	Agent    string
	Executor string
	Program  executors.Program
	Parent   *Parent // of a subagent
	Root     string  // the first run of the tree of subagents
	Depth    int64   // in that tree
	Session  string  // whose state the run keeps at its end; may be empty
}

// Timing says when the run started, paused and expires.
type Timing struct {
	Seq     int64 // of the pauses of this run, from 1
	Started time.Time
	Paused  time.Time
	Expires time.Time // the run is denied from then on
	// Approval says that an approval expires first, and not the pause.
	Approval bool
}

// Policies bind the run.
type Policies struct {
	Profiles []Profile         // the one of its start first
	Handed   []profiles.Grants // narrow its subagents as well
	Revoked  []string          // grants taken from this run: "bridge:NAME", "host:NAME", "import:NAME"
}

// Spending is what the run has used of its budgets.
type Spending struct {
	Usage   executors.Usage  // so far; Calls is unset
	Spent   map[string]int64 // calls admitted, by bridge
	Refused int64
	Spawned int64 // agents of the whole tree
}

// Output is what the run has shown so far.
type Output struct {
	Console     []executors.ConsoleEntry
	Printed     int64 // bytes of the output limit that are used
	Dropped     int64
	Denials     []profiles.Decision
	DenialsMore int64 `json:",omitempty"`
	LastEvent   int64 // number of the event that says that the run is paused
}

// Parent names the open call that a run was started for.
type Parent struct{ Run, Call string }

// Profile is a policy that binds the run.
type Profile struct {
	Generation int64
	Revision   string
	Agent      profiles.Agent
	Modules    map[string]string // digest of each module of the set, by specifier
}

// Has reports whether a run under the policy has the bridge, or may start subagents, which
// may have it.
func (p *Profile) Has(bridge string) bool {
	_, has := p.Agent.Bridges[bridge]
	for _, b := range p.Agent.Bridges {
		has = has || budget.Spawns(b.Limits)
	}
	return has
}

// Call is an open call. Its arguments are those that the program made it with. It encodes
// as JSON like [Record].
type Call struct {
	ID       string
	Bridge   string
	N        int    // order in the run
	Args     []byte // JSON, byte for byte
	Size     int64  // of the arguments as the guest sent them
	Marked   bool   // the arguments use the tagged encoding
	Digest   string
	Key      string // of idempotency
	External bool
	Full     bool // its record holds the arguments
	Limits   profiles.BridgeLimits
	Agents   int64 // subagents that it may start
	Children int64 // subagents that it has started
	For      string
	Harness  bool // the harness performs it, after the approval if it needs one
	Consent
	Revoked bool // the policy in force at the pause no longer granted it
	// Two says why the rule of two asks people about it; empty if it does not.
	Two string `json:",omitempty"`
	// Unasked lists the conditions of approvals that are not true for this call, so that it needs no such
	// approval.
	Unasked []string
}

// Consent says whether people have to approve a call, and whether they have.
type Consent struct {
	Terms    *Terms // of the approval that it needs; nil if it needs none
	Approved bool   // it has that approval
	By       string // the last approver
}

// Terms are what an approval takes.
type Terms struct {
	From    []string  `json:"from,omitempty"` // owners, of which one must approve; empty allows any approver
	Count   int64     `json:"count"`          // different approvers
	Expires time.Time `json:"expires"`        // no approval is accepted from then on
	Millis  int64     `json:"millis"`         // the time that Expires was made of
	// Rule is the rule that asks for it, of the newest policy that does.
	Rule *profiles.Rule `json:"rule,omitempty"`
}

// Expiry returns the error of a run whose pause has expired.
func (r *Record) Expiry() executors.ProgramError { return Expiry(r.Expires, r.Approval) }

// Expiry returns the error of a run that has expired at a time. approval says that an
// approval has expired, and not the pause.
func Expiry(expires time.Time, approval bool) executors.ProgramError {
	at := expires.UTC().Format(time.RFC3339)
	if approval {
		return executors.ProgramError{Name: profiles.ErrorApprovalExpired,
			Message: "a call was not approved in time; approvals ended at " + at}
	}
	return executors.ProgramError{Name: profiles.ErrorPauseExpired,
		Message: "the run waited too long; the pause ended at " + at}
}

// Number returns N of the id "cN" of a call.
func Number(id string) (int64, bool) {
	digits, ok := strings.CutPrefix(id, "c")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || strconv.FormatInt(n, 10) != digits {
		return 0, false
	}
	return n, true
}

// Check returns what no run could have written in the record.
func (r *Record) Check() error {
	switch {
	case r.Run == "" || r.Root == "" || r.Actor == "" || r.Agent == "" || r.Executor == "":
		return errors.New("it names no run, actor, agent or executor")
	case r.Seq < 1 || r.Expires.IsZero() || r.Started.IsZero():
		return errors.New("it has no number or no time")
	case r.Engine == "" || len(r.Snapshot) == 0:
		return errors.New("it has no engine or no snapshot")
	case len(r.Profiles) == 0 || len(r.Profiles) > MaxProfiles:
		return fmt.Errorf("it is bound by %d policies", len(r.Profiles))
	case len(r.Handed) > MaxHanded:
		return fmt.Errorf("its subagents are narrowed by %d grants", len(r.Handed))
	case len(r.Calls) == 0 || len(r.Calls)+len(r.Queued) > maxCalls:
		return fmt.Errorf("it waits on %d calls", len(r.Calls))
	case r.Depth < 0 || r.LastCall < 0 || r.Order < len(r.Calls)+len(r.Queued) || r.LastEvent < 1 ||
		len(r.Denials) > MaxDenials || r.DenialsMore < 0:
		return errors.New("a count is out of range")
	case r.Usage.CPU < 0 || r.Usage.Wall < 0 || r.Usage.HostWait < 0 || r.Usage.PeakBytes < 0 || r.Refused < 0 ||
		r.Spawned < 0 || r.Printed < 0 || r.Dropped < 0:
		return errors.New("a budget is below zero")
	case r.Parent != nil && (r.Parent.Run == "" || r.Parent.Call == ""):
		return errors.New("its parent has no name")
	}
	for bridge, n := range r.Spent {
		if n < 0 || bridge == "" {
			return errors.New("a budget of calls is below zero")
		}
	}
	for i := range r.Profiles {
		if p := &r.Profiles[i]; p.Revision == "" || p.Agent.Name != r.Agent {
			return errors.New("a policy is of another agent")
		}
	}
	if err := r.Acts.check(); err != nil {
		return err
	}
	return r.checkCalls()
}

func (r *Record) checkCalls() error {
	seen := map[string]bool{}
	open := map[string]int64{}
	calls := slices.Concat(r.Calls, r.Queued)
	for i := range calls {
		c, queued := &calls[i], i >= len(r.Calls)
		open[c.Bridge]++
		if _, err := c.Action(); err != nil {
			return err
		}
		n, numbered := Number(c.ID)
		switch {
		case seen[c.ID] || !numbered || n > r.LastCall:
			return fmt.Errorf("call %q is repeated or has no number of this run", c.ID)
		case c.Bridge == "" || (c.Key == "") != queued || !json.Valid(c.Args):
			return fmt.Errorf("call %s is not whole", c.ID)
		case c.Digest != Digest(c.Args):
			return fmt.Errorf("the arguments of call %s are not those of its digest", c.ID)
		case queued && (c.For != "" || c.Approved || c.Children > 0):
			return fmt.Errorf("call %s is queued and has begun", c.ID)
		case !queued && c.For != ForHarness && c.For != ForApprover, c.For == ForHarness && !c.Harness:
			return fmt.Errorf("call %s has no one to wait for", c.ID)
		case c.For == ForApprover && (c.Terms == nil || c.Approved), c.Approved && c.Terms == nil:
			return fmt.Errorf("the approval of call %s is not whole", c.ID)
		case c.Terms != nil && (c.Terms.Count < 1 || c.Terms.Expires.IsZero()):
			return fmt.Errorf("the terms of call %s take no approval", c.ID)
		case c.Size < 0 || c.Agents < 0 || c.Children < 0 || c.N < 1 || c.N > r.Order:
			return fmt.Errorf("a count of call %s is out of range", c.ID)
		case open[c.Bridge] > r.Spent[c.Bridge]:
			return fmt.Errorf("more calls of %s are open than were made", c.Bridge)
		}
		seen[c.ID] = true
	}
	return nil
}

// Plus returns the sum of the usage before the pause and the usage since. A nil Record is that of a run that has
// not paused. The caller counts the calls.
func (r *Record) Plus(now executors.Usage, calls map[string]int64) executors.Usage {
	now.Calls = calls
	if r == nil {
		return now
	}
	u := r.Usage
	now.CPU, now.Wall, now.HostWait = now.CPU+u.CPU, now.Wall+u.Wall, now.HostWait+u.HostWait
	now.PeakBytes = max(now.PeakBytes, u.PeakBytes)
	return now
}
