package wire

import "time"

// The states of a candidate.
const (
	ShadowNone     = "none"     // no policy in its folder
	ShadowRejected = "rejected" // it does not compile
	ShadowReady    = "ready"    // it decides beside the policy in force
)

// Shadow tells of a candidate policy that decides beside the one in force, and what it
// would have decided otherwise. It enforces nothing.
type Shadow struct {
	State      string       `json:"state"` // none | rejected | ready
	Reason     string       `json:"reason,omitempty"`
	Revision   string       `json:"revision,omitempty"`
	Since      time.Time    `json:"since"`   // of the state, or since when the revision counts
	Decided    int64        `json:"decided"` // decisions that it was asked about
	WouldAllow int64        `json:"would_allow"`
	WouldDeny  int64        `json:"would_deny"`
	WouldAsk   int64        `json:"would_ask"`
	Examples   []Difference `json:"examples"` // one of each kind, some of them
	Findings   []Diagnostic `json:"findings"`
}

// Difference is a decision that a candidate would have made otherwise.
type Difference struct {
	Outcome    string `json:"outcome"` // would_allow | would_deny | would_ask
	Agent      string `json:"agent"`
	Run        string `json:"run,omitempty"`
	Capability string `json:"capability"` // bridge:search, import:pandas, egress:api.example.com:443
	Code       string `json:"code"`       // of the candidate's decision
	Enforced   string `json:"enforced"`   // the verdict that held
}
