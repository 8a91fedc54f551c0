package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/schema/wire"
)

func TestQueryIsStrict(t *testing.T) {
	f := serve(t, options{roles: mine("harness", "operator")})
	f.Apply(t, "one log")
	run := into[wire.Run](t, f.ask("POST", "/v1/runs", body("1+1")))
	for _, path := range []string{
		"/v1/runs/" + run.ID + "?wait=5", "/v1/runs/" + run.ID + "?wait_ms=1&wait_ms=2", "/v1/runs?limit=1&limit=2", "/v1/runs?colour=1",
		"/v1/status?agent=x", "/v1/agents/default/profiles/js?wait_ms=1", "/v1/runs?limit=%zz", "/v1/runs?a;b", "/healthz?x",
		"/v1/runs/" + run.ID + "/events?Last-Event-ID=1", "/v1/runs/" + run.ID + "/events?after=9223372036854775807",
	} {
		if got := f.ask("GET", path, ""); got.status != http.StatusBadRequest || got.code() != wire.CodeRequestInvalid {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/runs?state=done&state=failed&limit=5", "/v1/runs/" + run.ID + "?wait_ms=1"} {
		if got := f.ask("GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestNoBodyWhereNoneBelongs(t *testing.T) {
	f := serve(t, options{roles: mine("harness", "operator")})
	f.Apply(t, "one ask")
	run := into[wire.Run](t, f.ask("POST", "/v1/runs", body("wave ask")))
	if got := f.ask("POST", "/v1/runs/"+run.ID+"/cancel", `{"call":"c1"}`); got.code() != wire.CodeRequestInvalid {
		t.Errorf("cancel with a body: %d %s", got.status, got.body)
	}
	if got := into[wire.Run](t, f.ask("GET", "/v1/runs/"+run.ID, "")); got.State != "paused" {
		t.Errorf("the run is %s", got.State)
	}
}

// A body that never comes does not hold the connection for good, whatever the
// route and the answer.
func TestBodyThatNeverEnds(t *testing.T) {
	f := serve(t, options{roles: mine("harness"), config: func(c *api.Config) {
		c.ReadTimeout = 50 * time.Millisecond
	}})
	for _, line := range []string{"GET /healthz", "POST /v1/runs/x/cancel", "POST /v1/runs", "PUT /v1/runs",
		"POST /nothing", "GET //x", "POST /metrics"} {
		conn, err := net.Dial("unix", f.socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
			line); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 4") {
			t.Errorf("%s: %q, %v", line, got, err)
		}
		_ = conn.Close()
	}
}

// A reader of events that has seen all there is gets its headers before the next
// event.
func TestEventsBeginAtOnce(t *testing.T) {
	f := serve(t, options{roles: mine("harness"), config: func(c *api.Config) { c.Heartbeat = time.Hour }})
	f.Apply(t, "one ask")
	run := into[wire.Run](t, f.ask("POST", "/v1/runs", body("wave ask")))
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://ringd/v1/runs/"+run.ID+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", "1000")
	resp, err := f.http.Do(req) // returns with the headers
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	into[wire.Run](t, f.ask("POST", "/v1/runs/"+run.ID+"/cancel", ""))
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil && err != io.EOF {
		t.Error(err)
	}
}

// A long poll that the end of the server cuts says why.
func TestLongPollAtTheEnd(t *testing.T) {
	f := serve(t, options{roles: mine("harness")})
	f.Apply(t, "one log")
	tag := f.ask("GET", "/v1/agents/default/profiles/js", "").header.Get("ETag")
	closed := make(chan error, 1)
	go func() {
		f.Clock.WaitsFor(30 * time.Second)
		closed <- f.server.Close(t.Context())
	}()
	got := f.ask("GET", "/v1/agents/default/profiles/js?wait=30s", "", "If-None-Match", tag)
	if got.status != http.StatusServiceUnavailable || got.code() != wire.CodeDraining {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
