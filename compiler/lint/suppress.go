package lint

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ringd/ringd/schema"
)

// suppression is a comment that suppresses a warning:
//
//   - host: "*.cdn.example.com" # ringd:lint-ignore wildcard-egress the names change daily
//
// It follows the value on the same line, or is on lines of its own before it.
type suppression struct {
	pos    schema.Pos
	line   int // the line to which it applies
	code   string
	reason string
	used   bool
}

// Suppress removes the warnings that comments suppress, and reports suppressions that match no warning or
// have no reason. Errors cannot be suppressed. The names of the sources must be those in the findings. Codes
// in skipped were not checked, so their suppressions are not reported as unused.
func Suppress(sources []schema.Source, found schema.Diagnostics, skipped ...string) schema.Diagnostics {
	var all []*suppression
	by := map[string][]*suppression{} // key: file:line
	for _, src := range sources {
		for _, s := range suppressions(src) {
			all = append(all, s)
			key := fmt.Sprintf("%s:%d", src.Name, s.line)
			by[key] = append(by[key], s)
		}
	}
	var out schema.Diagnostics
	for _, d := range found {
		taken := false
		for _, s := range by[fmt.Sprintf("%s:%d", d.Pos.File, d.Pos.Line)] {
			if d.Severity == schema.Warning && s.code == d.Code && s.reason != "" {
				s.used, taken = true, true
			}
		}
		if !taken {
			out = append(out, d)
		}
	}
	for _, s := range all {
		d := schema.Diagnostic{Pos: s.pos, Severity: schema.Warning}
		switch {
		case s.code == "" || s.reason == "":
			d.Code, d.Msg, d.Hint = codeSuppression, "a suppression names a code and says why",
				"ringd:lint-ignore CODE the reason"
		case !s.used && !slices.Contains(skipped, s.code):
			d.Code, d.Msg, d.Hint = codeNotSuppressing, fmt.Sprintf("there is no warning %s on line %d", s.code,
				s.line), "take the comment out"
		default:
			continue
		}
		out = append(out, d)
	}
	return out.Sort()
}

// suppressions returns those of one file. JSON has no comments.
func suppressions(src schema.Source) (out []*suppression) {
	mark := "#"
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".yaml", ".yml":
	case ".cue":
		mark = "//"
	default:
		return nil
	}
	if !bytes.Contains(src.Data, []byte("ringd:lint-ignore")) {
		return nil
	}
	form := regexp.MustCompile(`(^|\s)` + mark + `\s*ringd:lint-ignore(?:\s+(\S+))?(?:\s+(.*?))?\s*$`)
	var waiting []*suppression // on lines of their own, for the next line of content
	for i, line := range strings.Split(string(src.Data), "\n") {
		text := strings.TrimSpace(line)
		m := form.FindStringSubmatchIndex(line)
		if m == nil {
			if text != "" && !strings.HasPrefix(text, mark) {
				waiting = nil
			}
			for _, s := range waiting {
				s.line = i + 2
			}
			continue
		}
		part := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return line[m[2*n]:m[2*n+1]]
		}
		s := &suppression{pos: schema.Pos{File: src.Name, Line: i + 1, Column: m[3] + 1}, line: i + 1, code: part(2),
			reason: part(3)}
		out = append(out, s)
		if strings.HasPrefix(text, mark) {
			waiting = append(waiting, s)
			for _, w := range waiting {
				w.line = i + 2
			}
		} else {
			waiting = nil
		}
	}
	return slices.Clip(out)
}
