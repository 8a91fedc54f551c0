package layers

import "github.com/ringd/ringd/compiler/layers/chain"

// The codes of findings about layers. They are API: tools match on them.
const (
	CodeWidens         = "widens-parent"    // a value is above the ceiling of a layer above
	CodeDeniedByParent = "denied-by-parent" // a grant that a layer above denies
	CodePowerMismatch  = "power-mismatch"   // other powers than the owner states
	CodeClassAboveMax  = "class-above-max"  // a bridge carries a class of data above data.maxClass
)

// The codes of findings about chains; what each means stands in package chain.
const (
	CodeNoParent        = chain.CodeNoParent
	CodeUnknownParent   = chain.CodeUnknownParent
	CodeParentKind      = chain.CodeParentKind
	CodeParentCycle     = chain.CodeParentCycle
	CodeDuplicatePolicy = chain.CodeDuplicatePolicy
)
