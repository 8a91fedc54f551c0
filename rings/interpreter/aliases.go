package interpreter

import (
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// DecodePause reads what Pause.Encode wrote; see pause.Decode. That the bytes are
// authentic is the caller's affair.
func DecodePause(b []byte) (pause.Record, error) { return pause.Decode(b) }

// Capability is what records call a call by its name: that of a bridge, or of an
// act of a guest, as exec:/usr/bin/git.
func Capability(name string) string { return binding.CapabilityOf(name) }

// Ready returns why a provider cannot begin a call that was approved; see contract.Ready.
func Ready(p contract.Provider) error { return contract.Ready(p) }

// IsAct reports whether a call is an act of a guest by its name: that it was approved
// may be told again.
func IsAct(name string) bool { return pause.IsAct(name) }
