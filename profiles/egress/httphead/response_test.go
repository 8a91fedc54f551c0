package httphead_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

const ok = "HTTP/1.1 200 OK\r\n"

// reading is what is read of a response.
type reading struct {
	Status    int
	Body      httphead.Body
	Length    int64
	KeepAlive bool
	Interim   bool
	Upgrade   bool
	Forward   string // without its first line
}

var responses = []struct {
	name, in string
	asked    httphead.Asked
	want     reading
	err      error
}{
	{"length", ok + "Content-Length: 4\r\n\r\nabcd", httphead.Asked{}, reading{200, httphead.Sized, 4, true, false, false, "Content-Length: 4\r\n\r\n"}, nil},
	{"no body", ok + "Content-Length: 0\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, true, false, false, "Content-Length: 0\r\n\r\n"}, nil},
	{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", httphead.Asked{}, reading{200, httphead.Chunked, 0, true, false, false, "Transfer-Encoding: chunked\r\n\r\n"}, nil},
	{"white space around", ok + "Content-Length:\t4 \t\r\n\r\nabcd", httphead.Asked{}, reading{200, httphead.Sized, 4, true, false, false, "Content-Length: 4\r\n\r\n"}, nil},
	{"until the end", ok + "X: 1\r\n\r\nabcd", httphead.Asked{}, reading{200, httphead.UntilClose, 0, false, false, false, "X: 1\r\nConnection: close\r\n\r\n"}, nil},
	{"close", ok + "Connection: close\r\nContent-Length: 0\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, false, false, false, "Content-Length: 0\r\n\r\n"}, nil},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, false, false, false, "Content-Length: 0\r\n\r\n"}, nil},
	{"HEAD with a length", ok + "Content-Length: 4\r\n\r\n", httphead.Asked{Head: true}, reading{200, httphead.None, 4, true, false, false, "Content-Length: 4\r\n\r\n"}, nil},
	{"HEAD and chunked", ok + "Transfer-Encoding: chunked\r\n\r\n", httphead.Asked{Head: true}, reading{200, httphead.None, 0, true, false, false, "\r\n"}, nil},
	{"HEAD without any", ok + "\r\n", httphead.Asked{Head: true}, reading{200, httphead.None, 0, true, false, false, "\r\n"}, nil},
	{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", httphead.Asked{}, reading{304, httphead.None, 4, true, false, false, "Content-Length: 4\r\n\r\n"}, nil},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", httphead.Asked{}, reading{204, httphead.None, 0, true, false, false, "\r\n"}, nil},
	{"204 with a length of none", "HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n", httphead.Asked{}, reading{204, httphead.None, 0, true, false, false, "\r\n"}, nil},
	{"100", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", httphead.Asked{}, reading{100, httphead.None, 0, true, true, false, "\r\n"}, nil},
	{"103 with links", "HTTP/1.1 103\r\nLink: </a>\r\n\r\n", httphead.Asked{}, reading{103, httphead.None, 0, true, true, false, "Link: </a>\r\n\r\n"}, nil},
	{"101", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: x\r\n\r\n", httphead.Asked{Upgrade: true}, reading{101, httphead.None, 0, false, false, true, "Sec-WebSocket-Accept: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"}, nil},
	{"named in Connection", ok + "Connection: x-a , Content-Length\r\nX-A: 1\r\nContent-Length: 0\r\nKeep-Alive: x\r\nProxy-Authenticate: Basic\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, true, false, false, "Content-Length: 0\r\n\r\n"}, nil},
	{"fields of the user", ok + "Set-Cookie: a\r\nSet-Cookie: b\r\nX: caf\xe9\r\nContent-Length: 0\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, true, false, false, "Set-Cookie: a\r\nSet-Cookie: b\r\nX: caf\xe9\r\nContent-Length: 0\r\n\r\n"}, nil},
	{"200 to an upgrade", ok + "Content-Length: 0\r\n\r\n", httphead.Asked{Upgrade: true}, reading{200, httphead.None, 0, true, false, false, "Content-Length: 0\r\n\r\n"}, nil},
	{"Upgrade is offered", ok + "Upgrade: h2c\r\nContent-Length: 0\r\n\r\n", httphead.Asked{}, reading{200, httphead.None, 0, true, false, false, "Content-Length: 0\r\n\r\n"}, nil},

	{"101 that nobody asked for", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrUpgrade},
	{"101 to another", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", httphead.Asked{Upgrade: true}, reading{}, httphead.ErrUpgrade},
	{"101 to two", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n", httphead.Asked{Upgrade: true}, reading{}, httphead.ErrUpgrade},
	{"101 without Connection", "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", httphead.Asked{Upgrade: true}, reading{}, httphead.ErrUpgrade},
	{"101 of HTTP/1.0", "HTTP/1.0 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", httphead.Asked{Upgrade: true}, reading{}, httphead.ErrUpgrade},
	{"100 with a body", "HTTP/1.1 100 x\r\nContent-Length: 4\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrNoBody},
	{"101 with a body", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n", httphead.Asked{Upgrade: true}, reading{}, httphead.ErrNoBody},
	{"204 with a body", "HTTP/1.1 204 x\r\nContent-Length: 4\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrNoBody},
	{"204 and chunked", "HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrNoBody},
	{"both", ok + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrBoth},
	{"both of HEAD", ok + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", httphead.Asked{Head: true}, reading{}, httphead.ErrBoth},
	{"two lengths", ok + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLength},
	{"a list of lengths", ok + "Content-Length: 4, 4\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLength},
	{"a sign", ok + "Content-Length: +4\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLength},
	{"gzip, chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrCoding},
	{"identity", ok + "Transfer-Encoding: identity\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrCoding},
	{"chunked of HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrCoding},
	{"bare LF", "HTTP/1.1 200 OK\nX: 1\n\n", httphead.Asked{}, reading{}, httphead.ErrBreak},
	{"folded", ok + "X: 1\r\n 2\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrFold},
	{"space before the colon", ok + "X : 1\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrName},
	{"NUL", ok + "X: \x00\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrValue},
	{"bare CR", ok + "X: a\rSet-Cookie: b\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrValue},
	{"control in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrValue},
	{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrVersion},
	{"lower case", "http/1.1 200 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLine},
	{"HTTP/0.9", "<html>", httphead.Asked{}, reading{}, httphead.ErrLine},
	{"no status", "HTTP/1.1 \r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"no space", "HTTP/1.1\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLine},
	{"two digits", "HTTP/1.1 20 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"four digits", "HTTP/1.1 2000 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"a leading zero", "HTTP/1.1 020 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"a sign in the status", "HTTP/1.1 +20 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"status 99", "HTTP/1.1 099 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"status 600", "HTTP/1.1 600 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"two spaces", "HTTP/1.1  200 OK\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrStatus},
	{"too long", ok + "X: " + strings.Repeat("a", httphead.MaxHead) + "\r\n\r\n", httphead.Asked{}, reading{}, httphead.ErrLarge},
	{"not complete", ok + "X: 1\r\n", httphead.Asked{}, reading{}, httphead.ErrMore},
}

func TestResponses(t *testing.T) {
	for _, tt := range responses {
		t.Run(tt.name, func(t *testing.T) {
			var r httphead.Response
			n, err := r.Read([]byte(tt.in), tt.asked)
			if err != tt.err && !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil {
				got := reading{r.Status, r.Body, r.Length, r.KeepAlive, r.Interim, r.Upgrade, ""}
				first, rest, _ := strings.Cut(string(r.AppendForward(nil, r.Body, true)), "\r\n")
				got.Forward = rest
				if diff := cmp.Diff(tt.want, got); diff != "" ||
					first != fmt.Sprintf("HTTP/1.1 %d %s", r.Status, r.Reason) {
					t.Errorf("%q -want +got\n%s", first, diff)
				}
			}
			var slow httphead.Response
			for i := range len(tt.in) + 1 {
				m, serr := slow.Read([]byte(tt.in[:i]), tt.asked)
				if errors.Is(serr, httphead.ErrMore) {
					continue
				}
				if m != n || serr != err && !errors.Is(serr, err) {
					t.Errorf("after %d bytes: %d, %v; whole: %d, %v", i, m, serr, n, err)
				}
				break
			}
		})
	}
}

// TestResponseFraming: a body may go on in another framing than it came in.
func TestResponseFraming(t *testing.T) {
	for _, tt := range []struct {
		in   string
		to   httphead.Body
		keep bool
		want string
	}{
		{"", httphead.Chunked, true, "Transfer-Encoding: chunked\r\n\r\n"},
		{"", httphead.UntilClose, true, "Connection: close\r\n\r\n"},
		{"Transfer-Encoding: chunked\r\n", httphead.UntilClose, true, "Connection: close\r\n\r\n"},
		{"Content-Length: 4\r\n", httphead.Sized, false, "Content-Length: 4\r\nConnection: close\r\n\r\n"},
	} {
		var r httphead.Response
		if _, err := r.Read([]byte(ok+tt.in+"\r\n"), httphead.Asked{}); err != nil {
			t.Fatal(err)
		}
		if got := string(r.AppendForward(nil, tt.to, tt.keep)); got != ok+tt.want {
			t.Errorf("%q as %d: %q", tt.in, tt.to, got)
		}
	}
}

// sameResponse holds that net/http reads what is accepted the same way.
func sameResponse(t *testing.T, raw []byte, asked httphead.Asked) {
	t.Helper()
	var r httphead.Response
	n, err := r.Read(raw, asked)
	if err != nil {
		return
	}
	text, complete := body(raw[n:], r.Body, r.Length)
	if !complete || r.Interim || r.Upgrade {
		return
	}
	method := "GET"
	if asked.Head {
		method = "HEAD"
	}
	other, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(raw), 2*httphead.MaxHead),
		&http.Request{Method: method})
	if err != nil {
		t.Fatalf("accepted, and net/http says %v: %q", err, raw)
	}
	mine := message{fmt.Sprint(r.Status), int(r.Minor), fields(r.Fields(), r.Body == httphead.Chunked), 0, !r.KeepAlive,
		text}
	b, err := io.ReadAll(other.Body)
	if err != nil && !known(err) {
		t.Fatalf("the body was accepted, and net/http says %v: %q", err, raw)
	}
	their := message{fmt.Sprint(other.StatusCode), other.ProtoMinor, theirs(other.Header), 0, other.Close ||
		other.ProtoMinor == 0, string(b)}
	delete(mine.Fields, "Connection") // which net/http takes away when it says close
	delete(their.Fields, "Connection")
	if err != nil {
		their.Body = mine.Body
	}
	if diff := cmp.Diff(mine, their); diff != "" {
		t.Fatalf("%q: -ours +net/http\n%s", raw, diff)
	}
	out := r.AppendForward(nil, r.Body, true)
	var again httphead.Response
	if n, err := again.Read(out, asked); err != nil || n != len(out) || again.Body != r.Body ||
		again.Length != r.Length && r.Body == httphead.Sized {
		t.Fatalf("forwarded as %q: %d, %v", out, n, err)
	}
}

func TestResponsesAsNetHTTP(t *testing.T) {
	for _, tt := range responses {
		t.Run(tt.name, func(t *testing.T) { sameResponse(t, []byte(tt.in), tt.asked) })
	}
}

func FuzzResponse(f *testing.F) {
	for _, tt := range responses {
		f.Add([]byte(tt.in), tt.asked.Head, tt.asked.Upgrade)
	}
	f.Fuzz(func(t *testing.T, raw []byte, isHead, upgrade bool) {
		sameResponse(t, raw, httphead.Asked{Head: isHead, Upgrade: upgrade && !isHead})
	})
}

var chunked = []struct {
	name, in, want string
	ok             bool
}{
	{"none", "0\r\n\r\n", "", true},
	{"two", "4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n", "abcdef", true},
	{"hex", "0A\r\n0123456789\r\n00\r\n\r\n", "0123456789", true},
	{"lower", "a\r\n0123456789\r\n000\r\n\r\n", "0123456789", true},
	{"line breaks in a chunk", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", true},
	{"extension", "1;a\r\nx\r\n0;b=c\r\n\r\n", "x", true},
	{"extension with quotes", "1; a=\"b;c\"\r\nx\r\n0\r\n\r\n", "x", true},
	{"trailers", "0\r\nX: 1\r\nY:\r\n\r\n", "", true},
	{"bytes behind", "0\r\n\r\nGET / HTTP/1.1", "", true},

	{"not complete", "4\r\nab", "ab", false},
	{"no end", "4\r\nabcd\r\n", "abcd", false},
	{"no size", "\r\nabcd", "", false},
	{"sign", "+4\r\nabcd\r\n0\r\n\r\n", "", false},
	{"minus", "-1\r\n", "", false},
	{"prefix", "0x4\r\nabcd\r\n0\r\n\r\n", "", false},
	{"space before the size", " 4\r\nabcd\r\n0\r\n\r\n", "", false},
	{"space after the size", "4 \r\nabcd\r\n0\r\n\r\n", "", false},
	{"space before the extension", "4 ;a\r\nabcd\r\n0\r\n\r\n", "", false},
	{"underscore", "1_0\r\n", "", false},
	{"other digits", "4g\r\n", "", false},
	{"too large a size", "1000000000000000\r\n", "", false},
	{"a size that wraps", "10000000000000004\r\nabcd", "", false},
	{"zeros", strings.Repeat("0", 16) + "\r\n\r\n", "", false},
	{"bare LF after the size", "4\nabcd\r\n0\r\n\r\n", "", false},
	{"bare CR after the size", "4\rabcd\r\n0\r\n\r\n", "", false},
	{"bare LF after the chunk", "4\r\nabcd\n0\r\n\r\n", "abcd", false},
	{"longer than its size", "4\r\nabcdX\r\n0\r\n\r\n", "abcd", false},
	{"shorter than its size", "4\r\nabc\r\n0\r\n\r\n", "abc\r", false},
	{"bare LF at the end", "0\r\n\n", "", false},
	{"bare LF after the last size", "0\n\n", "", false},
	{"empty extension", "4;\r\nabcd\r\n0\r\n\r\n", "", false},
	{"bare LF in an extension", "4;a\nb\r\nabcd\r\n0\r\n\r\n", "", false},
	{"bare CR in an extension", "4;a\rb\r\nabcd\r\n0\r\n\r\n", "", false},
	{"NUL in an extension", "4;a\x00\r\nabcd\r\n0\r\n\r\n", "", false},
	{"long extensions", strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\nx\r\n", 20), strings.Repeat("x", 16), false},
	{"long trailers", "0\r\n" + strings.Repeat("X: "+strings.Repeat("a", 1000)+"\r\n", 10) + "\r\n", "", false},
	{"folded trailer", "0\r\nX: 1\r\n 2\r\n\r\n", "", false},
	{"space before the colon of a trailer", "0\r\nX : 1\r\n\r\n", "", false},
	{"trailer without a colon", "0\r\nGET / HTTP/1.1\r\n\r\n", "", false},
	{"trailer without a name", "0\r\n: 1\r\n\r\n", "", false},
	{"NUL in a trailer", "0\r\nX: \x00\r\n\r\n", "", false},
	{"bare LF in a trailer", "0\r\nX: 1\nY: 2\r\n\r\n", "", false},
}

func TestChunks(t *testing.T) {
	for _, tt := range chunked {
		t.Run(tt.name, func(t *testing.T) {
			for piece := 1; piece <= len(tt.in); piece += 1 + piece/2 {
				if got, _, err := dechunk([]byte(tt.in), piece); got != tt.want || err == nil != tt.ok {
					t.Errorf("in pieces of %d: %q, %v", piece, got, err)
				}
			}
			sameChunks(t, []byte(tt.in), len(tt.in))
		})
	}
	var c httphead.Chunks
	if _, _, err := c.Next([]byte("x")); !errors.Is(err, httphead.ErrChunk) {
		t.Fatal(err)
	}
	if b, n, err := c.Next([]byte("0\r\n\r\n")); !errors.Is(err, httphead.ErrChunk) || n != 0 || b != nil || c.Done() {
		t.Errorf("a broken body goes on: %q, %d, %v", b, n, err)
	}
	if got := string(httphead.AppendSize(nil, 0xabc)) + httphead.LastChunk; got != "abc\r\n0\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

// sameChunks holds that net/http reads a body that is accepted the same way.
func sameChunks(t *testing.T, raw []byte, piece int) {
	t.Helper()
	text, took, err := dechunk(raw, piece)
	if err != nil {
		return
	}
	if whole, n, err := dechunk(raw, len(raw)); whole != text || n != took || err != nil {
		t.Fatalf("in pieces of %d %q and %d, whole %q and %d, %v", piece, text, took, whole, n, err)
	}
	b, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
	if err != nil && !known(err) {
		t.Fatalf("accepted, and net/http says %v: %q", err, raw)
	}
	if err == nil && string(b) != text {
		t.Fatalf("%q: ours %q, net/http %q", raw, text, b)
	}
}

func FuzzChunks(f *testing.F) {
	for _, tt := range chunked {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece int) { sameChunks(t, raw, piece&0xfff) })
}

// BenchmarkRequest reads a head of ten fields, and writes it as it goes on.
func BenchmarkRequest(b *testing.B) {
	raw := []byte("GET http://api.example.com/v1/items?limit=10 HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: " +
		"Mozilla/5.0 (X11; Linux x86_64)\r\n" +
		"Accept: application/json, text/plain, */*\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nProxy-Connection: keep-alive\r\n" +
		"Referer: http://api.example.com/\r\nCookie: session=0123456789abcdef; theme=dark\r\nCache-Control: no-cache\r\nX-Request-Id: 7b0c2a9e\r\n\r\n")
	var r httphead.Request
	dst := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := r.Read(raw); n != len(raw) || err != nil {
			b.Fatal(n, err)
		}
		dst = r.AppendForward(dst[:0], "api.example.com")
	}
}

// TestNoAllocation: an ordinary head is read and written without any.
func TestNoAllocation(t *testing.T) {
	raw := []byte("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, X\r\nX: 1\r\n" +
		"Accept: */*\r\n\r\n")
	back := []byte(ok + "Content-Length: 4\r\nConnection: keep-alive\r\nDate: x\r\n\r\n")
	var r httphead.Request
	var s httphead.Response
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		_, err := r.Read(raw)
		_, serr := s.Read(back, httphead.Asked{})
		if err != nil || serr != nil {
			t.Error(err, serr)
		}
		dst = r.AppendForward(dst[:0], "a.example")
		dst = s.AppendForward(dst[:0], s.Body, true)
		for f := range r.Fields() {
			if len(f.Name) == 0 {
				t.Error("no name")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
