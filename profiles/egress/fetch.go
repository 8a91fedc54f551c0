package egress

import (
	"strings"
)

// MaxRedirects is how many a fetch follows.
const MaxRedirects = 20

// fetch decides a fetch and each of its redirects.
func (t *trial) fetch() (Outcome, *Refusal) {
	if t.wire != nil {
		return Outcome{}, refusal(Request, "a fetch has no bytes of its own on the wire")
	}
	if r := t.fields(); r != nil {
		return Outcome{}, r
	}
	u, r := ParseURL(t.Target)
	if r != nil {
		return Outcome{}, r
	}
	out, r := t.hop(u)
	if r != nil {
		return Outcome{}, r
	}
	for i, location := range t.Redirects {
		if i == MaxRedirects {
			return Outcome{}, refusal(Redirect, "the fetch is redirected more than 20 times")
		}
		if u, r = u.Parse(location); r == nil {
			out, r = t.hop(u)
		}
		if r != nil {
			r.Code, r.Why = Redirect, "a redirect is refused: "+r.Why
			return Outcome{}, r
		}
	}
	return out, nil
}

// hop decides one request of a fetch.
func (t *trial) hop(u URL) (Outcome, *Refusal) {
	m, r := t.list.Match(u.Dest, t.now)
	if r != nil {
		return Outcome{}, r
	}
	if m, r = t.list.Request(u.Dest, m, FetchMethod(t.Method), u.Path, t.says("?"+u.Query), t.now); r != nil {
		return Outcome{}, r
	}
	if u.Scheme == "http" && Inspected(u.Dest) {
		return Outcome{}, refusal(NotTLS, "on port 443 there is TLS, and http: has none")
	}
	return t.address(u.Dest, m)
}

// FetchMethod is the one that a fetch sends for what a program says: GET for nothing,
// and the usual ones in upper case.
func FetchMethod(text string) string {
	switch up := strings.ToUpper(text); up {
	case "":
		return "GET"
	case "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT":
		return up
	default:
		return text
	}
}

// fields refuses the headers that a program does not set, since they say where
// a request goes and where it ends.
func (t *trial) fields() *Refusal {
	if t.HostHeader != nil {
		return refusal(Request, "a fetch does not set the header Host")
	}
	for _, h := range t.Headers {
		if !fieldName(h[0]) || strings.ContainsAny(h[1], "\r\n\x00") {
			return refusal(Request, "a header is not valid")
		}
		if ForbiddenField(h[0]) {
			return refusal(Request, "a fetch does not set the header %s", h[0])
		}
	}
	return nil
}

func fieldName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// ForbiddenField reports whether a header is not a program's to set in a fetch, also
// with _ for -, which is the same to many servers.
func ForbiddenField(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "via", "http2-settings":
		return true
	}
	return strings.HasPrefix(name, "proxy-")
}
