package condition

import (
	"slices"

	"github.com/ringd/ringd/compiler/rego"
)

// Functions lists the functions that a condition may call, sorted. Each reads only its arguments, takes time
// proportional to their length, and returns no value that is much larger than they are.
func Functions() []string {
	return []string{"abs", "ceil", "contains", "count", "endswith", "floor", "is_array", "is_boolean", "is_null",
		"is_number",
		"is_object", "is_string", "lower", "net.cidr_contains", "object.get", "regex.match", "round", "split",
		"startswith",
		"substring", "sum", "trim", "trim_left", "trim_prefix", "trim_right",
		"trim_space", "trim_suffix", "type_name", "upper"}
}

// operators lists the allowed operators.
func operators() []string {
	return []string{"equal", "neq", "gt", "gte", "lt", "lte", "plus", "minus", "mul", "div", "rem", "internal.member_2",
		"internal.member_3"}
}

func allowed(name string) bool {
	return slices.Contains(Functions(), name) || slices.Contains(operators(), name)
}

// reducesToNumber reports whether a function reduces a list to one number.
func reducesToNumber(name string) bool { return name == "count" || name == "sum" }

// returnsBoolean reports whether a function returns a boolean.
func returnsBoolean(name string) bool {
	switch name {
	case "equal", "neq", "gt", "gte", "lt", "lte", "internal.member_2", "internal.member_3", "contains", "endswith",
		"startswith",
		"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_string", "net.cidr_contains", "regex.match",
		"ringd.gt", "ringd.gte", "ringd.lt", "ringd.lte", rego.Truth:
		return true
	default:
		return false
	}
}
