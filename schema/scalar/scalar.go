// Package scalar owns what an unquoted YAML word is: which kind of value, and
// what other readers of YAML would take it for. It refuses numbers that readers
// disagree about. Package schema calls it.
package scalar

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ringd/ringd/schema/shape"
)

// Resolve returns what an unquoted YAML word is, what a YAML 1.1 reader
// would see instead, and why it is refused, if it is.
func Resolve(word string) (k shape.Kind, trap, refused string) {
	if word == "" || word == "~" {
		return shape.Null, "", ""
	}
	lower := strings.ToLower(word)
	digits := strings.TrimLeft(lower, "+-")
	switch lower {
	case "null":
		return shape.Null, "", ""
	case "true", "false":
		if word == lower || word == strings.ToUpper(word) || word == strings.ToUpper(word[:1])+lower[1:] {
			return shape.Bool, "", ""
		}
		return shape.String, "", ""
	case "on", "yes", "y":
		return shape.String, "true", ""
	case "off", "no", "n":
		return shape.String, "false", ""
	}
	switch digits {
	case ".inf", ".nan":
		return shape.String, "", "no number a policy can hold"
	}
	if first := digits + " "; first[0] != '.' && (first[0] < '0' || first[0] > '9') {
		return shape.String, "", ""
	}
	return resolveNumber(word, digits)
}

func resolveNumber(word, digits string) (k shape.Kind, trap, refused string) {
	switch {
	case Decimal(digits) && (len(digits) == 1 || digits[0] != '0'):
		if _, err := strconv.ParseInt(word, 10, 64); err != nil {
			return shape.Float, "", ""
		}
		if word[0] == '+' {
			return shape.Int, "", "a number with a plus sign"
		}
		return shape.Int, "", ""
	case Decimal(digits):
		return shape.String, "", "octal to YAML 1.1 readers and decimal to others"
	case sexagesimal(digits):
		return shape.String, "a number in base 60", ""
	case date(digits):
		return shape.String, "a date", ""
	case len(digits) > 2 && digits[0] == '0' && strings.Contains("xob", digits[1:2]) && radix(digits):
		return shape.String, "", "a number that is not decimal"
	case strings.Contains(digits, "_") && Decimal(strings.ReplaceAll(digits, "_", "")):
		return shape.String, "a number without its underscores", ""
	}
	if _, err := strconv.ParseFloat(word, 64); err != nil || strings.ContainsAny(digits, "xp_") {
		return shape.String, "", ""
	}
	if !json.Valid([]byte(word)) {
		return shape.String, "", "a number that is not written as in JSON"
	}
	return shape.Float, "", ""
}

func radix(digits string) bool {
	_, err := strconv.ParseUint(digits, 0, 64)
	return err == nil
}

// Decimal reports whether s is one or more decimal digits.
func Decimal(s string) bool {
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
		if !Decimal(part) {
			return false
		}
	}
	return len(parts) > 1
}

func date(s string) bool {
	parts := strings.SplitN(s, "-", 3)
	if len(parts) != 3 || len(parts[0]) != 4 || len(parts[1]) > 2 || len(parts[2]) == 0 {
		return false
	}
	day, _, _ := strings.Cut(strings.ReplaceAll(parts[2], "t", " "), " ")
	return Decimal(parts[0]) && Decimal(parts[1]) && Decimal(day) && len(day) <= 2
}
