package egress

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL is the longest URL.
const maxURL = 64 << 10

// URL is the target of a fetch. It has no credentials and no fragment.
type URL struct {
	Text   string // the whole URL
	Scheme string // http or https
	Dest   Dest
	Path   string // begins with a slash; as it is sent
	Query  string // without the question mark
}

// ParseURL reads the target of a fetch as browsers do (WHATWG): backslashes become slashes, and the host is
// decoded and mapped. The result must then be valid like any other target. Only http and https are accepted,
// and no credentials.
func ParseURL(text string) (URL, *Refusal) { return parseURL("", text) }

// Parse reads the target of a redirect in a response to u.
func (u URL) Parse(location string) (URL, *Refusal) { return parseURL(u.Text, location) }

func parseURL(base, text string) (URL, *Refusal) {
	if len(text) > maxURL {
		return URL{}, refusal(Target, "the URL is longer than %d bytes", maxURL)
	}
	var u *whatwg.Url
	var err error
	if base == "" {
		u, err = whatwg.Parse(text)
	} else {
		u, err = whatwg.ParseRef(base, text)
	}
	if err != nil {
		return URL{}, refusal(Target, "%s is not a URL", quoted(text))
	}
	out := URL{Scheme: u.Scheme(), Path: u.Pathname(), Query: strings.TrimPrefix(u.Search(), "?")}
	port := uint16(80)
	switch out.Scheme {
	case "http":
	case "https":
		port = 443
	default:
		return URL{}, refusal(Target, "only http and https are fetched, not %s", quoted(out.Scheme))
	}
	if u.Username() != "" || u.Password() != "" || hasUserinfo(text) {
		return URL{}, refusal(Target, "a URL with credentials is not fetched")
	}
	if p := u.Port(); p != "" {
		if port, err = readPort(p); err != nil {
			return URL{}, refusal(Target, "%s: %s", quoted(text), err)
		}
	}
	d, r := ParseHost(u.Hostname(), port)
	if r != nil {
		return URL{}, r
	}
	why := badTarget(out.Path + "?" + out.Query)
	if why == "" && !validEscapes(out.Path) {
		why = "has an escape that is none"
	}
	if why != "" {
		return URL{}, refusal(Target, "the path of %s %s", quoted(text), why)
	}
	out.Dest, out.Text = d, out.Scheme+"://"+d.authority(port == 443 && out.Scheme == "https" || port == 80 &&
		out.Scheme == "http")+out.Path
	if out.Query != "" {
		out.Text += "?" + out.Query
	}
	return out, nil
}

// validEscapes reports whether every percent sign begins a valid escape.
func validEscapes(path string) bool {
	for i := range len(path) {
		if path[i] == '%' && (i+2 >= len(path) || unhex(path[i+1]) > 15 || unhex(path[i+2]) > 15) {
			return false
		}
	}
	return true
}

// hasUserinfo reports whether text has an empty userinfo, which the parser drops.
func hasUserinfo(text string) bool {
	_, rest, ok := strings.Cut(text, "//")
	if !ok {
		return false
	}
	if i := strings.IndexAny(rest, "/\\?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Contains(rest, "@")
}

// authority returns the host with its port. If bare is true, the port is omitted.
func (d Dest) authority(bare bool) string {
	switch {
	case !bare:
		return d.String()
	case d.Addr.Is6():
		return "[" + d.Addr.String() + "]"
	default:
		return d.Host()
	}
}
