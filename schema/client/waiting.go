package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/ringd/ringd/schema/wire"
)

// Approvals lists calls that wait for an approval. The calls are in turns: first the newest call of each
// agent and actor, then the next call of each. A limit of 0 means 100. after is Next of the previous page,
// or empty for the first page. Large arguments are left out: see [Client.WaitingCall].
func (c *Client) Approvals(ctx context.Context, limit int, after string) (wire.Approvals, error) {
	q := url.Values{}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if after != "" {
		q.Set("after", after)
	}
	path := "/v1/approvals"
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	var out wire.Approvals
	return out, c.call(ctx, "GET", path, nil, &out)
}

// WaitingCall returns one call that waits for an approval, with all of its arguments.
func (c *Client) WaitingCall(ctx context.Context, run, call string) (wire.WaitingCall, error) {
	var out wire.WaitingCall
	return out, c.call(ctx, "GET", "/v1/runs/"+url.PathEscape(run)+"/calls/"+url.PathEscape(call), nil, &out)
}

// Approve allows or denies one call that waits for an approval. The answer is valid only for the arguments
// whose digest is in a. The returned run may still wait.
func (c *Client) Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/approvals/"+url.PathEscape(run)+"/"+url.PathEscape(call), a, &out)
}

// Resume retries to resume a run whose calls are answered and which an error stopped.
func (c *Client) Resume(ctx context.Context, run string) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/resume", nil, &out)
}

// Revoke permanently removes grants from a run: "bridge:NAME", "host:NAME", "import:NAME". The run may be
// running or waiting.
func (c *Client) Revoke(ctx context.Context, run string, grants ...string) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/revoke", wire.Revocation{Grants: grants}, &out)
}

// Lockdown returns whether a lockdown is in force, with its actor, time and reason.
func (c *Client) Lockdown(ctx context.Context) (wire.Lockdown, error) {
	var out wire.Lockdown
	return out, c.call(ctx, "GET", "/v1/lockdown", nil, &out)
}

// SetLockdown starts or ends a lockdown. The caller needs the role operator. If Unrecorded is set in the
// answer, the change is in force but not on disk.
func (c *Client) SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error) {
	var out wire.Lockdown
	return out, c.call(ctx, "POST", "/v1/lockdown", o, &out)
}

// AcceptTime confirms that the clock of the daemon's host was ahead and is now correct. The caller needs the
// role operator.
func (c *Client) AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error) {
	var out wire.Clock
	return out, c.call(ctx, "POST", "/v1/clock", o, &out)
}

// Archive moves the oldest part of the daemon's audit log to the host's archive. The caller needs the role
// operator.
func (c *Client) Archive(ctx context.Context, o wire.ArchiveOrder) (wire.Archived, error) {
	var out wire.Archived
	return out, c.call(ctx, "POST", "/v1/audit/archive", o, &out)
}

// Sessions lists stored sessions. A harness sees its own.
func (c *Client) Sessions(ctx context.Context) (wire.SessionList, error) {
	var out wire.SessionList
	return out, c.call(ctx, "GET", "/v1/sessions", nil, &out)
}

// DropSession deletes a session of the caller.
func (c *Client) DropSession(ctx context.Context, name string) error {
	var out wire.SessionList
	return c.call(ctx, "DELETE", "/v1/sessions/"+url.PathEscape(name), nil, &out)
}
