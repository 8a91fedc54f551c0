// Package profiles owns the compiled form of a policy: one profile for every executor,
// and the pure Decide functions that answer every action of a guest. It uses no file,
// clock, network or randomness.
//
// It denies by default: the zero Verdict is Deny, a nil set or profile denies, and an
// empty list grants nothing. The compiler builds the values. Executors and rings only
// read them. Values are immutable and safe for concurrent use.
package profiles

import (
	"fmt"
)

// Decision is a verdict with its reason. The zero Decision denies. Other decisions may share Rule and
// Instead, so these must not be modified.
type Decision struct {
	Verdict  Verdict   `json:"verdict"`
	Code     Code      `json:"code"`
	Reason   string    `json:"reason"`
	Rule     *Rule     `json:"rule,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
	Instead  []string  `json:"instead,omitempty"`
	Dial     string    `json:"dial,omitempty"`  // egress: the pinned address, when allowed
	Start    *Start    `json:"start,omitempty"` // exec: the program start, when allowed
	Revision string    `json:"revision,omitempty"`
	// Exception is the ID of the exception that granted the action, or empty.
	Exception string `json:"exception,omitempty"`
	// Would is set in mode audit if the decision in mode enforce would have been another one.
	Would *Would `json:"would,omitempty"`
	// Count is how many equal denials this one represents. 0 means 1.
	Count int64 `json:"count,omitempty"`
	// Text is the denial of a script, written for the script's author: see executors/shell/shellproto.
	Text string `json:"text,omitempty"`
}

// Would is a verdict that was recorded in mode audit and not enforced.
type Would struct {
	Verdict Verdict `json:"verdict"`
	Code    Code    `json:"code"`
	Reason  string  `json:"reason"`
	Rule    *Rule   `json:"rule,omitempty"`
}

// Start is an allowed start of a program: the final arguments and environment, including those that the
// policy adds.
type Start struct {
	Path string   `json:"path"`          // absolute path of the file that is started
	Argv []string `json:"argv"`          // Argv[0] is the name that the caller used
	Env  []string `json:"env,omitempty"` // NAME=value, set over the script's environment
}

// Denial is a denying decision as an error. The error names the capability and the rule, never argument
// values.
type Denial struct {
	Capability string
	Decision   Decision
}

// Error returns the capability, the code and the reason.
func (d *Denial) Error() string {
	return fmt.Sprintf("%s denied: %s: %s", d.Capability, d.Decision.Code, d.Decision.Reason)
}
