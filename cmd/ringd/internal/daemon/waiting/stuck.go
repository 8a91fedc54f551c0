package waiting

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// StuckError is the error of a paused run that could not be resumed. No part of it was loaded, and it
// stays paused.
type StuckError struct {
	Run  string
	Code string // of wire
	Text string
	// Lacks is set with wire.CodeBridgeUnprovided. Its cause may name files of the
	// host, which Text does not.
	Lacks *contract.UnprovidedError
}

// Error returns Text, which has no data of the run.
func (e *StuckError) Error() string { return e.Text }

// Fault is the reason that the store keeps.
func (e *StuckError) Fault() store.Fault { return store.Fault{Code: e.Code, Text: e.Text} }

// Stuck classifies an error of resuming a run. Faults of the host have no detail.
func Stuck(run string, err error) *StuckError {
	e := &StuckError{Run: run, Code: wire.CodeResumeFailed, Text: "the run could not be resumed: see the daemon's log"}
	var integrity *seal.IntegrityError
	var version *seal.VersionError
	var key *seal.KeyError
	var engine *EngineError
	var lacks *contract.UnprovidedError
	switch {
	case errors.As(err, &lacks):
		return Unprovided(run, lacks)
	case errors.As(err, &integrity):
		e.Code, e.Text = wire.CodeIntegrity, integrity.Error()
	case errors.As(err, &key):
		e.Code, e.Text = wire.CodeKeyUnknown, key.Error()
	case errors.As(err, &version):
		e.Code, e.Text = wire.CodeFormatUnknown, version.Error()
	case errors.Is(err, executors.ErrFormat):
		e.Code, e.Text = wire.CodeFormatUnknown,
			"the record of the pause has a format that this ringd does not know: use the ringd that wrote it"
	case errors.As(err, &engine):
		e.Code, e.Text = wire.CodeEngineUnknown, engine.Error()
	case errors.Is(err, executors.ErrEngine):
		e.Code, e.Text = wire.CodeEngineUnknown, err.Error()
	case errors.Is(err, store.ErrDamaged), errors.Is(err, executors.ErrSnapshot):
		e.Code, e.Text = wire.CodeIntegrity, "the record of the pause is damaged"
	}
	e.Text = Clip(e.Text)
	return e
}

// Unprovided is the error of a run that waits for a bridge.
func Unprovided(run string, lacks *contract.UnprovidedError) *StuckError {
	why := "its command cannot be started"
	if errors.Is(lacks.Err, contract.ErrNoProvider) {
		why = "no provider on this host performs it"
	}
	text := fmt.Sprintf("call %s is approved and needs bridge %s: %s", lacks.Call, lacks.Bridges[0], why)
	return &StuckError{Run: run, Code: wire.CodeBridgeUnprovided, Text: Clip(text), Lacks: lacks}
}

// tryAgain is the time between two attempts to resume a run after a fault of the host.
const tryAgain = time.Minute

// Again reports whether a run that could not be resumed is retried automatically. A person has to repair
// a wrong record, key, engine or bridge first.
func Again(f store.Fault, now time.Time) bool {
	switch f.Code {
	case "":
		return true
	case wire.CodeIntegrity,
		wire.CodeKeyUnknown,
		wire.CodeEngineUnknown,
		wire.CodeFormatUnknown,
		wire.CodeBridgeUnprovided:
		return false
	default:
		return !now.Before(f.At.Add(tryAgain))
	}
}

// Condition reports n answered runs that could not be resumed, with a remedy.
func Condition(code string, n int64) wire.Condition {
	remedy := "the policy in force does not allow them to continue: push one that does, or cancel them"
	switch code {
	case string(profiles.CodeTierUnavailable):
		remedy = "a policy that binds them asks for more isolation than this host has: give it that (ringd doctor), " +
			"resume them on another, or cancel them"
	case wire.CodeIntegrity:
		remedy = "their records in the store are not those that were sealed: restore the state folder and resume " +
			"them, or cancel them"
	case wire.CodeKeyUnknown:
		remedy = "add the key that sealed them to snapshots.previous, and start the daemon again"
	case wire.CodeEngineUnknown:
		remedy = "add a guest with their engine to snapshots.engines, and start the daemon again"
	case wire.CodeFormatUnknown:
		remedy = "another version of ringd wrote their records: resume them with that version, or cancel them"
	case wire.CodeBridgeUnprovided:
		remedy = "a bridge that must perform an approved call is not configured, or its command is missing: add it " +
			"to bridges and start the daemon again, or restore the command and resume them"
	case wire.CodeResumeFailed:
		remedy = "a fault of the host, which its log describes; ringd tries again every minute"
	}
	return wire.Condition{
		Code:    wire.ConditionRunsStuck,
		Message: fmt.Sprintf("%d answered, %s: %s", n, Clip(code), remedy),
	}
}

// Damaged classifies an error of seal with [Stuck]. Any other error is returned unchanged.
func Damaged(run string, err error) error {
	var integrity *seal.IntegrityError
	var key *seal.KeyError
	if errors.As(err, &integrity) || errors.As(err, &key) {
		return Stuck(run, err)
	}
	return err
}

// Clip truncates a text for the store.
func Clip(s string) string { return canonjson.Truncate(s, 1000) }

// EngineError is the error of a snapshot whose engine this daemon does not have.
type EngineError struct {
	Digest string // of the snapshot's engine
	Own    string // of this daemon; empty until a guest has reported it
}

// Error names both digests.
func (e *EngineError) Error() string {
	if e.Own == "" {
		return "no engine " + e.Digest + " is configured: the run waits until it is"
	}
	return "no engine " + e.Digest + " is configured, and this ringd has " + e.Own + ": the run waits until it is"
}
