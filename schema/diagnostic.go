package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a position in the author's text. Line and Column count from 1, and Column counts bytes. The zero Pos
// means "unknown".
type Pos struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Compare orders positions by file, line and column.
func (p Pos) Compare(o Pos) int {
	return cmp.Or(cmp.Compare(p.File, o.File), cmp.Compare(p.Line, o.Line), cmp.Compare(p.Column, o.Column))
}

// Severity distinguishes errors from warnings. The zero value is an error.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// MarshalText returns "error" or "warning".
func (s Severity) MarshalText() ([]byte, error) {
	if s == Warning {
		return []byte("warning"), nil
	}
	return []byte("error"), nil
}

// UnmarshalText decodes "error" or "warning".
func (s *Severity) UnmarshalText(text []byte) error {
	switch string(text) {
	case "warning":
		*s = Warning
	case "error":
		*s = Error
	default:
		return fmt.Errorf("read severity %q: want error or warning", text)
	}
	return nil
}

// Diagnostic is one finding about sources. One mistake of the author is one Diagnostic. Msg begins with the
// author's path ("spec.network.mode: …").
type Diagnostic struct {
	Pos      Pos      `json:"pos"`
	Code     string   `json:"code"`
	Msg      string   `json:"msg"`
	Hint     string   `json:"hint,omitempty"`
	Related  []Pos    `json:"related,omitempty"` // other positions involved
	Severity Severity `json:"severity,omitempty"`
}

// String formats the finding as "file:line:col: code: message", with the hint on an indented line of its own.
func (d Diagnostic) String() string {
	s := fmt.Sprintf("%s: %s: %s", d.Pos, d.Code, d.Msg)
	if d.Hint != "" {
		s += "\n    hint: " + d.Hint
	}
	return s
}

// Diagnostics are all findings of one reading.
type Diagnostics []Diagnostic

// Error joins the findings by newlines.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Refused reports whether a finding is an error.
func (ds Diagnostics) Refused() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sort orders findings by file, line, column, code and message. Equal findings at one position are one
// mistake, even if the mistake affects several values through an anchor or a comprehension. Sort keeps the
// first of them. If they are an error and a warning, it keeps the error.
func (ds Diagnostics) Sort() Diagnostics {
	slices.SortFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Msg, b.Msg))
	})
	return slices.CompactFunc(ds, func(a, b Diagnostic) bool {
		return a.Pos == b.Pos && a.Code == b.Code && a.Severity == b.Severity && a.words() == b.words()
	})
}

// words returns the message without the author's path.
func (d Diagnostic) words() string {
	path, words, found := strings.Cut(d.Msg, ": ")
	if !found || strings.Contains(path, " ") {
		words = d.Msg
	}
	// If one position produced several values, the requirement is reported only once.
	if value, rest, ok := strings.Cut(words, "\" must "); ok && strings.HasPrefix(value, "\"") {
		return "must " + rest
	}
	return words
}
