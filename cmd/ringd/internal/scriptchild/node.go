package scriptchild

import "github.com/ringd/ringd/profiles"

// Node is one command of a script as its text shows it, or a redirect or variable
// of one, for whoever wants the script explained.
type Node struct {
	Kind     string             `json:"kind"`           // command, builtin, function, redirect, variable, script
	Text     string             `json:"text"`           // as far as it is known
	Line     int                `json:"line,omitempty"` // in the outermost script; 0: not known
	Column   int                `json:"column,omitempty"`
	Chain    []string           `json:"chain,omitempty"`
	Verdict  string             `json:"verdict"` // allow, ask, deny, or "at run time": its final words decide
	Decision *profiles.Decision `json:"decision,omitempty"`
	Children []Node             `json:"children,omitempty"`
}
