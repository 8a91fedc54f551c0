package trust

// Code is why a push is refused. Codes are API: status, audit and commands show them.
type Code string

// The codes, each with what it means.
const (
	CodeUnsigned    Code = "push_unsigned"    // trust roots are configured, and the folder holds something else
	CodeUntrusted   Code = "push_untrusted"   // a signed push, and no trust root is configured
	CodeMixed       Code = "push_mixed"       // something lies beside the signed push
	CodeMissing     Code = "push_missing"     // the folder is empty
	CodeTorn        Code = "push_torn"        // the file changes while it is read, or is half a file
	CodeFile        Code = "push_file"        // not a regular file, or a link out of the folder
	CodeTooLarge    Code = "push_too_large"   // above the limits of an envelope
	CodeMalformed   Code = "push_malformed"   // no envelope or statement of this version, byte for byte
	CodeType        Code = "push_type"        // a signed statement of another kind
	CodeSignature   Code = "push_signature"   // no signature by a key of the trust roots
	CodeThreshold   Code = "push_threshold"   // fewer distinct keys of a role than it asks for
	CodeAudience    Code = "push_audience"    // signed for other hosts, or for none in particular
	CodeSet         Code = "push_set"         // the set is not the one that the revision names
	CodeException   Code = "push_exception"   // an exception without the signature of who approves it
	CodeGuardrail   Code = "push_guardrail"   // a guardrail of the set refuses it
	CodeExpired     Code = "push_expired"     // its time has passed
	CodeClock       Code = "push_clock"       // issued in the future, or the host's clock went back
	CodeReplayed    Code = "push_replayed"    // older than what was accepted
	CodeEquivocated Code = "push_equivocated" // another push with the same sequence was accepted
	CodePrevious    Code = "push_previous"    // made on top of another revision than the one accepted last
	CodeRolledBack  Code = "push_rolled_back" // a revision that was in force before, and does not say so
)

// Refusal is a push that is not taken.
type Refusal struct {
	Code   Code
	Reason string // with what to do about it, where somebody can
	// Later says that the same push may be taken at another time.
	Later bool
}

// Error is the code, the reason, and what to do about it.
func (r *Refusal) Error() string {
	text := string(r.Code) + ": " + r.Reason
	if todo := r.Code.remedy(); todo != "" {
		text += "; " + todo
	}
	return text
}

// remedy is what to do about any refusal of a code; "": its reason says that.
func (c Code) remedy() string {
	switch c {
	case CodeUnsigned:
		return "remove it, and put a signed push there: ringd sign, ringd push"
	case CodeMixed:
		return "remove it: no signature covers it"
	case CodeMissing:
		return "put a signed push there: ringd push"
	case CodeTorn:
		return "write it under another name and rename it, as ringd push does"
	case CodeFile:
		return "put a regular file there that ringd can read, or a link that stays in the folder"
	case CodeMalformed, CodeType, CodeSet:
		return "make it with ringd sign"
	case CodeSignature, CodeThreshold:
		return "have keys of the role sign it: ringd sign --add"
	case CodeAudience:
		return "sign it for this audience: --audience NAME, as trust.audience of the host"
	case CodeException:
		return "have its approvers sign it with ringd sign --add, or remove the exception"
	case CodeReplayed:
		return "sign it again on top of what is in force; an earlier revision with ringd rollback"
	default:
		return ""
	}
}
