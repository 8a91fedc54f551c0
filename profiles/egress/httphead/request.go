package httphead

import (
	"bytes"
	"errors"
	"strconv"
)

// form is the form of a request's target.
type form uint8

// The forms.
const (
	Origin    form = iota // /path?query
	Absolute              // http://authority/path?query
	Authority             // host:port, only for CONNECT
	Asterisk              // *, only for OPTIONS
)

// Request is the head of a request. Read fills it, and it may be reused for the next request. Its slices are
// parts of the buffer, and valid until the buffer or the Request is written to. It is large: keep one for
// each connection and do not copy it. It is not safe for concurrent use.
type Request struct {
	Method    []byte
	Target    []byte // as in the first line
	Form      form
	Authority []byte // in the forms Absolute and Authority
	Path      []byte // without the query; "/" if there was none; "*"; nil for CONNECT
	Query     []byte // including the question mark, or empty
	Host      []byte // the Host field; empty if an HTTP/1.0 request has none
	Minor     uint8  // version 1.Minor
	Body      Body
	Length    int64 // of a Sized body
	KeepAlive bool  // another request may follow; never with HTTP/1.0
	Upgrade   bool  // to a WebSocket; other upgrades are ignored
	Expect    bool  // the client waits for a 100 before it sends the body
	block
	// Offsets in the first line: the ends of the method and of the target, and the start of the part after
	// the scheme.
	method, from, to int
}

// Read parses the head at the start of buf and returns its length. ErrMore means that it is incomplete: call
// again with the same bytes and more after them, possibly in a moved buffer. Any other error is an [Error],
// and the connection must end, since the following bytes cannot be delimited.
func (r *Request) Read(buf []byte) (int, error) {
	if r.buf != nil || len(buf) < r.at {
		r.Reset()
	}
	n, err := r.read(buf)
	if err != nil && !errors.Is(err, ErrMore) {
		r.Reset()
	}
	return n, err
}

// Reset discards the parsed state, including that of an incomplete head.
func (r *Request) Reset() {
	r.reset()
	r.Method, r.Target, r.Authority, r.Path, r.Query, r.Host = nil, nil, nil, nil, nil, nil
	r.Form, r.Minor, r.Body, r.Length, r.KeepAlive, r.Upgrade, r.Expect = Origin, 0, None, 0, false, false, false
}

func (r *Request) read(buf []byte) (int, error) {
	if r.first == 0 {
		if len(buf) > 0 && !is(buf[0], inToken) {
			return 0, ErrLine
		}
		start, end, err := r.line(buf)
		if err != nil {
			return 0, err
		}
		if err := r.readFirstLine(buf[start:end]); err != nil {
			return 0, err
		}
		r.first = end
	}
	n, err := r.rest(buf, true)
	if err != nil {
		return 0, err
	}
	if err := r.finish(); err != nil {
		return 0, err
	}
	return n, nil
}

// readFirstLine parses the first line and checks the form of its parts.
func (r *Request) readFirstLine(line []byte) error {
	m := 0
	for m < len(line) && is(line[m], inToken) {
		m++
	}
	if m == 0 || m == len(line) || line[m] != ' ' {
		return ErrLine
	}
	t := m + 1
	for t < len(line) && is(line[t], inTarget) {
		t++
	}
	if t == len(line) {
		return ErrLine // no version: HTTP/0.9
	}
	if t == m+1 || line[t] != ' ' {
		return ErrTarget
	}
	switch string(line[t+1:]) {
	case "HTTP/1.1":
		r.Minor = 1
	case "HTTP/1.0":
		r.Minor = 0
	default:
		if bytes.IndexByte(line[t+1:], ' ') >= 0 {
			return ErrTarget
		}
		return ErrVersion
	}
	r.method, r.to = m, t
	return r.target(line[:m], line[m+1:t])
}

// target determines the form of a target.
func (r *Request) target(method, target []byte) error {
	switch {
	case equalsWord(method, "trace"), equalsWord(method, "track"):
		return ErrMethod
	case string(method) == "CONNECT":
		r.Form = Authority
		if !allInClass(target, inAuthority) {
			return ErrTarget
		}
		return nil
	case equalsWord(method, "connect"):
		return ErrMethod
	case target[0] == '/':
		r.Form, r.from = Origin, r.method+1
		return escapes(target)
	case len(target) == 1 && target[0] == '*' && string(method) == "OPTIONS":
		r.Form, r.from = Asterisk, r.method+1
		return nil
	}
	scheme, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok {
		return ErrTarget
	}
	if !equalsWord(scheme, "http") {
		return ErrScheme
	}
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	switch authority := rest[:end]; {
	case bytes.IndexByte(authority, '@') >= 0:
		return ErrUser
	case len(authority) == 0 || !allInClass(authority, inAuthority):
		return ErrTarget
	}
	r.Form, r.from = Absolute, r.method+1+len("http://")+end
	return escapes(rest[end:])
}

// escapes rejects a path with a % that starts no valid escape. The query may contain any.
func escapes(target []byte) error {
	path, _, _ := bytes.Cut(target, []byte("?"))
	for {
		i := bytes.IndexByte(path, '%')
		if i < 0 {
			return nil
		}
		if i+2 >= len(path) || !is(path[i+1], inHex) || !is(path[i+2], inHex) {
			return ErrTarget
		}
		path = path[i+3:]
	}
}

// finish checks the whole head and sets the parts.
func (r *Request) finish() error {
	r.Method, r.Target = r.buf[:r.method:r.method], r.buf[r.method+1:r.to:r.to]
	switch {
	case r.host != 0:
		s := r.spans[r.host-1]
		r.Host = r.buf[s.value:s.end:s.end]
	case r.Minor == 1:
		return ErrHost
	}
	switch r.Form {
	case Authority:
		r.Authority = r.Target
	case Absolute:
		r.Authority = r.buf[r.method+1+len("http://") : r.from : r.from]
		r.split()
	case Origin, Asterisk:
		r.split()
	}
	if err := r.checkFraming(r.Minor); err != nil {
		return err
	}
	r.Body, r.Length = None, r.length
	switch {
	case r.Form == Authority && (r.coded || r.sized):
		return ErrNoBody
	case r.coded:
		r.Body = Chunked
	case r.length > 0:
		r.Body = Sized
	}
	r.name()
	r.KeepAlive = r.Minor == 1 && !r.closes
	r.Expect = r.expect && r.Minor == 1 && r.Body != None
	r.Upgrade = r.websocket && r.switches && r.Minor == 1 && r.Body == None && string(r.Method) == "GET"
	return nil
}

// checkFraming rejects heads whose body length is ambiguous.
func (b *block) checkFraming(minor uint8) error {
	switch {
	case b.coded && b.sized:
		return ErrBoth
	case b.coded && minor == 0:
		return ErrCoding
	}
	return nil
}

// split separates the path and the query.
func (r *Request) split() {
	r.Path = r.buf[r.from:r.to:r.to]
	if i := bytes.IndexByte(r.Path, '?'); i >= 0 {
		r.Path, r.Query = r.Path[:i:i], r.Path[i:]
	}
	if len(r.Path) == 0 {
		slash := r.method + len(" http:")
		r.Path = r.buf[slash : slash+1 : slash+1] // the first slash of ://
	}
}

// AppendForward appends the head in the form that is sent to the server: in origin-form, with host as the
// canonical authority, one framing of the body, and without hop-by-hop fields. An HTTP/1.0 request stays 1.0
// and asks the server to close the connection. It must not be used for CONNECT.
func (r *Request) AppendForward(dst []byte, host string) []byte {
	dst = append(append(dst, r.Method...), ' ')
	if r.Form == Absolute && r.from == r.to && string(r.Method) == "OPTIONS" {
		dst = append(dst, '*')
	} else {
		dst = append(append(dst, r.Path...), r.Query...)
	}
	if r.Minor == 0 {
		dst = append(dst, " HTTP/1.0\r\nHost: "...)
	} else {
		dst = append(dst, " HTTP/1.1\r\nHost: "...)
	}
	dst = append(append(dst, host...), "\r\n"...)
	dst = r.appendFields(dst, r.Expect)
	switch {
	case r.Body == Chunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case r.sized:
		dst = appendLength(dst, r.length)
	}
	switch {
	case r.Minor == 0:
		dst = append(dst, "Connection: close\r\n"...)
	case r.Upgrade:
		dst = append(dst, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func appendLength(dst []byte, n int64) []byte {
	dst = append(dst, "Content-Length: "...)
	return append(strconv.AppendInt(dst, n, 10), "\r\n"...)
}
