// Package profiles owns what a policy compiles to: one profile for every
// executor, and the pure Decide functions that answer every question a guest
// can ask. It reads no file, clock, network or chance.
//
// It refuses by default: the zero Verdict is Deny, a nil set or profile denies,
// an empty list grants nothing. The compiler makes its values; executors and
// rings only read them. Values are immutable after they were made and safe for
// concurrent use.
package profiles

import "fmt"

// Verdict is the answer to one question. The zero value denies.
type Verdict uint8

// The verdicts, from strict to loose.
const (
	Deny  Verdict = iota // refused
	Ask                  // a person has to answer first
	Allow                // granted
)

// String returns "deny", "ask" or "allow"; every unknown value is "deny".
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	default:
		return "deny"
	}
}

// MarshalText writes the verdict as String does.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads "deny", "ask" or "allow"; anything else is an error and
// leaves Deny.
func (v *Verdict) UnmarshalText(b []byte) error {
	*v = Deny
	switch string(b) {
	case "allow":
		*v = Allow
	case "ask":
		*v = Ask
	case "deny":
	default:
		return fmt.Errorf("verdict %q: want allow, ask or deny", b)
	}
	return nil
}

// Rule names the line of the author's text that a compiled rule comes from.
// File is relative to the folder of the policy, so that the same sources
// compile to the same bytes on every host. The zero Rule means "no rule": the
// default decided.
type Rule struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // as the author wrote it: interpreter_ring.denied_patterns[0]
}

// Evidence shows what in the action met the rule. It holds no argument values
// of bridges.
type Evidence struct {
	Argv   []string `json:"argv,omitempty"`
	Line   int      `json:"line,omitempty"`
	Column int      `json:"column,omitempty"`
	Chain  []string `json:"chain,omitempty"`
}

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
	// Text is the refusal of a script for whoever wrote it: see executors/shell/refusal.
	Text string `json:"text,omitempty"`
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
