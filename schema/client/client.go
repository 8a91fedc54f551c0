// Package client is the Go SDK of the harness API. It starts runs, answers their calls and follows their
// events. It connects to the daemon's Unix socket, or over TLS 1.3 with a token.
//
// It rejects answers that are too large or do not match the API. An error that the daemon returned is an
// *[Error], with a code of schema/wire. An error of the connection is not an *[Error].
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// maxAnswer is the largest answer, in bytes.
const maxAnswer = 64 << 20

// Config is the address of the daemon: Socket, or URL with Token.
type Config struct {
	Socket string // path of the Unix socket
	URL    string // https://HOST[:PORT]
	Token  string // of the caller; only sent to URL
	// TLS holds the trusted authorities and the client's certificate. nil: the authorities of the host, and
	// no certificate. Versions before 1.3 are always rejected.
	TLS  *tls.Config
	Role string // use only this role; empty: all roles of the caller
}

// Client talks to one daemon. It is safe for concurrent use. Close closes its idle connections.
type Client struct {
	http *http.Client
	role string
	base string // prefix of every URL
	auth string // Authorization header, or empty
}

// Error is an error that the daemon returned. Compare Code with the codes of schema/wire and profiles.
type Error struct {
	Status    int // HTTP status
	Code      string
	Message   string
	RequestID string // identifies the request in the daemon's log
}

// Error returns the message with its code and the request ID.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (request %s)", e.Code, e.Message, e.RequestID)
}

// Is makes errors.Is(err, &Error{Code: c}) compare codes.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// Code returns the code of an error of the daemon, or "" for other errors.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// New returns a client. It does not connect yet.
func New(cfg Config) (*Client, error) {
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second}
	c := &Client{role: cfg.Role, base: "http://ringd", http: &http.Client{
		Transport: t,
		// The daemon never redirects, and a token must not be sent elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	switch {
	case cfg.Socket == "" && cfg.URL == "":
		return nil, errors.New("client.Config: neither Socket nor URL is set")
	case cfg.Socket != "" && (cfg.URL != "" || cfg.Token != "" || cfg.TLS != nil):
		return nil, errors.New("client.Config: URL, Token and TLS cannot be combined with Socket")
	case cfg.Socket != "":
		var d net.Dialer
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", cfg.Socket)
		}
		return c, nil
	}
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("client.Config.URL: want https://HOST:PORT")
	case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("client.Config.URL: want https://HOST:PORT and nothing more; the token goes into Token")
	case cfg.Token == "":
		return nil, errors.New("client.Config.Token is missing: over TCP the daemon knows a caller only by its token")
	}
	c.base, c.auth = "https://"+u.Host, "Bearer "+cfg.Token
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS13}
	if cfg.TLS != nil {
		t.TLSClientConfig = cfg.TLS.Clone()
		t.TLSClientConfig.MinVersion = tls.VersionTLS13
	}
	return c, nil
}

// Close closes idle connections. Calls in progress continue.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StartRun starts a program and returns at once, or after at most WaitMillis.
func (c *Client) StartRun(ctx context.Context, r wire.RunRequest) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs", r, &out)
}

// GetRun returns the current state of a run. It waits at most the given time for the run to pause, to end, or
// to wait for its harness.
func (c *Client) GetRun(ctx context.Context, id string, wait time.Duration) (wire.Run, error) {
	var out wire.Run
	path := "/v1/runs/" + url.PathEscape(id)
	if wait > 0 {
		path += "?wait_ms=" + strconv.FormatInt(min(wait.Milliseconds(), wire.MaxWaitMillis), 10)
	}
	return out, c.call(ctx, "GET", path, nil, &out)
}

// Run starts a program and waits like [Client.Wait].
func (c *Client) Run(ctx context.Context, r wire.RunRequest) (wire.Run, error) {
	r.WaitMillis = wire.MaxWaitMillis
	out, err := c.StartRun(ctx, r)
	if err != nil || rests(out) {
		return out, err
	}
	return c.Wait(ctx, out.ID)
}

// rests reports whether a run has ended, or waits for an answer.
func rests(r wire.Run) bool { return r.State != wire.StateRunning || r.AwaitsHarness() }

// Wait waits until a run pauses or ends. A program that cannot be paused may wait for its harness while it is
// running (see wire.Pending.Held). Wait returns for such a run as well.
func (c *Client) Wait(ctx context.Context, id string) (wire.Run, error) {
	for {
		out, err := c.GetRun(ctx, id, wire.MaxWaitMillis*time.Millisecond)
		if err != nil || rests(out) {
			return out, err
		}
	}
}

// Answer settles calls that wait for the harness and waits like [Client.Wait].
func (c *Client) Answer(ctx context.Context, id string, answers ...wire.Answer) (wire.Run, error) {
	var out wire.Run
	body := wire.Answers{Answers: answers, WaitMillis: wire.MaxWaitMillis}
	err := c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(id)+"/answers", body, &out)
	if err != nil || rests(out) {
		return out, err
	}
	return c.Wait(ctx, id)
}

// Cancel ends a run and returns its final state.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(id)+"/cancel", nil, &out)
}

// Filter selects runs of a list. A zero Filter selects all.
type Filter struct {
	Prefix string // of the ID, at least wire.MinRunPrefix letters
	Agent  string
	States []string
	Before string // Next of the previous list
	Limit  int
}

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, f Filter) (wire.RunList, error) {
	q := url.Values{}
	set := func(k, v string) {
		if v != "" {
			q.Set(k, v)
		}
	}
	set("id", f.Prefix)
	set("agent", f.Agent)
	set("before", f.Before)
	if f.Limit > 0 {
		set("limit", strconv.Itoa(f.Limit))
	}
	for _, s := range f.States {
		q.Add("state", s)
	}
	var out wire.RunList
	return out, c.call(ctx, "GET", "/v1/runs?"+q.Encode(), nil, &out)
}

// Status returns the policy in force.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	var out wire.Status
	return out, c.call(ctx, "GET", "/v1/status", nil, &out)
}

// Decide decides actions for an agent, in order, without running anything.
func (c *Client) Decide(ctx context.Context, agent string, actions []wire.Action) ([]profiles.Decision, error) {
	var out []profiles.Decision
	return out, c.call(ctx, "POST", "/v1/decide?agent="+url.QueryEscape(agent), actions, &out)
}

// Profile returns what an agent may do in an executor, under the revision in force.
func (c *Client) Profile(ctx context.Context, agent, executor string) (wire.Profile, error) {
	var out wire.Profile
	return out, c.call(ctx, "GET", "/v1/agents/"+url.PathEscape(agent)+"/profiles/"+url.PathEscape(executor), nil, &out)
}

// Types returns the TypeScript declarations of an agent's bridges.
func (c *Client) Types(ctx context.Context, agent string) (string, error) {
	resp, err := c.send(ctx, "GET", "/v1/agents/"+url.PathEscape(agent)+"/types.d.ts", nil, nil)
	if err != nil {
		return "", err
	}
	b, err := readAll(resp)
	return string(b), err
}

// call sends one request and decodes its JSON answer into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in, nil)
	if err != nil {
		return err
	}
	b, err := readAll(resp)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// send sends one request. If err is nil, the answer is a success and its body must be closed.
func (c *Client) send(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.role != "" {
		req.Header.Set("Ringd-Role", c.role)
	}
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	b, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	var e wire.ErrorBody
	if err := json.Unmarshal(b, &e); err != nil || e.Error.Code == "" {
		return nil, fmt.Errorf("ask the daemon: status %d without a code", resp.StatusCode)
	}
	return nil, &Error{Status: resp.StatusCode, Code: e.Error.Code, Message: e.Error.Message,
		RequestID: e.Error.RequestID}
}

func readAll(resp *http.Response) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	err = errors.Join(err, resp.Body.Close())
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("read the answer: larger than %d bytes", maxAnswer)
	}
	return b, nil
}
