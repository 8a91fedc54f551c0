package api_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// remote is a fixture that is served over TCP as well.
type remote struct {
	*fixture
	url    string
	trust  *tls.Config
	secret map[string]string

	mu      sync.Mutex
	refused []api.Refusal
}

// remotely serves one token for each role, named for it, and one that has expired.
// This process, which is root or the daemon's own user, has every role but approver on the
// socket.
func remotely(t *testing.T, change func(*api.Config)) *remote {
	t.Helper()
	ca := apitest.New(t)
	files := ca.Write(t, t.TempDir(), "server")
	p, err := api.Open(api.PortConfig{Address: "127.0.0.1:0", Cert: files.Cert, Key: files.Key, Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{url: "https://" + p.Addr().String(), trust: &tls.Config{RootCAs: ca.Pool()},
		secret: map[string]string{}}
	r.fixture = serve(t, options{roles: mine("harness", "operator", "viewer"), ports: []*api.Port{p},
		config: func(c *api.Config) {
			c.Wrong = api.TokensConfig{Burst: 1000}
			c.Refused = func(_ context.Context, refusal api.Refusal) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.refused = append(r.refused, refusal)
			}
			for _, role := range []api.Role{api.Harness, api.Approver, api.Operator, api.Viewer, "expired"} {
				token := api.Token{IssuedToken: api.IssuedToken{Name: string(role), Secret: apitest.Secret()},
					Roles: []api.Role{role}}
				if role == "expired" {
					token.Roles, token.Expires = []api.Role{api.Operator}, c.Now().Add(-time.Second)
				}
				if role == api.Approver {
					token.Owners = []string{"group:leads"}
				}
				r.secret[token.Name] = token.Secret
				c.Tokens = append(c.Tokens, token)
			}
			if change != nil {
				change(c)
			}
		}})
	return r
}

func (r *remote) client(token string) *client.Client {
	r.t.Helper()
	c, err := client.New(client.Config{URL: r.url, Token: r.secret[token], TLS: r.trust})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// raw sends bytes over a connection of its own and reads one answer.
func (r *remote) raw(text string) (*http.Response, error) {
	r.t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), r.trust)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte(text)); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), nil)
}

func (r *remote) records() []api.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]api.Refusal(nil), r.refused...)
}

func TestNobodyWithoutAToken(t *testing.T) {
	r := remotely(t, nil)
	good, expired := r.secret["operator"], r.secret["expired"]
	status := func(head string) string { return "GET /v1/status HTTP/1.1\r\nHost: ringd\r\n" + head + "\r\n" }
	bearer := func(s string) string { return "Authorization: Bearer " + s + "\r\n" }
	for _, tc := range []struct {
		name, text string
		want       int
		why        error // nil: let in
	}{
		{"right", status(bearer(good)), 200, nil},
		{"right, in another case of the scheme", status("Authorization: bearer " + good + "\r\n"), 200, nil},
		{"none", status(""), 401, api.ErrTokenMissing},
		{"empty", status("Authorization: Bearer \r\n"), 401, api.ErrTokenMissing},
		{"wrong", status(bearer(apitest.Secret())), 401, api.ErrUnknown},
		{"half of one", status(bearer(good[:32])), 401, api.ErrUnknown},
		{"its name", status(bearer("operator")), 401, api.ErrUnknown},
		{"expired", status(bearer(expired)), 401, api.ErrExpired},
		{"another scheme", status("Authorization: Basic " + good + "\r\n"), 401, api.ErrTokenMissing},
		{"no scheme", status("Authorization: " + good + "\r\n"), 401, api.ErrTokenMissing},
		{"two", status(bearer(good) + bearer(good)), 401, api.ErrTokenMissing},
		{"in the query", "GET /v1/status?access_token=" + good + " HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"in a cookie", status("Cookie: token=" + good + "\r\n"), 401, api.ErrTokenMissing},
		{"as a password", "GET https://operator:" + good + "@ringd/v1/status HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"in the query besides", "GET /v1/status?access_token=" + good + " HTTP/1.1\r\nHost: ringd\r\n" + bearer(good) + "\r\n", 400, nil},
		{"a uid", status("X-Ringd-Uid: 0\r\nX-Peer-Uid: 0\r\nX-Remote-User: root\r\nRingd-Role: operator\r\n"), 401, api.ErrTokenMissing},
		{"from this host", status("X-Forwarded-For: 127.0.0.1\r\nForwarded: for=unix:\r\n"), 401, api.ErrTokenMissing},
		{"health", "GET /healthz HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"the document", "GET /openapi.json HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"a path that is not there", "GET /nothing HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"the server's options", "OPTIONS * HTTP/1.1\r\nHost: ringd\r\n\r\n", 401, api.ErrTokenMissing},
		{"a body that never comes", "POST /v1/runs HTTP/1.1\r\nHost: ringd\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 401, api.ErrTokenMissing},
		{"HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 401, api.ErrTokenMissing},
	} {
		before := len(r.records())
		resp, err := r.raw(tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if resp.StatusCode != tc.want {
			t.Errorf("%s gives %d, want %d", tc.name, resp.StatusCode, tc.want)
		}
		written := r.records()[before:]
		if tc.why == nil && len(written) > 0 || tc.why != nil &&
			(len(written) != 1 || !errors.Is(written[0].Why, tc.why) || written[0].From != "127.0.0.1") {
			t.Errorf("%s: recorded %+v, want %v", tc.name, written, tc.why)
		}
		if resp.StatusCode != 401 {
			continue
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(b), `"unauthorized","message":"a valid token is required`) {
			t.Errorf("%s says %s, %v", tc.name, b, err)
		}
		if !resp.Close || resp.Header.Get("WWW-Authenticate") != `Bearer realm="ringd"` {
			t.Errorf("%s: closes %v, header %q", tc.name, resp.Close, resp.Header.Get("WWW-Authenticate"))
		}
	}
	// On the socket a token is nothing, and a uid is all.
	if got := r.ask("GET", "/v1/approvals", "", "Authorization", "Bearer "+r.secret["approver"], "Ringd-Role",
		"approver"); got.code() != wire.CodeForbidden {
		t.Errorf("a token on the socket: %d %s", got.status, got.code())
	}
}

func TestRolesOfTokens(t *testing.T) {
	r := remotely(t, nil)
	r.Apply(t, "one pay!1@group:leads ask")
	harness, approver, viewer := r.client("harness"), r.client("approver"), r.client("viewer")
	run, err := harness.Run(t.Context(), wire.RunRequest{Executor: "js", Program: wire.Program{Source: "steps pay"}})
	if err != nil || run.State != "paused" {
		t.Fatalf("%+v, %v", run, err)
	}
	digest := run.Pending[0].Digest
	allow := wire.ApprovalAnswer{Verdict: "allow", Digest: digest, As: "group:leads"}
	for name, c := range map[string]*client.Client{"harness": harness, "viewer": viewer,
		"operator": r.client("operator")} {
		if _, err := c.Approve(t.Context(), run.ID, "c1", allow); client.Code(err) != wire.CodeForbidden {
			t.Errorf("a token of a %s approves: %v", name, err)
		}
	}
	for name, c := range map[string]*client.Client{"approver": approver, "viewer": viewer,
		"operator": r.client("operator")} {
		if _, err := c.StartRun(t.Context(), wire.RunRequest{
			Executor: "js", Program: wire.Program{Source: "1"}}); client.Code(err) != wire.CodeForbidden {
			t.Errorf("a token of a %s starts a run: %v", name, err)
		}
	}
	named, err := client.New(client.Config{URL: r.url, Token: r.secret["harness"], TLS: r.trust, Role: "approver"})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if _, err := named.Approve(t.Context(), run.ID, "c1", allow); client.Code(err) != wire.CodeForbidden {
		t.Errorf("a harness that calls itself an approver: %v", err)
	}
	if run, err = approver.Approve(t.Context(), run.ID, "c1", allow); err != nil {
		t.Fatal(err)
	}
	if run, err = harness.Wait(t.Context(), run.ID); err != nil || run.State != "done" {
		t.Errorf("%+v, %v", run, err)
	}
	list, err := viewer.Runs(t.Context(), client.Filter{})
	if err != nil || len(list.Runs) != 1 || list.Runs[0].Actor != "token:harness" {
		t.Errorf("%+v, %v", list, err)
	}
	// The runs of a uid are not those of a token.
	other := r.paused(daemon.Actor{Name: "uid:0"}, "steps pay")
	if _, err := harness.GetRun(t.Context(), other.ID, 0); client.Code(err) != wire.CodeNotFound {
		t.Errorf("a harness reads the run of another actor: %v", err)
	}
	var last wire.Event
	for e, err := range viewer.Events(t.Context(), run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.State != "done" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestTokensAreChecked(t *testing.T) {
	one := func(change func(*api.Token)) func(*api.Config) {
		return func(c *api.Config) {
			token := api.Token{IssuedToken: api.IssuedToken{Name: "a", Secret: apitest.Secret()},
				Roles: []api.Role{api.Harness}}
			change(&token)
			c.Tokens, c.Refused = []api.Token{token}, func(context.Context, api.Refusal) {}
		}
	}
	for name, tc := range map[string]struct {
		change func(*api.Config)
		want   string
	}{
		"good":                 {one(func(*api.Token) {}), ""},
		"harness and approver": {one(func(k *api.Token) { k.Roles = append(k.Roles, api.Approver) }), "a harness can never approve"},
		"no role":              {one(func(k *api.Token) { k.Roles = nil }), "has no role"},
		"role that is none":    {one(func(k *api.Token) { k.Roles = []api.Role{"root"} }), "is not a role"},
		"owners of a harness":  {one(func(k *api.Token) { k.Owners = []string{"group:leads"} }), "is not an approver"},
		"short secret":         {one(func(k *api.Token) { k.Secret = "abcd" }), "the secret has"},
		"nobody told":          {func(c *api.Config) { one(func(*api.Token) {})(c); c.Refused = nil }, "Refused is missing"},
		"harness stands for an owner": {func(c *api.Config) {
			one(func(*api.Token) {})(c)
			c.Approvers = map[string][]string{"group:leads": {"token:a"}}
		}, "not the token of an approver"},
		"unknown stands for an owner": {func(c *api.Config) {
			one(func(*api.Token) {})(c)
			c.Approvers = map[string][]string{"group:leads": {"token:b"}}
		}, "not the token of an approver"},
	} {
		_, err := api.New(config(t, tc.change))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestGuessesAreBounded(t *testing.T) {
	r := remotely(t, func(c *api.Config) { c.Wrong = api.TokensConfig{Burst: 3, Every: time.Hour} })
	old := r.client("operator")
	if _, err := old.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.secret["guess"] = apitest.Secret()
	for i, want := range []string{wire.CodeUnauthorized, wire.CodeUnauthorized, wire.CodeUnauthorized,
		wire.CodeTooManyAttempts, wire.CodeTooManyAttempts} {
		if _, err := r.client("guess").Status(t.Context()); client.Code(err) != want {
			t.Errorf("guess %d: %v, want %s", i, err, want)
		}
	}
	if _, err := r.client("operator").Status(t.Context()); client.Code(err) != wire.CodeTooManyAttempts {
		t.Errorf("a new connection among guesses: %v", err)
	}
	if _, err := old.Status(t.Context()); err != nil {
		t.Errorf("the connection that had a right token: %v", err)
	}
	if got := r.records(); len(got) != 4 || !errors.Is(got[3].Why, api.ErrTooMany) {
		t.Errorf("recorded %+v", got)
	}
}

// What waits for a token's holder ends with the token.
func TestTheEndOfAToken(t *testing.T) {
	at := time.Now() // and it stays that
	r := remotely(t, func(c *api.Config) {
		c.Now = func() time.Time { return at }
		for i := range c.Tokens {
			c.Tokens[i].Expires = at.Add(300 * time.Millisecond)
		}
	})
	r.Apply(t, "one ask")
	run := r.paused(daemontest.Me(), "wave ask")
	resp, err := r.raw("GET /v1/runs/" + run.ID + "/events HTTP/1.1\r\nHost: ringd\r\nAuthorization: Bearer " +
		r.secret["viewer"] + "\r\n\r\n")
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // a run that waits for ever: only the token ends this
}

// TestStrangersTakeNoPlaces: callers without a token that take every connection there
// may be, from several addresses, keep nobody out who has one.
func TestStrangersTakeNoPlaces(t *testing.T) {
	r := remotely(t, nil)
	for address := byte(2); address < 6; address++ {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, address)}}
		for range 128 {
			c, err := from.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "https://"))
			if errors.Is(err, syscall.EADDRNOTAVAIL) {
				t.Skip("this host has one address of its own")
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
	}
	if _, err := r.client("viewer").Status(t.Context()); err != nil {
		t.Errorf("a caller with a token: %v", err)
	}
}

func TestSlowAndHugeOverTCP(t *testing.T) {
	r := remotely(t, func(c *api.Config) { c.ReadTimeout = 500 * time.Millisecond })
	head := "GET /v1/status HTTP/1.1\r\nHost: ringd\r\nAuthorization: Bearer " + r.secret["viewer"] + "\r\n"
	if resp, err := r.raw(head + "\r\n"); err != nil || resp.StatusCode != 200 {
		t.Fatalf("a whole request: %v, %v", resp, err)
	}
	for name, text := range map[string]string{"half a header": head + "X-Slow: ", "half a line": "GET /v1/sta",
		"nothing": ""} {
		if resp, err := r.raw(text); err == nil && resp.StatusCode == 200 {
			t.Errorf("%s gives %d", name, resp.StatusCode)
		}
	}
	resp, err := r.raw("POST /v1/runs HTTP/1.1\r\nHost: ringd\r\nAuthorization: Bearer " + r.secret["harness"] +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if err != nil || resp.StatusCode != 400 {
		t.Errorf("half a body: %v, %v", resp, err)
	}
	if resp, err := r.raw(head + "X-Long: " + strings.Repeat("x", 64<<10) + "\r\n\r\n"); err != nil ||
		resp.StatusCode != 431 {
		t.Errorf("a huge header: %v, %v", resp, err)
	}
	if resp, err := r.raw(fmt.Sprintf("%s\r\n", strings.Replace(
		head, "/v1/status", "/"+strings.Repeat("x", 64<<10), 1))); err != nil || resp.StatusCode != 431 {
		t.Errorf("a huge path: %v, %v", resp, err)
	}
}
