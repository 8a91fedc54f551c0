package wire

import "time"

// Clock is the answer of POST /v1/clock: the time of the host, and the latest time that
// the host had seen before.
type Clock struct {
	Now      time.Time `json:"now"`
	Before   time.Time `json:"before"`   // zero: the host had seen no time before
	Accepted bool      `json:"accepted"` // false: the clock was not behind, and nothing changed
}

// ClockOrder is the body of POST /v1/clock.
type ClockOrder struct {
	Reason string `json:"reason"` // for the record
}
