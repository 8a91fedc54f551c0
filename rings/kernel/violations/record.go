package violations

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// The records of the kernel's audit log that are used: linux/audit.h.
const (
	typeAccess = 1423 // AUDIT_LANDLOCK_ACCESS: a denial of a domain
	typeDomain = 1424 // AUDIT_LANDLOCK_DOMAIN: the maker of a domain, logged with its first denial, and its end
)

// record is a parsed record of Landlock.
type record struct {
	domain   string
	blockers string // access: "fs.execute,fs.read_file"
	path     string // access to a file: as the guest sees it
	pid      int    // domain: the thread that made it, as the host sees it
	ended    bool   // domain: it no longer exists
}

// parse parses the text of one record of the audit log. ok is false if it is not understood. Names in it come
// from a guest. The kernel writes those with a space, a quote or a control character in hex.
func parse(kind uint16, text string) (r record, ok bool) {
	_, rest, found := strings.Cut(strings.TrimRight(text, "\x00\n"), "): ")
	if !found || !strings.HasPrefix(text, "audit(") {
		return record{}, false
	}
	fields := fieldsOf(rest)
	r.domain = fields["domain"]
	if r.domain == "" {
		return record{}, false
	}
	switch kind {
	case typeAccess:
		r.blockers = fields["blockers"]
		r.path = fields["path"]
		return r, r.blockers != ""
	case typeDomain:
		switch fields["status"] {
		case "deallocated":
			r.ended = true
			return r, true
		case "allocated":
			pid, err := strconv.Atoi(fields["pid"])
			r.pid = pid
			return r, err == nil && pid > 0
		}
	}
	return record{}, false
}

// fieldsOf splits "a=b c="d" path=2F6574" and decodes quotes and hex. If a key occurs twice, the first is used,
// since the kernel's own fields come first.
func fieldsOf(s string) map[string]string {
	out := map[string]string{}
	for s != "" {
		key, rest, found := strings.Cut(s, "=")
		if !found {
			break
		}
		value := ""
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			value, s, _ = strings.Cut(quoted, `"`)
			s = strings.TrimPrefix(s, " ")
		} else {
			value, s, _ = strings.Cut(rest, " ")
			if key == "path" {
				value = unhex(value)
			}
		}
		if _, twice := out[key]; !twice {
			out[key] = value
		}
	}
	return out
}

// unhex decodes a value that the kernel wrote in hex.
func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		return s
	}
	return string(b)
}

// book maps domains to guests. A denial of a domain comes before the record that names its maker.
type book struct {
	domains map[string]int      // domain -> the thread that made it
	waiting map[string][]record // denials of domains without a known maker
	order   []string            // of waiting, oldest first
}

const (
	maxWaiting = 64 // domains without a known maker: of programs that are no guests
	maxEarly   = 8  // denials of one such domain
	maxDomains = 1 << 14
)

// take returns the denials that are complete with r, and the thread that made the domain, or 0 if it is not
// known.
func (b *book) take(r record) (pid int, refused []record) {
	if b.domains == nil {
		b.domains, b.waiting = map[string]int{}, map[string][]record{}
	}
	switch {
	case r.ended:
		pid := b.domains[r.domain]
		delete(b.domains, r.domain)
		b.drop(r.domain)
		return pid, nil
	case r.pid > 0:
		if len(b.domains) >= maxDomains {
			clear(b.domains) // the records of their ends were lost
		}
		b.domains[r.domain] = r.pid
		refused = b.waiting[r.domain]
		b.drop(r.domain)
		return r.pid, refused
	default:
		if pid, ok := b.domains[r.domain]; ok {
			return pid, []record{r}
		}
		b.keep(r)
	}
	return 0, nil
}

func (b *book) keep(r record) {
	early, known := b.waiting[r.domain]
	if len(early) >= maxEarly {
		return
	}
	if !known {
		if len(b.order) >= maxWaiting {
			b.drop(b.order[0])
		}
		b.order = append(b.order, r.domain)
	}
	b.waiting[r.domain] = append(early, r)
}

func (b *book) drop(domain string) {
	if _, ok := b.waiting[domain]; !ok {
		return
	}
	delete(b.waiting, domain)
	for i, d := range b.order {
		if d == domain {
			b.order = append(b.order[:i], b.order[i+1:]...)
			return
		}
	}
}
