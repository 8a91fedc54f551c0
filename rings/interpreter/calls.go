package interpreter

import (
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// DecodePause reads what Encode of a pause.Record wrote. The caller has checked that the
// bytes are authentic.
func DecodePause(b []byte) (pause.Record, error) { return pause.Decode(b) }

// Capability returns the name of a call in records: that of its bridge, or that of an act of
// a guest, such as exec:/usr/bin/git.
func Capability(name string) string { return binding.CapabilityOf(name) }

// Ready returns why a provider cannot begin a call that was approved; see contract.Ready.
func Ready(p contract.Provider) error { return contract.Ready(p) }

// IsAct reports whether the name of a call is that of an act of a guest. The answer that an
// act was approved may be given again.
func IsAct(name string) bool { return pause.IsAct(name) }
