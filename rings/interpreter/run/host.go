package run

import (
	"encoding/json"
	"time"

	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/budget"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Host is what a run needs from the ring that it lives in. Audit, Journal, Turns,
// Provider, InForce, Gone, Rested, Forget, Now, Go and CheckValue are required.
type Host struct {
	Audit      contract.Auditor
	Journal    contract.Journal
	Keeper     contract.Keeper     // nil: a run that would pause ends
	Conditions contract.Conditions // nil: every condition asks
	Pacer      contract.Pacer      // nil: calls bring what they have at once
	Turns      *budget.Turns       // of runs that stop
	Provider   func(bridge string) contract.Provider
	InForce    func() *binding.Generation
	// Gone is told that a life of a run is over, before its Done is closed. Rested
	// is told before that that it is paused, with subagents that may live.
	Gone       func(*Run)
	Rested     func(*Run, *pause.Record)
	Narrowed   func() // runs may reach less than before; nil: nobody is told
	Forget     func(executor string, snapshot []byte)
	Now        func() time.Time
	Go         func(func())
	CheckValue func(json.RawMessage) error
	Point      func(label string) // of crashes; nil: nobody is told
}

// The words of package contract that this package uses throughout.
type (
	call = openCall[*Run]
)
