package trust

// Code is the reason of a refused push. Codes are API: status, audit log and commands show them.
type Code string

// Codes of refusals.
const (
	CodeUnsigned    Code = "push_unsigned"    // trust roots are configured, and the folder holds no signed push
	CodeUntrusted   Code = "push_untrusted"   // a signed push, but no trust root is configured
	CodeMixed       Code = "push_mixed"       // another file is beside the signed push
	CodeMissing     Code = "push_missing"     // the folder is empty
	CodeTorn        Code = "push_torn"        // the file changes during the read, or is incomplete
	CodeFile        Code = "push_file"        // not a regular file, or a link out of the folder
	CodeTooLarge    Code = "push_too_large"   // above the limits of an envelope
	CodeMalformed   Code = "push_malformed"   // no envelope or statement of this format, byte for byte
	CodeType        Code = "push_type"        // a signed statement of another kind
	CodeSignature   Code = "push_signature"   // no valid signature of a key of the trust roots
	CodeThreshold   Code = "push_threshold"   // fewer different keys of a role than required
	CodeAudience    Code = "push_audience"    // signed for other hosts, or for hosts without a name
	CodeSet         Code = "push_set"         // the set does not have the signed revision
	CodeException   Code = "push_exception"   // an exception without the signature of its approver
	CodeGuardrail   Code = "push_guardrail"   // a guardrail of the set denies it
	CodeExpired     Code = "push_expired"     // its time has passed
	CodeClock       Code = "push_clock"       // issued in the future, or the host's clock went back
	CodeReplayed    Code = "push_replayed"    // older than an accepted push
	CodeEquivocated Code = "push_equivocated" // another push with the same sequence was accepted
	CodePrevious    Code = "push_previous"    // made for another previous revision than the last accepted one
	CodeRolledBack  Code = "push_rolled_back" // an earlier revision, without being marked as a rollback
)

// Refusal is the error of a refused push.
type Refusal struct {
	Code   Code
	Reason string // may include a remedy
	// Later reports that the same push may be accepted at another time.
	Later bool
}

// Error returns the code, the reason, and a remedy.
func (r *Refusal) Error() string {
	text := string(r.Code) + ": " + r.Reason
	if todo := r.Code.remedy(); todo != "" {
		text += "; " + todo
	}
	return text
}

// remedy returns what to do about a refusal with this code, or "" if the reason says it.
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
