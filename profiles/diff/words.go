package diff

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// unit is how a number is read.
type unit uint8

const (
	plain unit = iota
	millis
	octets
)

// text is a number as a policy writes it: 30s, 64MiB, 16.
func (u unit) text(n int64) string {
	switch u {
	case millis:
		return Duration(n)
	case octets:
		return size(n)
	case plain:
		return strconv.FormatInt(n, 10)
	default:
		return strconv.FormatInt(n, 10)
	}
}

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

// listed joins a list for people; none stands for an empty one.
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

// moot is the sentence of an entry that makes no difference.
func moot(says string) string { return "without effect: " + says }
