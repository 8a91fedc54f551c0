package bridges

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/binding"
)

// response is the response of the last hop.
type response struct {
	status     int
	text       string
	url        string
	redirected bool
	opaque     bool // a redirect that is not followed; only its location header is returned
	header     http.Header
	body       []byte // nil means no body
}

// guestResponse is a response in the form for a guest.
type guestResponse struct {
	Status         int               `json:"status"`
	StatusText     string            `json:"statusText"`
	URL            string            `json:"url"`
	Redirected     bool              `json:"redirected,omitempty"`
	OpaqueRedirect bool              `json:"opaqueRedirect,omitempty"`
	Headers        map[string]string `json:"headers"`
	SetCookie      []string          `json:"setCookie,omitempty"`
	Body           any               `json:"body,omitempty"`
}

// read reads the response to a request, with a body of at most most bytes. It returns false if the connection
// cannot be reused.
func read(u egress.URL, method string, r *http.Response, most int64) (*response, bool, error) {
	if !isValidResponse(r) {
		return nil, false, argumentError("its answer is not HTTP/1")
	}
	a := &response{status: r.StatusCode, url: u.Text, header: r.Header}
	if _, phrase, ok := strings.Cut(r.Status, " "); ok {
		a.text = phrase
	}
	if method == http.MethodHead {
		return a, !r.Close, nil
	}
	from := &countingReader{r: r.Body}
	b, err := io.ReadAll(io.LimitReader(decompress(r.Header, from), most+1))
	switch {
	case int64(len(b)) > most:
		return nil, false, tooLarge(most)
	case err != nil && from.n > 0:
		return nil, false, fmt.Errorf("read the answer: %w", err)
	case err != nil: // no first byte: an empty body with gzip encoding
		b = nil
	}
	if n, err := io.CopyN(io.Discard, from, 1); n != 0 || err != io.EOF { //nolint:errorlint // as a Reader gives it
		return nil, false, fmt.Errorf("read the answer: bytes after its end: %w", err)
	}
	if len(b) > 0 {
		a.body = b
	}
	return a, !r.Close, nil
}

// isValidResponse refuses what package http accepts in a response: another version, a protocol switch, an invalid
// status, invalid header names, and two locations.
func isValidResponse(r *http.Response) bool {
	if r.ProtoMajor != 1 || r.StatusCode < http.StatusOK {
		return false
	}
	for name, values := range r.Header {
		if !isToken(name) || name == "Location" && len(values) > 1 {
			return false
		}
	}
	return true
}

func tooLarge(most int64) error {
	return &binding.Failure{Name: nameTooLarge, Text: fmt.Sprintf("the result is larger than %d bytes", most)}
}

// countingReader counts the bytes read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// decompress decompresses gzip, the only encoding that was requested.
func decompress(h http.Header, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		return &gzipReader{from: r}
	default:
		return r
	}
}

// gzipReader starts at the first read.
type gzipReader struct {
	from io.Reader
	z    *gzip.Reader
}

func (u *gzipReader) Read(b []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.from)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(b)
}

// value returns the response in the tagged encoding.
func (a *response) value() (json.RawMessage, error) {
	out := guestResponse{Status: a.status, StatusText: latin1ToUTF8(a.text), URL: a.url, Redirected: a.redirected,
		OpaqueRedirect: a.opaque, Headers: map[string]string{}}
	for name, values := range a.header {
		name = strings.ToLower(name)
		switch {
		case a.opaque && name != "location" || !isPlainName(name):
		case name == "set-cookie":
			for _, v := range values {
				out.SetCookie = append(out.SetCookie, latin1ToUTF8(v))
			}
		default:
			out.Headers[name] = latin1ToUTF8(strings.Join(values, ", "))
		}
	}
	switch {
	case len(a.body) == 0 || a.opaque:
	case isTextType(a.header.Get("Content-Type")) && utf8.Valid(a.body):
		out.Body = string(a.body)
	default:
		out.Body = json.RawMessage(`{"` + value.Mark + `":"bytes","type":"Uint8Array","value":"` +
			base64.StdEncoding.EncodeToString(a.body) + `"}`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// latin1ToUTF8 converts each byte to one character, as for header values.
func latin1ToUTF8(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

// isTextType reports whether a content type is most likely read as text, and is then passed as text. A program
// can read either form both ways.
func isTextType(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType == ""
	}
	_, sub, _ := strings.Cut(t, "/")
	switch {
	case strings.HasPrefix(t, "text/"), strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"):
		return true
	}
	switch sub {
	case "json", "xml", "javascript", "x-www-form-urlencoded", "x-ndjson", "yaml":
		return true
	default:
		return false
	}
}
