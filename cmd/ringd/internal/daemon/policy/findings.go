package policy

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/schema"
)

// besideWarning returns a warning about the files beside a signed push. It is nil for sources, and empty if there are
// none.
func besideWarning(signed *trust.Push, p syncer.Push) schema.Diagnostics {
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

// hostFault reports whether the compiler ended for a reason of the host, not of the policy.
func hostFault(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(d schema.Diagnostic) bool { return d.Code == worker.CodeBusy })
}

// shortDigest returns the start of a digest, enough for a person.
func shortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// unwritableText is the text of the status while records cannot be written. The daemon's log has the paths.
const unwritableText = "audit log or store cannot be written; see the log of the daemon"

// formatFinding formats a finding for the daemon's log.
func formatFinding(f schema.Diagnostic) string {
	const most = 400
	text := f.Pos.String() + ": " + f.Code + ": " + f.Msg
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
