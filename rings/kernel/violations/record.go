package violations

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// The records of the kernel's audit log that are read: linux/audit.h.
const (
	typeAccess = 1423 // AUDIT_LANDLOCK_ACCESS: what a domain was refused
	typeDomain = 1424 // AUDIT_LANDLOCK_DOMAIN: who made it, told with its first refusal, and its end
)

// record is what Landlock put in the audit log.
type record struct {
	domain   string
	blockers string // access: "fs.execute,fs.read_file"
	path     string // access to a file: as the guest sees it
	pid      int    // domain: of the thread that made it, as the host sees it
	ended    bool   // domain: it is gone
}

// parse reads the text of one record of the audit log. ok is false for one that
// is not understood. Names in it are a guest's; the kernel writes those with a
// space, a quote or a control character in hex.
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

// fieldsOf splits "a=b c="d" path=2F6574" and takes quotes and hex away. Of a
// key that comes twice the first counts, since the kernel's own come first.
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

// unhex decodes what the kernel did not dare to quote.
func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		return s
	}
	return string(b)
}

// book knows which guest a domain is of. What a domain was refused comes before
// the record that says who made it.
type book struct {
	domains map[string]int      // domain -> the thread that made it
	waiting map[string][]record // by domain, of which nothing is known yet
	order   []string            // of waiting, oldest first
}

const (
	maxWaiting = 64 // domains of which nothing is known: of programs that are no guests of ours
	maxEarly   = 8  // refusals of one such
	maxDomains = 1 << 14
)

// take returns the refusals that r makes known, with the thread that made the
// domain, 0 when it is not known.
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
			clear(b.domains) // their ends were lost
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
