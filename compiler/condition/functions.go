package condition

import (
	"slices"

	"github.com/ringd/ringd/compiler/rego"
)

// Functions lists what a condition may call by name, sorted. None of them looks
// outside, takes longer than its values are long, or makes a value that is much
// larger than those it is given.
func Functions() []string {
	return []string{"abs", "ceil", "contains", "count", "endswith", "floor", "is_array", "is_boolean", "is_null",
		"is_number",
		"is_object", "is_string", "lower", "net.cidr_contains", "object.get", "regex.match", "round", "split",
		"startswith",
		"substring", "sum", "trim", "trim_left", "trim_prefix", "trim_right",
		"trim_space", "trim_suffix", "type_name", "upper"}
}

// operators lists what a condition may write between values.
func operators() []string {
	return []string{"equal", "neq", "gt", "gte", "lt", "lte", "plus", "minus", "mul", "div", "rem", "internal.member_2",
		"internal.member_3"}
}

func allowed(name string) bool {
	return slices.Contains(Functions(), name) || slices.Contains(operators(), name)
}

// folds reports whether a function makes one number out of a list.
func folds(name string) bool { return name == "count" || name == "sum" }

// tellsTruth reports whether a function is true or false.
func tellsTruth(name string) bool {
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
