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
	Keeper     contract.Keeper     // if nil, a run that would pause ends
	Conditions contract.Conditions // if nil, every condition asks
	Pacer      contract.Pacer      // if nil, no call waits before it writes to disk
	Turns      *budget.Turns       // limits how many runs stop at once
	Provider   func(bridge string) contract.Provider
	InForce    func() *binding.Generation
	// Gone is called when a life of a run is over, before its Done is closed. Rested is
	// called before that with the record of a pause whose subagents may live.
	Gone       func(*Run)
	Rested     func(*Run, *pause.Record)
	Narrowed   func() // called when runs may reach less than before; may be nil
	Forget     func(executor string, snapshot []byte)
	Now        func() time.Time
	Go         func(func())
	CheckValue func(json.RawMessage) error
	Point      func(label string) // called at the points where tests crash; may be nil
}
