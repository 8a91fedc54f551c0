package profiles

import "fmt"

// Verdict is a decision without its reason. The zero value denies.
type Verdict uint8

// The verdicts, from strict to loose.
const (
	Deny Verdict = iota
	Ask          // a person has to answer first
	Allow
)

// String returns "deny", "ask" or "allow". Every unknown value is "deny".
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

// MarshalText encodes the verdict like [Verdict.String].
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText decodes "deny", "ask" or "allow". Other values are an error and leave Deny.
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
