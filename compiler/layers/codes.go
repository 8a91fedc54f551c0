package layers

// The codes of findings about layers. They are API: tools match on them.
const (
	CodeWidens         = "widens-parent"    // a value is above the ceiling of a layer above
	CodeDeniedByParent = "denied-by-parent" // a grant that a layer above denies
	CodePowerMismatch  = "power-mismatch"   // other powers than the owner states
	CodeClassAboveMax  = "class-above-max"  // a bridge carries a class of data above data.maxClass
)
