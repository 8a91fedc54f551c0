package diff

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/fields"
)

// unitText formats a number in the form of policies: 30s, 64MiB, 16.
func unitText(u fields.Unit, n int64) string {
	switch u {
	case fields.Duration:
		return Duration(n)
	case fields.Size:
		return size(n)
	default:
		return number(n)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func onOff(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// listed joins a list for people. none is the text for an empty list.
func listed(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

func expiry(at *time.Time) string {
	if at == nil {
		return ""
	}
	return "until " + at.UTC().Format(time.RFC3339)
}

func powersText(p profiles.Powers) string {
	var out []string
	for _, one := range []struct {
		is   bool
		name string
	}{{p.Sensitive, "sensitive"}, {p.Untrusted, "untrusted"}, {p.External, "external"}} {
		if one.is {
			out = append(out, one.name)
		}
	}
	return listed(out, "none")
}

func approvalText(p *profiles.Approval) string {
	if p == nil {
		return "none"
	}
	out := fmt.Sprintf("%d from %s", max(p.Count, 1), listed(p.From, "anybody the host lets"))
	if p.When != "" {
		out += " when " + canonjson.Clip(p.When)
	}
	return out + ", open for " + Duration(p.ExpiresMillis)
}

// nowWas formats a new value with the old one in brackets.
func nowWas(is, was string) string { return is + " (was " + was + ")" }

// moot returns the sentence for an entry that has no effect.
func moot(says string) string { return "without effect: " + says }

// show formats a part or an entry in one line.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case profiles.JS, profiles.Python, profiles.Shell:
		return "granted"
	case profiles.Sessions:
		return Duration(x.AgeMillis) + ", " + size(x.Bytes)
	case profiles.RuleOfTwo:
		return strings.TrimSpace(cmp.Or(x.Mode, "enforce") + " " + x.OnThree + " " + x.Scope)
	case profiles.ImportRule:
		return "denied"
	case profiles.PythonEnvironment:
		return cmp.Or(x.Digest, "whatever is there")
	case profiles.Guardrail:
		return clip(x.Rego)
	case profiles.Gateway:
		out := cmp.Or(x.Upstream, "the upstream that the host names")
		if x.Credential != "" {
			out += " with the credential " + x.Credential
		}
		return out
	default:
		return ""
	}
}

// mostShown is how much of a long text of the author is shown: a schema, or Rego.
const mostShown = 200

// clip shortens a long text of the author.
func clip(s string) string { return canonjson.Truncate(s, mostShown) }

// shortenApart shortens two long texts around their first difference. If it kept the beginnings of
// the texts, the difference could be missing.
func shortenApart(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	const around = 60 // bytes that are kept before the difference
	if same <= around || max(len(a), len(b)) <= mostShown {
		return clip(a), clip(b)
	}
	from := same - around
	return "…" + clip(strings.ToValidUTF8(a[from:], "")), "…" + clip(strings.ToValidUTF8(b[from:], ""))
}

// but adds to a sentence about a removed entry what is still allowed.
func but(says string, left []string) string {
	const shown = 3
	if len(left) == 0 {
		return says
	}
	text := strings.Join(left[:min(len(left), shown)], ", ")
	if more := len(left) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return says + ", but for " + text
}

// Duration formats milliseconds in the form of policies.
func Duration(ms int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{60 * 60 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}} {
		if ms != 0 && ms%u.of == 0 {
			return strconv.FormatInt(ms/u.of, 10) + u.name
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// size formats bytes in the form of policies.
func size(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n != 0 && n%u.of == 0 {
			return strconv.FormatInt(n/u.of, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
