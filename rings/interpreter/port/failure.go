package port

import "github.com/ringd/ringd/rings/interpreter/rules"

// Failure is an error of a Provider that the program is told of.
type Failure = rules.Failure
