package httphead_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// message is what two readers have to agree on.
type message struct {
	First  string // method, target and host; or the status
	Minor  int
	Fields map[string][]string
	Length int64 // -1: chunked, or until the end
	Close  bool
	Body   string
}

// fields are those that net/http leaves in a header.
func fields(seq func(func(httphead.Field) bool), chunked bool) map[string][]string {
	out := map[string][]string{}
	for f := range seq {
		key := textproto.CanonicalMIMEHeaderKey(string(f.Name))
		if f.Kind == httphead.TransferEncoding || f.Kind == httphead.ContentLength && chunked || key == "Trailer" {
			continue
		}
		out[key] = append(out[key], string(f.Value))
	}
	return out
}

// theirs does the same to a header of net/http.
func theirs(h http.Header) map[string][]string {
	out := map[string][]string{}
	for key, values := range h {
		if key != "Trailer" {
			out[key] = values
		}
	}
	return out
}

// body reads a body behind its head; ok is false of one that is not complete, or
// refused.
func body(raw []byte, kind httphead.Body, length int64) (text string, ok bool) {
	switch kind {
	case httphead.None:
		return "", true
	case httphead.Sized:
		if int64(len(raw)) < length {
			return "", false
		}
		return string(raw[:length]), true
	case httphead.UntilClose:
		return string(raw), true
	case httphead.Chunked:
		text, _, err := dechunk(raw, len(raw))
		return text, err == nil
	}
	return "", false
}

// dechunk reads a chunked body in pieces.
func dechunk(raw []byte, piece int) (text string, took int, err error) {
	var c httphead.Chunks
	var out []byte
	for !c.Done() {
		rest := raw[took:min(took+max(piece, 1), len(raw))]
		if len(rest) == 0 {
			return string(out), took, io.ErrUnexpectedEOF
		}
		b, n, err := c.Next(rest)
		out = append(out, b...)
		took += n
		if err != nil {
			return string(out), took, err
		}
	}
	return string(out), took, nil
}

// sameRequest holds that net/http reads what is accepted the same way. It may
// refuse it in addition: it reads hosts, which is for the decision here.
func sameRequest(t *testing.T, raw []byte) {
	t.Helper()
	r, n, err := httphead.ParseRequest(raw)
	if err != nil {
		return
	}
	text, complete := body(raw[n:], r.Body, r.Length)
	if !complete {
		return
	}
	other, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(raw), 2*httphead.MaxHead))
	if err != nil {
		if !strings.ContainsAny(string(r.Authority)+string(r.Host), "[]%:") {
			t.Fatalf("accepted, and net/http says %v: %q", err, raw)
		}
		return
	}
	host := string(r.Host)
	if r.Form != httphead.Origin && r.Form != httphead.Asterisk {
		host = string(r.Authority)
	}
	ours := fields(r.Fields(), r.Body == httphead.Chunked)
	delete(ours, "Host")
	mine := message{string(r.Method) + " " + string(r.Target) + " " + host, int(r.Minor), ours, r.Length, !r.KeepAlive,
		text}
	if r.Body == httphead.Chunked {
		mine.Length = -1
	}
	their := message{other.Method + " " + other.RequestURI + " " + other.Host, other.ProtoMinor, theirs(other.Header),
		other.ContentLength, other.Close || other.ProtoMinor == 0, ""}
	b, err := io.ReadAll(other.Body)
	if err != nil && !known(err) {
		t.Fatalf("the body was accepted, and net/http says %v: %q", err, raw)
	}
	if their.Body = string(b); err != nil {
		their.Body = mine.Body
	}
	if diff := cmp.Diff(mine, their); diff != "" {
		t.Fatalf("%q: -ours +net/http\n%s", raw, diff)
	}
	forwarded(t, &r)
}

// known says of errors of net/http that its bounds are lower than ours.
func known(err error) bool {
	return strings.Contains(err.Error(), "too long") || strings.Contains(err.Error(), "too much overhead") ||
		strings.Contains(err.Error(), "long trailer") || strings.Contains(err.Error(), "line too long")
}

// forwarded holds that what goes on is again one request, to one host, that asks
// for the same.
func forwarded(t *testing.T, r *httphead.Request) {
	t.Helper()
	if r.Form == httphead.Authority {
		return
	}
	out := r.AppendForward(nil, "up.example:81")
	again, n, err := httphead.ParseRequest(out)
	if err != nil || n != len(out) {
		t.Fatalf("forwarded as %q: %d, %v", out, n, err)
	}
	type asked struct {
		Method, Path, Query, Host string
		Body                      httphead.Body
		Length                    int64
		Upgrade, Expect           bool
		Minor                     uint8
	}
	path := string(r.Path)
	if again.Form == httphead.Asterisk {
		path = "*"
	}
	want := asked{string(r.Method), path, string(r.Query), "up.example:81", r.Body, r.Length, r.Upgrade, r.Expect,
		r.Minor}
	got := asked{string(again.Method), string(again.Path), string(again.Query), string(again.Host), again.Body,
		again.Length, again.Upgrade, again.Expect, again.Minor}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("forwarded as %q\n%s", out, diff)
	}
	for f := range again.Fields() {
		if f.Hop && f.Kind != httphead.TransferEncoding && f.Kind != httphead.Connection && f.Kind != httphead.Upgrade {
			t.Fatalf("forwarded %s: %q", f.Name, out)
		}
	}
}

func TestRequestsAsNetHTTP(t *testing.T) {
	for _, tt := range rows(t) {
		t.Run(tt.ID, func(t *testing.T) { sameRequest(t, tt.bytes(t)) })
	}
}

// TestNetHTTPIsLaxer says why there is an own reader: of the refused rows net/http
// accepts some, and this counts that the comparison can see them.
func TestNetHTTPIsLaxer(t *testing.T) {
	n := 0
	for _, tt := range rows(t) {
		if tt.Fault == "" {
			continue
		}
		if r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(tt.bytes(t)),
			2*httphead.MaxHead)); err == nil {
			if _, err := io.ReadAll(r.Body); err == nil {
				n++
			}
		}
	}
	if n < 20 {
		t.Errorf("net/http accepts %d of what is refused here", n)
	}
}

func FuzzRequest(f *testing.F) {
	for _, tt := range rows(f) {
		f.Add(tt.bytes(f))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		sameRequest(t, raw)
		whole, n, err := httphead.ParseRequest(raw)
		var r httphead.Request
		m, serr := slowly(&r, raw)
		if m != n || err == nil != (serr == nil) || !errors.Is(serr, err) && err != nil &&
			errors.Is(err, httphead.ErrMore) {
			t.Fatalf("whole: %d, %v; in pieces: %d, %v: %q", n, err, m, serr, raw)
		}
		if err == nil && (!bytes.Equal(whole.Path, r.Path) || whole.Body != r.Body || whole.Length != r.Length ||
			!bytes.Equal(whole.Host, r.Host)) {
			t.Fatalf("in pieces another: %q", raw)
		}
	})
}
