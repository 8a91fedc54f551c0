package schema

import "github.com/ringd/ringd/schema/finding"

// What is said about sources; see package finding.
type (
	Pos         = finding.Pos
	Severity    = finding.Severity
	Diagnostic  = finding.Diagnostic
	Diagnostics = finding.Diagnostics
)

// The severities.
const (
	Error   = finding.Error
	Warning = finding.Warning
)
