package view

import (
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// Findings converts diagnostics. It never returns nil.
func Findings(all schema.Diagnostics) []wire.Diagnostic {
	out := make([]wire.Diagnostic, 0, len(all))
	for _, x := range all {
		severity := "error"
		if x.Severity == schema.Warning {
			severity = "warning"
		}
		var related []wire.Place
		for _, pos := range x.Related {
			related = append(related, wire.Place{File: pos.File, Line: pos.Line, Column: pos.Column})
		}
		out = append(out, wire.Diagnostic{File: x.Pos.File, Line: x.Pos.Line, Column: x.Pos.Column,
			Code: x.Code, Message: x.Msg, Hint: x.Hint, Severity: severity, Related: related})
	}
	return out
}
