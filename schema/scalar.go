package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// ResolveScalar returns the kind of an unquoted YAML word, and the value that a YAML 1.1 reader would
// see instead. Readers disagree about some numbers. Such a number is rejected, and refused is the
// reason.
func ResolveScalar(word string) (k ValueKind, trap, refused string) {
	if word == "" || word == "~" {
		return Null, "", ""
	}
	lower := strings.ToLower(word)
	digits := strings.TrimLeft(lower, "+-")
	switch lower {
	case "null":
		return Null, "", ""
	case "true", "false":
		if word == lower || word == strings.ToUpper(word) || word == strings.ToUpper(word[:1])+lower[1:] {
			return Bool, "", ""
		}
		return String, "", ""
	case "on", "yes", "y":
		return String, "true", ""
	case "off", "no", "n":
		return String, "false", ""
	}
	switch digits {
	case ".inf", ".nan":
		return String, "", "not a number that a policy can hold"
	}
	if first := digits + " "; first[0] != '.' && (first[0] < '0' || first[0] > '9') {
		return String, "", ""
	}
	return resolveNumber(word, digits)
}

func resolveNumber(word, digits string) (k ValueKind, trap, refused string) {
	switch {
	case decimal(digits) && (len(digits) == 1 || digits[0] != '0'):
		if _, err := strconv.ParseInt(word, 10, 64); err != nil {
			return Float, "", ""
		}
		if word[0] == '+' {
			return Int, "", "a number with a plus sign"
		}
		return Int, "", ""
	case decimal(digits):
		return String, "", "octal to YAML 1.1 readers and decimal to others"
	case sexagesimal(digits):
		return String, "a number in base 60", ""
	case yamlDate(digits):
		return String, "a date", ""
	case len(digits) > 2 && digits[0] == '0' && strings.Contains("xob", digits[1:2]) && radix(digits):
		return String, "", "a number that is not decimal"
	case strings.Contains(digits, "_") && decimal(strings.ReplaceAll(digits, "_", "")):
		return String, "a number without its underscores", ""
	}
	if _, err := strconv.ParseFloat(word, 64); err != nil || strings.ContainsAny(digits, "xp_") {
		return String, "", ""
	}
	if !json.Valid([]byte(word)) {
		return String, "", "a number that is not written as in JSON"
	}
	return Float, "", ""
}

func radix(digits string) bool {
	_, err := strconv.ParseUint(digits, 0, 64)
	return err == nil
}

// decimal reports whether s consists of decimal digits.
func decimal(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

func sexagesimal(s string) bool {
	parts := strings.Split(s, ":")
	for i, part := range parts {
		if i > 0 && (len(part) > 2 || len(part) == 2 && part[0] > '5') {
			return false
		}
		if !decimal(part) {
			return false
		}
	}
	return len(parts) > 1
}

func yamlDate(s string) bool {
	parts := strings.SplitN(s, "-", 3)
	if len(parts) != 3 || len(parts[0]) != 4 || len(parts[1]) > 2 || len(parts[2]) == 0 {
		return false
	}
	day, _, _ := strings.Cut(strings.ReplaceAll(parts[2], "t", " "), " ")
	return decimal(parts[0]) && decimal(parts[1]) && decimal(day) && len(day) <= 2
}
