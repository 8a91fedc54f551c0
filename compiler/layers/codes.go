package layers

// Codes of findings about layers. They are API: tools match on them.
const (
	CodeWidens         = "widens-parent"    // a value that allows more than a layer above
	CodeDeniedByParent = "denied-by-parent" // a grant that a layer above denies
	CodePowerMismatch  = "power-mismatch"   // powers that differ from those that the owner declares
	CodeClassAboveMax  = "class-above-max"  // the data class of a bridge is above data.maxClass
)
