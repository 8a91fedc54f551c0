package schema

// ValueKind is the type of a value as the author wrote it.
type ValueKind uint8

// The kinds.
const (
	Null ValueKind = iota
	Bool
	Int
	Float
	String
	List
	Object
	Bytes // CUE only; no field accepts it
)

// String returns the name of the kind for a finding.
func (k ValueKind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Bool:
		return "true or false"
	case Int:
		return "a whole number"
	case Float:
		return "a number"
	case String:
		return "text"
	case List:
		return "a list"
	case Object:
		return "fields"
	case Bytes:
		return "bytes"
	default:
		return "an unknown value"
	}
}
