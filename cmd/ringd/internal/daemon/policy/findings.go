package policy

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/schema"
)

// aside is the warning about what lies beside a signed push; nil for sources, and empty
// where nothing does.
func aside(signed *trust.Push, p syncer.Push) schema.Diagnostics {
	switch {
	case signed == nil:
		return nil
	case p.Beside == "":
		return schema.Diagnostics{}
	}
	return schema.Diagnostics{
		{
			Pos:      schema.Pos{File: trust.FileName, Line: 1, Column: 1},
			Code:     string(trust.CodeMixed),
			Severity: schema.Warning,
			Msg:      p.Beside,
		},
	}
}

// busy reports whether the compiler ended for a reason that lies in the host
// and not in the policy.
func busy(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(d schema.Diagnostic) bool { return d.Code == worker.CodeBusy })
}

// short is what a person needs of a digest.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// unwritten is what status says then; the paths are for the log of the daemon.
const unwritten = "audit log or store cannot be written; see the log of the daemon"

// line is a finding as the daemon's log has it.
func line(f schema.Diagnostic) string {
	const most = 400
	text := f.Pos.String() + ": " + f.Code + ": " + f.Msg
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
