package life

import (
	"encoding/json"
	"time"

	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/calls"
	"github.com/ringd/ringd/rings/interpreter/feed"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
)

// Host is what a run needs from the ring that it lives in. Audit, Journal, Turns,
// Provider, InForce, Gone, Rested, Forget, Now, Go and CheckValue are required.
type Host struct {
	Audit      port.Auditor
	Journal    port.Journal
	Keeper     port.Keeper     // nil: a run that would pause ends
	Conditions port.Conditions // nil: every condition asks
	Pacer      port.Pacer      // nil: calls bring what they have at once
	Turns      *budget.Turns   // of runs that stop
	Provider   func(bridge string) Provider
	InForce    func() *rules.Generation
	// Gone is told that a life of a run is over, before its Done is closed. Rested
	// is told before that that it is paused, with subagents that may live.
	Gone       func(*Run)
	Rested     func(*Run, *Pause)
	Narrowed   func() // runs may reach less than before; nil: nobody is told
	Forget     func(executor string, snapshot []byte)
	Now        func() time.Time
	Go         func(func())
	CheckValue func(json.RawMessage) error
	Point      func(label string) // of crashes; nil: nobody is told
}

// The words of package port that this package uses throughout.
type (
	Call         = port.Call
	Entry        = port.Entry
	Parent       = pause.Parent
	Pause        = pause.Record
	Provider     = port.Provider
	Record       = port.Record
	Recorded     = port.Recorded
	SessionState = port.SessionState
	Settlement   = port.Settlement
	View         = port.View

	call      = calls.Call[*Run]
	event     = feed.Event
	callEvent = feed.Call
)
