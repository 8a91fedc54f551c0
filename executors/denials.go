package executors

import (
	"encoding/json"
	"fmt"
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

// maxDeniedBytes bounds what a guest says of one refusal.
const maxDeniedBytes = 16 << 10

// deniedNow takes a refusal of the guest itself, as it happens.
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
		return fmt.Errorf("%w: a denial that is none", ErrProtocol)
	}
	r.denied = append(r.denied, d)
	return nil
}

// withSaid is the end of a program with the refusals that its guest has said before and
// does not list: what a program takes away from the list was said.
func withSaid(e End, said []profiles.Decision) End {
	listed := map[string]bool{}
	key := func(d profiles.Decision) string {
		d.Count = 0
		b, err := json.Marshal(d)
		if err != nil {
			return "" // a Decision of the wire marshals
		}
		return string(b)
	}
	for _, d := range e.Denials {
		listed[key(d)] = true
	}
	for _, d := range said {
		if !listed[key(d)] {
			e.Denials = append(e.Denials, d)
			e.Refused = max(e.Refused-1, 0) // one that the list had no room for was counted
		}
	}
	return e
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
