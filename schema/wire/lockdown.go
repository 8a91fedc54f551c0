package wire

import "time"

// The states of a Lockdown, and what a LockdownOrder asks for.
const (
	LockdownOpen   = "open"
	LockdownLocked = "locked"
	LockdownBegin  = "begin"
	LockdownLift   = "lift"
)

// Lockdown is the answer of GET and POST /v1/lockdown: whether a lockdown is in force,
// and who started it, when and why.
type Lockdown struct {
	State  string     `json:"state"` // open | locked
	By     string     `json:"by,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	// Live is how many runs had not ended at the time of the answer. No operation of
	// these runs is allowed any more.
	Live int `json:"live"`
	// Unrecorded says why the lockdown is not on disk. The lockdown is in force, but a
	// restart of the daemon would end it.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// LockdownOrder is the body of POST /v1/lockdown.
type LockdownOrder struct {
	State  string `json:"state"`  // begin | lift
	Reason string `json:"reason"` // for the record, and for the messages of denials
}

// The results of an Order.
const (
	OrderObeyed    = "obeyed"
	OrderUnchanged = "unchanged" // the order was carried out before
	OrderRefused   = "refused"
)

// Order is a signed lockdown order that the daemon found in its sync folder. If
// Sequence is absent, the order could not be verified, and the daemon has read nothing
// in it.
type Order struct {
	Result   string    `json:"result"`          // obeyed | unchanged | refused
	State    string    `json:"state,omitempty"` // begin | lift
	Sequence int64     `json:"sequence,omitempty"`
	Issuer   string    `json:"issuer,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Signers  []Signer  `json:"signers,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Code     string    `json:"code,omitempty"` // why the order is refused
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at"`
}
