package interpreter

import "github.com/ringd/ringd/profiles"

// RefusalOf reports whether a decision is refused, for verdicts that no policy
// compiles to yet.
func RefusalOf(d profiles.Decision) bool { return refusalOf(d, nameDenied) != nil }
