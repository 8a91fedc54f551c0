package egress

import (
	"strings"
)

// MaxRedirects is the largest number of redirects that a fetch follows.
const MaxRedirects = 20

// fetch decides a fetch and each of its redirects.
func (t *trial) fetch() Decision {
	if t.wire != nil {
		return denied(refusal(Request, "a fetch has no bytes of its own on the wire"))
	}
	if r := t.fields(); r != nil {
		return denied(r)
	}
	u, r := ParseURL(t.Target)
	if r != nil {
		return denied(r)
	}
	d := t.hop(u)
	if !d.Allowed() {
		return d
	}
	for i, location := range t.Redirects {
		if i == MaxRedirects {
			return denied(refusal(Redirect, "the fetch is redirected more than 20 times"))
		}
		if u, r = u.Parse(location); r == nil {
			d = t.hop(u)
			r = d.Refusal()
		}
		if r != nil {
			r.Code, r.Why = Redirect, "a redirect is refused: "+r.Why
			return denied(r)
		}
	}
	return d
}

// hop decides one request of a fetch.
func (t *trial) hop(u URL) Decision {
	d := t.list.Decide(u.Dest, t.now).Request(FetchMethod(t.Method), u.Path, t.overrides("?"+u.Query), t.now)
	if d.Allowed() && u.Scheme == "http" && Inspected(u.Dest) {
		return denied(refusal(NotTLS, "port 443 is for TLS, and http: has no TLS"))
	}
	return t.address(d)
}

// FetchMethod returns the method that fetch sends for the text of a program: GET if it is empty, and the
// usual methods in upper case.
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

// fields denies headers that the host sets, since they determine where a request goes and where it ends.
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

// ForbiddenField reports whether a program may not set a header in a fetch. Many servers treat _ in a name as
// -, so _ is compared as -.
func ForbiddenField(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect",
		"keep-alive",
		"via", "http2-settings":
		return true
	}
	return strings.HasPrefix(name, "proxy-")
}
