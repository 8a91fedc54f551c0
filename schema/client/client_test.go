package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// serve answers on a Unix socket in the place of a daemon. The real one is in
// the tests of cmd/ringd/internal/api.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	c, err := client.New(client.Config{Socket: socket, Role: "harness"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return c
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		code   string
		want   string
	}{
		{"coded", 409, `{"error":{"code":"run_ended","message":"the run has ended","request_id":"q7"}}`, wire.CodeRunEnded, "run_ended: the run has ended (request q7)"},
		{"without a code", 502, `<html>bad gateway</html>`, "", "status 502 without a code"},
		{"empty code", 500, `{"error":{}}`, "", "status 500 without a code"},
		{"success that is not JSON", 200, `<html>`, "", "read the answer of GET /v1/runs/r1"},
		{"redirect", 304, ``, "", "status 304 without a code"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Ringd-Role") != "harness" {
					t.Errorf("role %q", r.Header.Get("Ringd-Role"))
				}
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			_, err := c.GetRun(t.Context(), "r1", 0)
			if err == nil || client.Code(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v with code %q, want %q", err, client.Code(err), tc.want)
			}
			if tc.code != "" && !errors.Is(err, &client.Error{Code: tc.code}) {
				t.Errorf("%v does not compare by code", err)
			}
			if errors.Is(err, &client.Error{Code: "other"}) {
				t.Errorf("%v compares with another code", err)
			}
		})
	}
	if client.Code(errors.New("x")) != "" || client.Code(nil) != "" {
		t.Error("an error that is not the daemon's has a code")
	}
}

func TestNoDaemon(t *testing.T) {
	c, err := client.New(client.Config{Socket: filepath.Join(t.TempDir(), "none")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); err == nil || client.Code(err) != "" {
		t.Errorf("got %v", err)
	}
	if _, err := client.New(client.Config{}); err == nil {
		t.Error("a client without a socket was made")
	}
}

func TestPathsAreEscaped(t *testing.T) {
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		fmt.Fprint(w, `{}`)
	})
	_, err1 := c.GetRun(t.Context(), "../status?x", 90*time.Minute)
	_, err2 := c.Profile(t.Context(), "a/b", "js")
	_, err3 := c.Runs(t.Context(), client.Filter{Agent: "a&limit=9", States: []string{"done", "failed"}, Limit: 3})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	want := []string{"/v1/runs/..%2Fstatus%3Fx?wait_ms=60000", "/v1/agents/a%2Fb/profiles/js?",
		"/v1/runs?agent=a%26limit%3D9&limit=3&state=done&state=failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func event(seq int, state string) string {
	return fmt.Sprintf("id: %d\nevent: state\ndata: {\"seq\":%d,\"type\":\"state\",\"run\":\"r1\",\"state\":%q}\n\n",
		seq, seq, state)
}

func TestEventsGoOnAfterABreak(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		if len(asked) == 1 {
			fmt.Fprint(w, ": still here\n\n"+event(1, "running")+event(2, "paused"))
			return // the connection ends too early
		}
		fmt.Fprint(w, event(3, "running")+event(4, "done")+event(5, "never read"))
	})
	var got []string
	for e, err := range c.Events(t.Context(), "r1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Seq, e.State))
	}
	if diff := cmp.Diff([]string{"1running", "2paused", "3running", "4done"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "2"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestEventsEnd(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"nothing comes": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) },
		"not an event":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: nonsense\n\n") },
		"refused": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"code":"not_found","message":"no","request_id":"q1"}}`)
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: "+strings.Repeat("x", 5<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			n, last := 0, error(nil)
			for _, err := range serve(t, h).Events(t.Context(), "r1", 0) {
				n, last = n+1, err
			}
			if n != 1 || last == nil {
				t.Errorf("%d events, the last with %v; want one error", n, last)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, event(1, "running"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for _, err := range c.Events(ctx, "r1", 0) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled reader gets %v", err)
		}
		cancel()
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(event(1, "running") + event(2, "done")))
	f.Add([]byte("data: {}\n\ndata: {\"seq\":9}\n\n: x\n"))
	f.Add([]byte("data: {\"seq\":-1,\"type\":\"state\",\"state\":\"done\"}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		left := 3
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if left--; left < 0 { // a stream that only ever breaks ends
				w.WriteHeader(http.StatusGone)
				return
			}
			if _, err := w.Write(stream); err != nil {
				t.Log(err)
			}
		})
		for range c.Events(t.Context(), "r1", 0) { //nolint:revive // only that it ends
		}
	})
}
