package httpproxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

const gate = "http://gateway.ringd.internal/v1"

func plain(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"X-From": {"up"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

func TestVirtual(t *testing.T) {
	for _, tt := range []struct {
		name, request, want string
		trip                func(*http.Request) (*http.Response, error)
		ends                bool
	}{
		{"GET", "GET " + gate + "/a%2fb?c=%20d HTTP/1.1\r\nHost: gateway.ringd.internal\r\nConnection: X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\n\r\n",
			"200 GET /v1/a%2fb?c=%20d X-Other=[2] len=0 ", nil, false},
		{"empty query", "GET " + gate + "? HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n", "200 GET /v1? len=0 ", nil, false},
		{"length", "POST " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 5\r\n\r\nhello", "200 POST /v1 len=5 hello", nil, false},
		{"chunked", "POST " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "200 POST /v1 len=-1 hello", nil, false},
		{"HTTP/1.0", "GET " + gate + " HTTP/1.0\r\nHost: gateway.ringd.internal\r\n\r\n", "200 GET /v1 len=0 ", nil, true},
		{"body not read", "POST " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 5\r\n\r\nhello", "413 no",
			func(*http.Request) (*http.Response, error) { return plain(413, "no"), nil }, true},
		{"refused", "POST " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 5\r\n\r\nhello", "403 egress.gateway: none",
			func(*http.Request) (*http.Response, error) {
				return nil, &profiles.Denial{Decision: profiles.Decision{Code: "egress.gateway", Reason: "none"}}
			}, false},
		{"unreachable", "GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n",
			"502 {\"code\":\"unreachable\",\"reason\":\"gateway.ringd.internal:80 could not be reached, or gave no valid answer\"}\n",
			func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, true},
		{"unknown length", "GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n", "200 abc",
			func(*http.Request) (*http.Response, error) {
				r := plain(200, "abc")
				r.ContentLength = -1
				return r, nil
			}, false},
		{"a header that would be two", "GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n", "200 abc",
			func(*http.Request) (*http.Response, error) {
				r := plain(200, "abc")
				r.Header.Set("X-Bad", "a\r\nContent-Length: 1")
				return r, nil
			}, false},
		{"switched unasked", "GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n",
			"502 {\"code\":\"unreachable\",\"reason\":\"gateway.ringd.internal:80 could not be reached, or gave no valid answer\"}\n",
			func(*http.Request) (*http.Response, error) { return plain(101, ""), nil }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := serve(t, "", func(d *testProxy) {
				d.trip = tt.trip
				if d.trip == nil {
					d.trip = func(q *http.Request) (*http.Response, error) {
						b, err := io.ReadAll(q.Body)
						if err != nil {
							return nil, err
						}
						text := q.Method + " " + q.URL.Opaque
						if q.URL.RawQuery != "" || q.URL.ForceQuery {
							text += "?" + q.URL.RawQuery
						}
						for name, v := range q.Header {
							text += fmt.Sprintf(" %s=%v", name, v)
						}
						return plain(200, fmt.Sprintf("%s len=%d %s", text, q.ContentLength, b)), nil
					}
				}
			})
			w := d.dial()
			w.say(tt.request)
			r, body := w.hear(strings.Fields(tt.request)[0])
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%d %s", r.StatusCode, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if d.dials != 0 {
				t.Error("something was dialed for a virtual host")
			}
			if tt.ends {
				if err := w.ended(); err != nil {
					t.Errorf("the client saw %v instead of an end", err)
				}
				return
			}
			d.trip = func(*http.Request) (*http.Response, error) { return plain(200, "next"), nil }
			w.say("GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n")
			if _, body := w.hear("GET"); body != "next" {
				t.Errorf("after it: %q", body)
			}
		})
	}
}

// A client that waits to be asked for its body is asked when it is wanted, and
// not at all when it is not.
func TestVirtualContinue(t *testing.T) {
	const request = "POST " + gate +
		" HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
	wanted := serve(t, "", func(d *testProxy) {
		d.trip = func(q *http.Request) (*http.Response, error) {
			b, _ := io.ReadAll(q.Body)
			return plain(200, string(b)), nil
		}
	})
	w := wanted.dial()
	w.say(request)
	if r, _ := w.hear("POST"); r.StatusCode != 100 {
		t.Fatalf("got %d", r.StatusCode)
	}
	w.say("hello")
	if r, body := w.hear("POST"); r.StatusCode != 200 || body != "hello" {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
	refused := serve(t, "", func(d *testProxy) {
		d.trip = func(q *http.Request) (*http.Response, error) { return plain(401, "no"), nil }
	})
	w = refused.dial()
	w.say(request)
	if r, _ := w.hear("POST"); r.StatusCode != 401 {
		t.Errorf("got %d", r.StatusCode)
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// The upstream may answer while the body is still read, by a goroutine that goes
// on as long as it likes.
func TestVirtualEarlyAnswer(t *testing.T) {
	left := make(chan error, 1)
	d := serve(t, "", func(d *testProxy) {
		d.trip = func(q *http.Request) (*http.Response, error) {
			begun := make(chan struct{})
			go func() {
				_, _ = q.Body.Read(make([]byte, 5))
				close(begun)
				_, err := io.Copy(io.Discard, q.Body)
				left <- err
			}()
			<-begun
			return plain(413, "stop"), nil
		}
	})
	w := d.dial()
	w.say("POST " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nContent-Length: 50\r\n\r\nhello")
	if r, body := w.hear("POST"); r.StatusCode != 413 || body != "stop" {
		t.Errorf("got %d %q", r.StatusCode, body)
	}
	if err := <-left; err == nil {
		t.Error("a body that was taken back looks whole")
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

func TestVirtualLargeBodies(t *testing.T) {
	const size = 8 << 20
	d := serve(t, "", func(d *testProxy) {
		d.trip = func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: q.Body, ContentLength: -1}, nil
		}
	})
	w := d.dial()
	done := make(chan error, 1)
	go func() {
		q, _ := http.NewRequest("POST", gate, &pattern{end: size})
		done <- q.WriteProxy(w.TCPConn)
	}()
	r, err := http.ReadResponse(w.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, r.Body, size)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A body that breaks is not ended.
func TestVirtualBreaks(t *testing.T) {
	for _, length := range []int64{-1, 100} {
		d := serve(t, "", func(d *testProxy) {
			d.trip = func(q *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: length,
					Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), broken{}))}, nil
			}
		})
		w := d.dial()
		w.say("GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\n\r\n")
		r, err := http.ReadResponse(w.r, nil)
		if err == nil {
			_, err = io.ReadAll(r.Body)
		}
		if err == nil {
			t.Error("half an answer looks whole")
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// duplex is the body of an answer that switched: what is written comes back.
type duplex struct {
	*io.PipeReader
	w *io.PipeWriter
}

func (d duplex) Write(b []byte) (int, error) { return d.w.Write(bytes.ToUpper(b)) }
func (d duplex) Close() error                { return d.w.Close() }

func TestVirtualWebSocket(t *testing.T) {
	d := serve(t, "", func(d *testProxy) {
		d.trip = func(q *http.Request) (*http.Response, error) {
			if q.Header.Get("Upgrade") != "websocket" {
				return plain(400, ""), nil
			}
			r, w := io.Pipe()
			return &http.Response{StatusCode: 101, Header: http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, Body: duplex{r, w}}, nil
		}
	})
	w := d.dial()
	w.say("GET " + gate + " HTTP/1.1\r\nHost: gateway.ringd.internal\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"\r\nearly")
	r, err := http.ReadResponse(w.r, nil)
	if err != nil || r.StatusCode != 101 || r.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("got %v, %v", r, err)
	}
	w.say(" more")
	b := make([]byte, 10)
	if _, err := io.ReadFull(w.r, b); err != nil || string(b) != "EARLY MORE" {
		t.Fatalf("got %q, %v", b, err)
	}
	if err := w.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(w.r); len(rest) > 0 {
		t.Errorf("more came: %q", rest)
	}
}

// An unknown virtual host was not granted; a target may change between requests.
func TestVirtualAndNot(t *testing.T) {
	at, _ := heads(t, ok)
	d := serve(t, at, func(d *testProxy) {
		d.trip = func(*http.Request) (*http.Response, error) { return plain(200, "up"), nil }
	})
	w := d.dial()
	for _, target := range []string{"http://a.test/", gate, "http://a.test/", gate} {
		host, _, _ := strings.Cut(strings.TrimPrefix(target, "http://"), "/")
		w.say("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if r, _ := w.hear("GET"); r.StatusCode != 200 {
			t.Errorf("%s: %d", target, r.StatusCode)
		}
	}
	if d.dials != 2 {
		t.Errorf("dialed %d times, want 2: a connection is not kept beside a virtual host", d.dials)
	}
}
