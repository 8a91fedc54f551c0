package wire

import "time"

// The states of a candidate policy.
const (
	ShadowNone     = "none"     // no policy in its folder
	ShadowRejected = "rejected" // the candidate does not compile
	ShadowReady    = "ready"    // the candidate is compared with the policy in force
)

// Shadow is about a candidate policy: a policy that is not in force, and is asked about
// every decision in addition to the policy in force. Shadow has the decisions that
// would have been different. The candidate enforces nothing.
type Shadow struct {
	State      string       `json:"state"` // none | rejected | ready
	Reason     string       `json:"reason,omitempty"`
	Revision   string       `json:"revision,omitempty"`
	Since      time.Time    `json:"since"`   // since when State, or Revision, has its value
	Decided    int64        `json:"decided"` // decisions about which the candidate was asked
	WouldAllow int64        `json:"would_allow"`
	WouldDeny  int64        `json:"would_deny"`
	WouldAsk   int64        `json:"would_ask"`
	Examples   []Difference `json:"examples"` // some of the differences, one of each kind
	Findings   []Diagnostic `json:"findings"`
}

// Difference is a decision for which the candidate policy would have given a different
// result.
type Difference struct {
	Outcome    string `json:"outcome"` // would_allow | would_deny | would_ask
	Agent      string `json:"agent"`
	Run        string `json:"run,omitempty"`
	Capability string `json:"capability"` // bridge:search, import:pandas, egress:api.example.com:443
	Code       string `json:"code"`       // the code of the candidate's decision
	Enforced   string `json:"enforced"`   // the verdict of the policy in force
}
