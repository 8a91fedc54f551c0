// This file owns the three answers to a question. It is pure.

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
