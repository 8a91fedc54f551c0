package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/ringd/ringd/schema/wire"
)

// Approvals lists calls that wait for a person, in turns: the newest of each agent and
// actor, then the next of each. limit 0 is 100; after is Next of the page before, ""
// for the first. Large arguments are left out: see WaitingCall.
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

// WaitingCall shows one call that waits for a person, with all of its arguments.
func (c *Client) WaitingCall(ctx context.Context, run, call string) (wire.WaitingCall, error) {
	var out wire.WaitingCall
	return out, c.call(ctx, "GET", "/v1/runs/"+url.PathEscape(run)+"/calls/"+url.PathEscape(call), nil, &out)
}

// Approve allows or denies one call that waits for a person. It counts for the
// arguments whose digest a names. The run that comes back may still wait.
func (c *Client) Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/approvals/"+url.PathEscape(run)+"/"+url.PathEscape(call), a, &out)
}

// Resume tries again to resume a run whose calls are answered and which an error
// stopped.
func (c *Client) Resume(ctx context.Context, run string) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/resume", nil, &out)
}

// Revoke takes grants from a run, while it runs or waits, for good: "bridge:NAME",
// "host:NAME", "import:NAME".
func (c *Client) Revoke(ctx context.Context, run string, grants ...string) (wire.Run, error) {
	var out wire.Run
	return out, c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/revoke", wire.Revocation{Grants: grants}, &out)
}

// Lockdown tells whether everything is closed, by whom, when and why.
func (c *Client) Lockdown(ctx context.Context) (wire.Lockdown, error) {
	var out wire.Lockdown
	return out, c.call(ctx, "GET", "/v1/lockdown", nil, &out)
}

// SetLockdown closes everything, or lifts that; the caller needs the role operator.
// Unrecorded of the answer says that it holds and is not on disk.
func (c *Client) SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error) {
	var out wire.Lockdown
	return out, c.call(ctx, "POST", "/v1/lockdown", o, &out)
}

// AcceptTime says that the clock of the daemon's host was ahead and is right now; the
// caller needs the role operator.
func (c *Client) AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error) {
	var out wire.Clock
	return out, c.call(ctx, "POST", "/v1/clock", o, &out)
}

// Archive moves the beginning of the daemon's audit log to the archive that its host
// names; the caller needs the role operator.
func (c *Client) Archive(ctx context.Context, o wire.ArchiveOrder) (wire.Archived, error) {
	var out wire.Archived
	return out, c.call(ctx, "POST", "/v1/audit/archive", o, &out)
}

// Sessions lists kept sessions; a harness sees its own.
func (c *Client) Sessions(ctx context.Context) (wire.SessionList, error) {
	var out wire.SessionList
	return out, c.call(ctx, "GET", "/v1/sessions", nil, &out)
}

// DropSession forgets a session of the caller.
func (c *Client) DropSession(ctx context.Context, name string) error {
	var out wire.SessionList
	return c.call(ctx, "DELETE", "/v1/sessions/"+url.PathEscape(name), nil, &out)
}
