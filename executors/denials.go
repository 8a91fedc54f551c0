package executors

import (
	"slices"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles"
)

// Bounds of a refusal as a guest tells it.
const (
	maxTold     = 1000
	maxCode     = 64
	maxRevision = 128
	maxText     = 16 << 10
	maxRule     = 1 << 10
)

// reported are the refusals that a guest tells of, which the host did not decide:
// refusals, whatever else they say, whose codes, rules and texts can be shown as they
// are. A reason is left as it is: by it the host knows one of its own again.
func reported(denials []profiles.Decision) []profiles.Decision {
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
			if text := r.File + r.Path + r.Layer; r.Line < 0 || r.Column < 0 || text != printable(text, maxRule) || strings.ContainsAny(text, "\n\t") {
				d.Rule = nil
			}
		}
	}
	return out
}

// beyond is how many refusals a guest tells of beside those that are reported.
func beyond(e End) int64 {
	n := min(e.Refused, profiles.MaxTimes)
	for _, d := range e.Denials[min(len(e.Denials), maxTold):] {
		n = min(n+max(d.Count, 1), profiles.MaxTimes)
	}
	return n
}

// isCode tells whether a code looks like one of a refusal.
func isCode(c profiles.Code) bool {
	if c == "" || len(c) > maxCode || c == profiles.CodeAllowed {
		return false
	}
	return !strings.ContainsFunc(string(c), func(r rune) bool { return r != '.' && r != '_' && (r < 'a' || r > 'z') })
}

// printable is text that a terminal shows as it is.
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
