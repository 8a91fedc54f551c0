package script

import "mvdan.cc/sh/v3/syntax"

// Construct is something of bash that a script may not use, because it would not
// run as in bash.
type Construct struct {
	Key     string // stable: "fd.3", "read.-t"
	What    string // as a reader knows it
	Differs string // what would happen instead
	Instead string // the rewrite; "" when there is none
}

// supported refuses the first construct that would not run as in bash.
func supported(*syntax.File) *Refusal { return nil }
