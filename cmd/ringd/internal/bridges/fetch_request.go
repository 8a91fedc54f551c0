package bridges

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/binding"
)

// fetchRequest is a parsed request, checked as far as possible without a target.
type fetchRequest struct {
	url      string
	method   string
	header   http.Header
	body     []byte // nil means no body
	redirect string // follow, error or manual
	timeout  time.Duration
}

// fetchArgs is the argument as a guest sends it.
type fetchArgs struct {
	URL      string            `json:"url"`
	Method   string            `json:"method"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`
	Redirect string            `json:"redirect"`
	Timeout  float64           `json:"timeout"` // milliseconds; 0 means none
}

func argumentError(text string) error { return &binding.Failure{Name: nameType, Text: text} }

// readRequest parses the argument of a call. The guest has checked most of it, but a guest is not trusted.
func readRequest(args json.RawMessage) (*fetchRequest, error) {
	var a fetchArgs
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err := d.Decode(&a)
	if err == nil {
		err = checkMemberNames(args)
	}
	if err != nil {
		return nil, &binding.Failure{Name: nameType, Text: "the request is malformed", Err: err}
	}
	q := &fetchRequest{url: a.URL, method: egress.FetchMethod(a.Method), header: http.Header{}, redirect: a.Redirect}
	if q.redirect == "" {
		q.redirect = follow
	}
	switch {
	case q.redirect != follow && q.redirect != manual && q.redirect != fails:
		return nil, argumentError("redirect is 'follow', 'error' or 'manual'")
	case !isToken(q.method):
		return nil, argumentError("the method is not valid")
	case egress.Unsent(q.method):
		return nil, argumentError("the method " + strings.ToUpper(q.method) + " cannot be fetched")
	}
	if a.Timeout > 0 { // one too long for a Duration means none
		if ms := a.Timeout * float64(time.Millisecond); ms < float64(1<<62) {
			q.timeout = max(time.Duration(ms), 1)
		}
	}
	if err := q.setHeaders(a.Headers); err != nil {
		return nil, err
	}
	if err := q.setBody(a.Body); err != nil {
		return nil, err
	}
	if q.body != nil && (q.method == http.MethodGet || q.method == http.MethodHead) {
		return nil, argumentError("a request with " + q.method + " has no body")
	}
	return q, nil
}

// checkMemberNames checks the exact names of the members, because the decision reads the exact names and a decoder
// accepts "URL" for "url".
func checkMemberNames(args json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return err
	}
	for name := range members {
		switch name {
		case "url", "method", "headers", "body", "redirect", "timeout":
		default:
			return fmt.Errorf("there is no option %q", name)
		}
	}
	return nil
}

func (q *fetchRequest) setHeaders(all map[string]string) error {
	for name, text := range all {
		name = strings.ToLower(name)
		if !isToken(name) {
			return argumentError("the name of a header is not valid")
		}
		if egress.ForbiddenField(name) {
			return argumentError("the header '" + name + "' is the host's to set")
		}
		raw, ok := latin1(text)
		if !ok {
			return argumentError("the header '" + name + "' has an invalid value")
		}
		if name == "accept-encoding" { // the response is decoded here
			continue
		}
		q.header.Set(name, raw)
	}
	return nil
}

func (q *fetchRequest) setBody(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		q.body = []byte(text)
		return nil
	}
	var tagged struct {
		Mark  string `json:"$ringd"`
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	if json.Unmarshal(raw, &tagged) == nil && tagged.Mark == "bytes" {
		b, err := base64.StdEncoding.DecodeString(tagged.Value)
		if err == nil {
			q.body = b
			return nil
		}
	}
	return argumentError("a body is a string or bytes")
}

// isToken reports whether s is valid as the name of a header or a method.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// latin1 converts a header value to the bytes to send, one for each character.
func latin1(s string) (string, bool) {
	var b strings.Builder
	for _, r := range s {
		if r > 0xff || r == 0x7f || r < ' ' && r != '\t' {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}

// redirected makes q the request for the next hop, as in WHATWG fetch. A POST body is sent again only if the
// status requires it. Headers that identify the sender stay with their origin.
func (q *fetchRequest) redirected(status int, from, to egress.URL) {
	post := q.method == http.MethodPost
	if (status == http.StatusMovedPermanently || status == http.StatusFound) && post ||
		status == http.StatusSeeOther && q.method != http.MethodGet && q.method != http.MethodHead {
		q.method, q.body = http.MethodGet, nil
		for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Location", "Content-Type"} {
			q.header.Del(name)
		}
	}
	if from.Scheme != to.Scheme || from.Dest != to.Dest {
		for _, name := range []string{"Authorization", "Cookie"} {
			q.header.Del(name)
		}
	}
}

// isPlainName reports whether a name can be a key of a plain object in the encoding.
func isPlainName(name string) bool { return name != value.Mark }
