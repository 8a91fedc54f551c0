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

// response is the answer of the last hop.
type response struct {
	status     int
	text       string
	url        string
	redirected bool
	opaque     bool // a redirect that is not followed: of its headers only location is told
	header     http.Header
	body       []byte // nil: none
}

// answered is a response as a guest reads it.
type answered struct {
	Status         int               `json:"status"`
	StatusText     string            `json:"statusText"`
	URL            string            `json:"url"`
	Redirected     bool              `json:"redirected,omitempty"`
	OpaqueRedirect bool              `json:"opaqueRedirect,omitempty"`
	Headers        map[string]string `json:"headers"`
	SetCookie      []string          `json:"setCookie,omitempty"`
	Body           any               `json:"body,omitempty"`
}

// read reads the answer to a request, the body up to most bytes. It is false when
// the connection cannot be used again.
func read(u egress.URL, method string, r *http.Response, most int64) (*response, bool, error) {
	if !sound(r) {
		return nil, false, wrong("its answer is not HTTP/1")
	}
	a := &response{status: r.StatusCode, url: u.Text, header: r.Header}
	if _, phrase, ok := strings.Cut(r.Status, " "); ok {
		a.text = phrase
	}
	if method == http.MethodHead {
		return a, !r.Close, nil
	}
	from := &counted{r: r.Body}
	b, err := io.ReadAll(io.LimitReader(decoded(r.Header, from), most+1))
	switch {
	case int64(len(b)) > most:
		return nil, false, tooLarge(most)
	case err != nil && from.n > 0:
		return nil, false, fmt.Errorf("read the answer: %w", err)
	case err != nil: // not even the first byte: it said gzip of nothing
		b = nil
	}
	if n, err := io.CopyN(io.Discard, from, 1); n != 0 || err != io.EOF { //nolint:errorlint // as a Reader gives it
		return nil, false, fmt.Errorf("read the answer: bytes behind its end: %w", err)
	}
	if len(b) > 0 {
		a.body = b
	}
	return a, !r.Close, nil
}

// sound refuses what package http lets pass in an answer: another version, a
// switch to another protocol, a status that is none, names of fields that are none,
// and two places to go on at.
func sound(r *http.Response) bool {
	if r.ProtoMajor != 1 || r.StatusCode < http.StatusOK {
		return false
	}
	for name, values := range r.Header {
		if !token(name) || name == "Location" && len(values) > 1 {
			return false
		}
	}
	return true
}

func tooLarge(most int64) error {
	return &binding.Failure{Name: nameTooLarge, Text: fmt.Sprintf("the result is larger than %d bytes", most)}
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// decoded undoes gzip, the one coding that was asked for.
func decoded(h http.Header, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		return &unzip{from: r}
	default:
		return r
	}
}

// unzip begins with the first read.
type unzip struct {
	from io.Reader
	z    *gzip.Reader
}

func (u *unzip) Read(b []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.from)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(b)
}

// value is the response in the tagged encoding.
func (a *response) value() (json.RawMessage, error) {
	out := answered{Status: a.status, StatusText: unicode(a.text), URL: a.url, Redirected: a.redirected,
		OpaqueRedirect: a.opaque, Headers: map[string]string{}}
	for name, values := range a.header {
		name = strings.ToLower(name)
		switch {
		case a.opaque && name != "location" || !plainName(name):
		case name == "set-cookie":
			for _, v := range values {
				out.SetCookie = append(out.SetCookie, unicode(v))
			}
		default:
			out.Headers[name] = unicode(strings.Join(values, ", "))
		}
	}
	switch {
	case len(a.body) == 0 || a.opaque:
	case textual(a.header.Get("Content-Type")) && utf8.Valid(a.body):
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

// unicode reads one character for each byte, as values of headers are.
func unicode(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

// textual reports whether a type is most likely read as text, which is how it
// crosses then. Either way a program gets both.
func textual(contentType string) bool {
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
