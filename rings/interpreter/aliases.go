package interpreter

import (
	"github.com/ringd/ringd/rings/interpreter/feed"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/port"
	"github.com/ringd/ringd/rings/interpreter/rules"
	"github.com/ringd/ringd/rings/interpreter/touched"
)

// What a ring is made of, and what its runs take and give; see package port.
type (
	Approved     = port.Approved
	Auditor      = port.Auditor
	Call         = port.Call
	CallEnd      = port.CallEnd
	Conditions   = port.Conditions
	Durability   = port.Durability
	Ender        = port.Ender
	Entry        = port.Entry
	Failure      = port.Failure
	Harness      = port.Harness
	Idempotent   = port.Idempotent
	Journal      = port.Journal
	Pacer        = port.Pacer
	Keeper       = port.Keeper
	Kind         = port.Kind
	Parent       = pause.Parent
	Pending      = port.Pending
	Provider     = port.Provider
	QueueError   = port.QueueError
	Record       = port.Record
	Recorded     = port.Recorded
	Reply        = port.Reply
	SessionState = port.SessionState
	Settlement   = port.Settlement
	Spawned      = port.Spawned
	Touched      = touched.Touched
	Unprovided   = port.UnprovidedError
	View         = port.View
)

// Pause is a run that waits, whole: a daemon with the same engine goes on from
// it. It is immutable. Terms are what an approval of one of its calls takes.
type (
	Pause  = pause.Record
	Terms  = pause.Terms
	Places = rules.Places
)

// What a run tells while it goes on; see package feed.
type (
	Event     = feed.Event
	EventKind = feed.Kind
	CallEvent = feed.Call
)

// The kinds of event.
const (
	EventState    = feed.State
	EventConsole  = feed.Console
	EventCall     = feed.CallChange
	EventDecision = feed.Decision
	EventDropped  = feed.Dropped
)

// The constants of package port.
const (
	StateRunning = port.StateRunning
	MaxDenials   = port.MaxDenials
	MaxImports   = port.MaxImports
	MaxClaims    = port.MaxClaims
	SourceGuest  = port.SourceGuest
	MaxFull      = port.MaxFull

	CallDone    = port.CallDone
	CallFailed  = port.CallFailed
	CallUnrun   = port.CallUnrun
	CallUnknown = port.CallUnknown

	Synced  = port.Synced
	Written = port.Written

	RunStarted      = port.RunStarted
	RunPaused       = port.RunPaused
	RunResumed      = port.RunResumed
	RunCancelled    = port.RunCancelled
	RunEnded        = port.RunEnded
	CallDecided     = port.CallDecided
	ImportDecided   = port.ImportDecided
	EgressDecided   = port.EgressDecided
	GuestRefused    = port.GuestRefused
	RefusalsCounted = port.RefusalsCounted
	CallOpened      = port.CallOpened
	CallBegun       = port.CallBegun
	CallAnswered    = port.CallAnswered
	CallClosed      = port.CallClosed

	ExecDecided     = port.ExecDecided
	FileDecided     = port.FileDecided
	VariableDecided = port.VariableDecided
)

// DecodePause reads what Pause.Encode wrote; see pause.Decode. That the bytes are
// authentic is the caller's affair.
func DecodePause(b []byte) (Pause, error) { return pause.Decode(b) }

// Capability is what records call a call by its name: that of a bridge, or of an
// act of a guest, as exec:/usr/bin/git.
func Capability(name string) string { return rules.GrantOf(name) }

// Ready returns why a provider cannot begin a call that was approved; see port.Ready.
func Ready(p Provider) error { return port.Ready(p) }

// IsAct reports whether a call is an act of a guest by its name: that it was approved
// may be told again.
func IsAct(name string) bool { return pause.IsAct(name) }
