package head

// What the table of bytes is tested by.
const (
	InToken     = inToken
	InTarget    = inTarget
	InValue     = inValue
	InAuthority = inAuthority
	InHex       = inHex
	Classes     = classes
)
