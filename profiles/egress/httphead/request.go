package httphead

import (
	"bytes"
	"errors"
	"strconv"
)

// form is that of a request's target.
type form uint8

// The forms.
const (
	Origin    form = iota // /path?query
	Absolute              // http://authority/path?query
	Authority             // host:port, of CONNECT alone
	Asterisk              // *, of OPTIONS alone
)

// Request is the head of a request. It is read by Read, and may be used again for
// the next one; what it gives are parts of the buffer it was read from, good until
// that is written to or the Request is read into again. It is of some size: keep
// one for a connection, not by value. Not safe for concurrent use.
type Request struct {
	Method    []byte
	Target    []byte // as it stands in the first line
	Form      form
	Authority []byte // of Absolute and Authority forms
	Path      []byte // without its query; "/" when there was none; "*"; nil of CONNECT
	Query     []byte // with its question mark, or empty
	Host      []byte // of the Host field; empty where HTTP/1.0 has none
	Minor     uint8  // version 1.Minor
	Body      Body
	Length    int64 // of a Sized body
	KeepAlive bool  // another request may follow; never with HTTP/1.0
	Upgrade   bool  // to a WebSocket; nothing else is switched to
	Expect    bool  // the body comes after a 100
	block
	method, from, to int // of the first line: ends of the method and of the target, start of what is after the scheme
}

// Read reads the head that buf starts with and gives its length. ErrMore: it is
// not complete; read again with the same bytes and more behind them, at the same
// or another place. Any other error is an Error that refuses the connection: what
// comes behind cannot be told apart any more.
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

// Reset forgets what was read, also of a head that was not complete.
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
		if err := r.begin(buf[start:end]); err != nil {
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

// begin reads the first line: where its parts are, and that they are in form.
func (r *Request) begin(line []byte) error {
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

// target finds the form of a target.
func (r *Request) target(method, target []byte) error {
	switch {
	case same(method, "trace"), same(method, "track"):
		return ErrMethod
	case string(method) == "CONNECT":
		r.Form = Authority
		if !all(target, inAuthority) {
			return ErrTarget
		}
		return nil
	case same(method, "connect"):
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
	if !same(scheme, "http") {
		return ErrScheme
	}
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	switch authority := rest[:end]; {
	case bytes.IndexByte(authority, '@') >= 0:
		return ErrUser
	case len(authority) == 0 || !all(authority, inAuthority):
		return ErrTarget
	}
	r.Form, r.from = Absolute, r.method+1+len("http://")+end
	return escapes(rest[end:])
}

// escapes refuses a path with a % that is none; a query may have any.
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

// finish judges the whole and gives out the parts.
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
	if err := r.frame(r.Minor); err != nil {
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

// frame refuses what makes the length of a body doubtful.
func (b *block) frame(minor uint8) error {
	switch {
	case b.coded && b.sized:
		return ErrBoth
	case b.coded && minor == 0:
		return ErrCoding
	}
	return nil
}

// split cuts the path from the query.
func (r *Request) split() {
	r.Path = r.buf[r.from:r.to:r.to]
	if i := bytes.IndexByte(r.Path, '?'); i >= 0 {
		r.Path, r.Query = r.Path[:i:i], r.Path[i:]
	}
	if len(r.Path) == 0 {
		slash := r.method + len(" http:")
		r.Path = r.buf[slash : slash+1 : slash+1] // the first one of ://
	}
}

// AppendForward appends the head as it goes on to the server: in origin-form, for
// a host as its canonical authority, with one framing of the body, without what is
// for this connection alone. An HTTP/1.0 request goes on as one, and asks for the
// connection to be closed. It is not for CONNECT.
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
