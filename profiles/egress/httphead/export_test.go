package httphead

// What the table of bytes is tested by.
const (
	InToken     = inToken
	InTarget    = inTarget
	InValue     = inValue
	InAuthority = inAuthority
	InHex       = inHex
	Classes     = classes
)

// ParseRequest reads one head.
func ParseRequest(buf []byte) (Request, int, error) {
	var r Request
	n, err := r.Read(buf)
	return r, n, err
}
