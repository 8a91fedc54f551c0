package executors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
)

// Limits of a denial that a guest reports.
const (
	maxTold     = 1000
	maxCode     = 64
	maxRevision = 128
	maxText     = 16 << 10
	maxRule     = 1 << 10
)

// validDenials filters the denials that the guest reports and the host did not decide. It keeps those with verdict
// deny whose codes, rules and texts can be printed. The reason stays unchanged, since the host recognises its
// own decisions by it.
func validDenials(denials []profiles.Decision) []profiles.Decision {
	out := slices.Clone(denials[:min(len(denials), maxTold)])
	for i := range out {
		d := &out[i]
		d.Verdict, d.Start, d.Dial, d.Exception, d.Would = profiles.Deny, nil, "", "", nil
		d.Count = min(max(d.Count, 0), profiles.MaxTimes)
		if !isCode(d.Code) {
			d.Code = profiles.CodeGuestRefused
		}
		if len(d.Revision) > maxRevision || strings.Trim(d.Revision, "abcdefghijklmnopqrstuvwxyz0123456789:") != "" {
			d.Revision = ""
		}
		d.Text = printable(d.Text, maxText)
		if r := d.Rule; r != nil {
			if text := r.File + r.Path + r.Layer; r.Line < 0 || r.Column < 0 || text != printable(text, maxRule) ||
				strings.ContainsAny(text, "\n\t") {
				d.Rule = nil
			}
		}
	}
	return out
}

// maxDeniedBytes limits what a guest sends about one denial.
const maxDeniedBytes = 16 << 10

// deniedNow records a denial that the guest made itself, at the moment it reports it.
func (r *linkRun) deniedNow(m Denied) error {
	var d profiles.Decision
	switch {
	case len(r.denied) >= r.work.Denials:
		return fmt.Errorf("%w: more than %d refusals of the guest before its end", ErrProtocol, r.work.Denials)
	case len(m.Decision) > maxDeniedBytes:
		return fmt.Errorf("%w: a refusal of %d bytes", ErrProtocol, len(m.Decision))
	case Decode(m.Decision, &d) != nil:
		return fmt.Errorf("%w: a refusal that is no decision", ErrProtocol)
	case d.Verdict != profiles.Deny:
		return fmt.Errorf("%w: a denial whose decision does not deny", ErrProtocol)
	}
	r.denied = append(r.denied, d)
	return nil
}

// withSaid merges the denials that the guest reported while the program ran into its End. A program that
// removes entries from the list of End cannot hide what was reported before.
func withSaid(e End, said []profiles.Decision) End {
	listed := map[string]bool{}
	key := func(d profiles.Decision) string {
		d.Count = 0
		b, err := json.Marshal(d)
		if err != nil {
			return "" // a Decision of the wire always marshals
		}
		return string(b)
	}
	for _, d := range e.Denials {
		listed[key(d)] = true
	}
	for _, d := range said {
		if !listed[key(d)] {
			e.Denials = append(e.Denials, d)
			e.Refused = max(e.Refused-1, 0) // a denial for which the list had no room is in this number already
		}
	}
	return e
}

// unlistedDenials returns how many denials the guest counted in addition to the listed ones.
func unlistedDenials(e End) int64 {
	n := min(e.Refused, profiles.MaxTimes)
	for _, d := range e.Denials[min(len(e.Denials), maxTold):] {
		n = min(n+max(d.Count, 1), profiles.MaxTimes)
	}
	return n
}

// isCode reports whether c has the form of a code of a denial.
func isCode(c profiles.Code) bool {
	if c == "" || len(c) > maxCode || c == profiles.CodeAllowed {
		return false
	}
	return !strings.ContainsFunc(string(c), func(r rune) bool { return r != '.' && r != '_' && (r < 'a' || r > 'z') })
}

// printable returns s without characters that a terminal would not print, truncated to the limit.
func printable(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
