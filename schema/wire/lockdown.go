package wire

import "time"

// The states of a Lockdown, and what a LockdownOrder asks for.
const (
	LockdownOpen   = "open"
	LockdownLocked = "locked"
	LockdownBegin  = "begin"
	LockdownLift   = "lift"
)

// Lockdown is the answer of GET and POST /v1/lockdown: whether everything is closed,
// by whom, when and why.
type Lockdown struct {
	State  string     `json:"state"` // open | locked
	By     string     `json:"by,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	// Live is how many runs had not ended when this was answered; none of them may
	// act any more.
	Live int `json:"live"`
	// Unrecorded says why the lockdown is not on disk: it holds, and a restart would
	// forget it.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// LockdownOrder is the body of POST /v1/lockdown.
type LockdownOrder struct {
	State  string `json:"state"`  // begin | lift
	Reason string `json:"reason"` // for the record, and for those who are refused
}

// What became of an Order.
const (
	OrderObeyed    = "obeyed"
	OrderUnchanged = "unchanged" // it was carried out before
	OrderRefused   = "refused"
)

// Order is a signed lockdown order that the daemon found in its sync folder. Without
// Sequence it could not be verified, and nothing of it was read.
type Order struct {
	Result   string    `json:"result"`          // obeyed | unchanged | refused
	State    string    `json:"state,omitempty"` // begin | lift
	Sequence int64     `json:"sequence,omitempty"`
	Issuer   string    `json:"issuer,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Signers  []Signer  `json:"signers,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Code     string    `json:"code,omitempty"` // why it is refused
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at"`
}
