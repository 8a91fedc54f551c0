package egress

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// request decides one request that can be read, on a connection that m covers. It returns m with the entry
// that grants the request in front.
//
// The query of the path is ignored. If paths are listed, the path is decoded once, and a path that two
// servers could read differently is denied. If methods or paths are listed, a request whose fields or
// parameters change its meaning is denied.
func (l *List) request(d Dest, m Match, method, path string, overrides Overrides, now time.Time) (Match, *Refusal) {
	if l == nil || m.Virtual == 0 && len(m.Entries) == 0 {
		return Match{}, refusal(NotGranted, "no entry covers the target")
	}
	switch {
	case !isToken(method):
		return Match{}, refusal(Request, "the method is not valid")
	case Unsent(method):
		return Match{}, refusal(Method, "%s is no request that is sent on", quoted(method))
	case m.Virtual != 0:
		if m.Virtual > len(l.virtual) {
			return Match{}, refusal(NotGranted, "no entry covers the target")
		}
		if r := l.virtual[m.Virtual-1].request(d, method, path, overrides, now); r != nil {
			r.Virtual = m.Virtual
			return Match{}, r
		}
		return m, nil
	case !m.Reads:
		return m, nil
	}
	var first *Refusal
	for at, i := range m.Entries {
		if i < 0 || i >= len(l.allow) {
			continue
		}
		e := &l.allow[i]
		r := granted(d, e.Methods, e.Paths, e.Expires, method, path, now)
		if r == nil {
			r = overrides.refuse(true, false, nil)
		}
		if r == nil {
			return m.withFirst(at), nil
		}
		r.Entry = i
		if first == nil || first.Code == Method && r.Code == Path {
			first = r
		}
	}
	if first == nil {
		return Match{}, refusal(NotGranted, "no entry covers the target")
	}
	return Match{}, first
}

// withFirst returns m with one of its entries moved to the front.
func (m Match) withFirst(at int) Match {
	if at > 0 {
		i := m.Entries[at]
		m.Entries = slices.Insert(slices.Delete(slices.Clone(m.Entries), at, at+1), 0, i)
	}
	return m
}

// Unsent reports whether a method is never forwarded, even if it is listed. Case is ignored, since some
// servers ignore it.
func Unsent(method string) bool {
	return strings.EqualFold(method, "TRACE") || strings.EqualFold(method, "TRACK") ||
		strings.EqualFold(method, "CONNECT")
}

// request decides one request to a virtual host, whose path is appended to that of its upstream.
func (v *Virtual) request(d Dest, method, path string, overrides Overrides, now time.Time) *Refusal {
	if r := granted(d, v.Methods, v.Paths, v.Expires, method, path, now); r != nil {
		return r
	}
	if path, _, _ = strings.Cut(path, "?"); !Joins(path) {
		return refusal(Path, "the path could be read in two ways: it has an empty or dot segment, or an escape that "+
			"a gateway does not pass on")
	}
	return overrides.refuse(len(v.Methods)+len(v.Paths) > 0, true, v.Headers)
}

// Joins reports whether every server reads path as a path below the prefix to which it is appended. path is
// as the client sent it, without its query. Joins requires that path begins with one slash, and has no
// empty or dot segment, no encoded slash, no backslash, and no escaped percent sign or control character.
func Joins(path string) bool {
	outside := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\\?#") || strings.ContainsFunc(path, outside) {
		return false
	}
	decoded, err := url.PathUnescape(path)
	if err != nil || strings.Count(decoded, "/") != strings.Count(path, "/") || strings.ContainsAny(decoded, "\\%") ||
		strings.ContainsFunc(decoded, unicode.IsControl) {
		return false
	}
	segments := strings.Split(decoded[1:], "/")
	for i, s := range segments {
		// Some servers cut off parameters: they read /..;a/ as /../
		s, _, _ = strings.Cut(s, ";")
		if s == "." || s == ".." || s == "" && i < len(segments)-1 {
			return false
		}
	}
	return true
}

func granted(d Dest, methods, paths []string, expires time.Time, method, path string, now time.Time) *Refusal {
	if !live(expires, now) {
		return refusal(Expired, "the entry for %s has expired", d)
	}
	if len(methods) > 0 && !slices.Contains(methods, method) {
		r := refusal(Method, "the policy does not grant the method %s on %s", quoted(method), d)
		r.Instead = methods[:min(len(methods), 8)]
		return r
	}
	if len(paths) == 0 {
		return nil
	}
	clean, why := readPath(path)
	if why != "" {
		return refusal(Path, "the path %s", why)
	}
	for _, p := range paths {
		if p = strings.TrimSuffix(p, "/"); clean == p || strings.HasPrefix(clean, p) && clean[len(p)] == '/' {
			return nil
		}
	}
	r := refusal(Path, "the policy does not grant the path on %s", d)
	r.Instead = paths[:min(len(paths), 8)]
	return r
}

// isToken reports whether a method consists of token characters.
func isToken(method string) bool {
	for i := range len(method) {
		c := method[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return method != ""
}

// readPath decodes a path once and removes its query. It rejects a path that two servers could read
// differently.
func readPath(path string) (clean, why string) {
	path, _, _ = strings.Cut(path, "?")
	if !strings.HasPrefix(path, "/") {
		return "", "does not begin with a slash"
	}
	var b []byte
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c != '%' {
			if c == '\\' || c == '#' {
				return "", "has a character that stands in no path"
			}
			b = append(b, c)
			continue
		}
		if i+2 >= len(path) {
			return "", "has an escape that is cut off"
		}
		hi, lo := unhex(path[i+1]), unhex(path[i+2])
		if hi > 15 || lo > 15 {
			return "", "has an escape that is none"
		}
		switch c = hi<<4 | lo; c {
		case '/', '\\':
			return "", "has an encoded slash"
		case '%':
			return "", "has an encoded percent sign"
		}
		b = append(b, c)
		i += 2
	}
	if !utf8.Valid(b) {
		return "", "is not UTF-8"
	}
	clean = string(b)
	for segment := range strings.SplitSeq(clean, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			return "", "has a . or .. in it"
		}
	}
	if strings.ContainsFunc(clean, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", "has a control character"
	}
	return clean, ""
}

func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 255
	}
}
