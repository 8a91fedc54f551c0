// Package profiles owns what a policy compiles to: one profile for every
// executor, and the pure Decide functions that answer every question a guest
// can ask. It reads no file, clock, network or chance.
//
// It refuses by default: the zero Verdict is Deny, a nil set or profile denies,
// an empty list grants nothing. The compiler makes its values; executors and
// rings only read them. Values are immutable after they were made and safe for
// concurrent use.
package profiles

import (
	"fmt"
)

// Decision is a verdict with its reason. The zero Decision denies. Rule and
// Instead may be shared with other decisions: read them, do not write.
type Decision struct {
	Verdict  Verdict   `json:"verdict"`
	Code     Code      `json:"code"`
	Reason   string    `json:"reason"`
	Rule     *Rule     `json:"rule,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
	Instead  []string  `json:"instead,omitempty"`
	Dial     string    `json:"dial,omitempty"`  // egress: the pinned address, when allowed
	Start    *Start    `json:"start,omitempty"` // exec: what is started, when allowed
	Revision string    `json:"revision,omitempty"`
	// Exception is the id of the exception that granted the action; "": none did.
	Exception string `json:"exception,omitempty"`
	// Would is what would have been decided where the agent's mode is audit; nil: the
	// decision stands as it is.
	Would *Would `json:"would,omitempty"`
	// Count is how often a refusal happened that stands for equal ones; 0: once.
	Count int64 `json:"count,omitempty"`
	// Text is the refusal of a script for whoever wrote it: see executors/shell/shellproto.
	Text string `json:"text,omitempty"`
}

// Would is a verdict that was recorded and not enforced.
type Would struct {
	Verdict Verdict `json:"verdict"`
	Code    Code    `json:"code"`
	Reason  string  `json:"reason"`
	Rule    *Rule   `json:"rule,omitempty"`
}

// Start is a program start as it was allowed: the program's real words and
// environment, with what the policy forces put in.
type Start struct {
	Path string   `json:"path"`          // absolute, of the file that is started
	Argv []string `json:"argv"`          // Argv[0] is the name it was called by
	Env  []string `json:"env,omitempty"` // NAME=value, to be set over what the script has
}

// Denial is a decision that refused, as an error. It names capability and rule,
// never argument values.
type Denial struct {
	Capability string
	Decision   Decision
}

// Error names the capability, the code and the reason.
func (d *Denial) Error() string {
	return fmt.Sprintf("%s denied: %s: %s", d.Capability, d.Decision.Code, d.Decision.Reason)
}
