package worker

import "github.com/ringd/ringd/profiles"

// ScriptNode is one command of a script as its text shows it, or a redirect or variable of one. It
// explains a script to a reader.
type ScriptNode struct {
	Kind     string             `json:"kind"`           // command, builtin, function, redirect, variable, script
	Text     string             `json:"text"`           // as far as known
	Line     int                `json:"line,omitempty"` // in the outermost script; 0 if unknown
	Column   int                `json:"column,omitempty"`
	Chain    []string           `json:"chain,omitempty"`
	Verdict  string             `json:"verdict"` // allow, ask, deny, or "at run time" if its final words decide
	Decision *profiles.Decision `json:"decision,omitempty"`
	Children []ScriptNode       `json:"children,omitempty"`
}
