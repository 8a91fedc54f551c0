package httphead

import (
	"errors"
	"strconv"
)

// Asked holds the properties of the request that affect its response.
type Asked struct {
	Head    bool // the method was HEAD
	Upgrade bool // Request.Upgrade, as forwarded
}

// Response is the head of a response. The rules of [Request] apply.
type Response struct {
	Status    int // 100 to 599
	Reason    []byte
	Minor     uint8
	Interim   bool // 1xx other than 101: another head follows
	Body      Body
	Length    int64 // of a Sized body
	KeepAlive bool  // the connection can take another request; never with HTTP/1.0
	Upgrade   bool  // 101: a WebSocket follows
	block
	reason int // start of the reason
}

// Read parses the head at the start of buf, like [Request.Read].
func (r *Response) Read(buf []byte, asked Asked) (int, error) {
	if r.buf != nil || len(buf) < r.at {
		r.Reset()
	}
	n, err := r.read(buf, asked)
	if err != nil && !errors.Is(err, ErrMore) {
		r.Reset()
	}
	return n, err
}

// Reset discards the parsed state, including that of an incomplete head.
func (r *Response) Reset() {
	r.reset()
	r.Status, r.Reason, r.Minor, r.Interim, r.Body = 0, nil, 0, false, None
	r.Length, r.KeepAlive, r.Upgrade = 0, false, false
}

func (r *Response) read(buf []byte, asked Asked) (int, error) {
	if r.first == 0 {
		if len(buf) > 0 && buf[0] != 'H' {
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
	n, err := r.rest(buf, false)
	if err != nil {
		return 0, err
	}
	r.Reason = r.buf[r.reason:r.first:r.first]
	if err := r.finish(asked); err != nil {
		return 0, err
	}
	return n, nil
}

// readFirstLine parses the first line: HTTP/1.1 200 OK. The reason may be missing, and also the space before it.
func (r *Response) readFirstLine(line []byte) error {
	const version = len("HTTP/1.1 ")
	if len(line) < version {
		return ErrLine
	}
	switch string(line[:version]) {
	case "HTTP/1.1 ":
		r.Minor = 1
	case "HTTP/1.0 ":
		r.Minor = 0
	default:
		return ErrVersion
	}
	rest := line[version:]
	if len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return ErrStatus
	}
	status, ok := decimal(rest[:3])
	if !ok || status < 100 || status > 599 {
		return ErrStatus
	}
	r.Status, r.reason = int(status), min(version+4, len(line))
	if !allInClass(line[r.reason:], inValue) {
		return ErrValue
	}
	return nil
}

// finish checks the whole head.
func (r *Response) finish(asked Asked) error {
	if err := r.checkFraming(r.Minor); err != nil {
		return err
	}
	r.KeepAlive = r.Minor == 1 && !r.closes
	r.Body, r.Length = None, r.length
	switch {
	case r.Status < 200:
		if r.coded || r.length > 0 {
			return ErrNoBody
		}
		if r.Status != 101 {
			r.Interim = true
			break
		}
		if !asked.Upgrade || !r.websocket || !r.switches || r.Minor != 1 {
			return ErrUpgrade
		}
		r.Upgrade, r.KeepAlive = true, false
	case r.Status == 204:
		if r.coded || r.length > 0 {
			return ErrNoBody
		}
	case asked.Head, r.Status == 304:
	case r.coded:
		r.Body = Chunked
	case r.length > 0:
		r.Body = Sized
	case !r.sized:
		r.Body, r.KeepAlive = UntilClose, false
	}
	r.name()
	return nil
}

// AppendForward appends the head in the form that is sent to the client, without hop-by-hop fields. to is the
// framing of the forwarded body: either Body itself, Chunked for UntilClose, or UntilClose for Chunked. keep
// says whether the client's connection stays open, which is impossible with UntilClose.
func (r *Response) AppendForward(dst []byte, to Body, keep bool) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = append(strconv.AppendInt(dst, int64(r.Status), 10), ' ')
	dst = append(append(dst, r.Reason...), "\r\n"...)
	dst = r.appendFields(dst, false)
	switch {
	case to == Chunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case to != UntilClose && r.sized && r.Status >= 200 && r.Status != 204:
		dst = appendLength(dst, r.length)
	}
	switch {
	case r.Upgrade:
		dst = append(dst, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	case !r.Interim && (!keep || to == UntilClose):
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, "\r\n"...)
}
