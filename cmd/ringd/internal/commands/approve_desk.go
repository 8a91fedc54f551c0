package commands

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// Desk is where waiting runs are moved: a daemon, or the folder that one left.
type Desk interface {
	Waits
	keeps
	locks
	// Refused turns an error of the others into an exit.
	Refused(err error) error
	Close() error
}

// finds finds a run.
type finds interface {
	// RunID is the whole id of the only run whose id begins with given. Its error is an
	// exit.
	RunID(ctx context.Context, given string) (string, error)
	GetRun(ctx context.Context, id string) (wire.Run, error)
}

// Waits moves runs that wait.
type Waits interface {
	finds
	Approvals(ctx context.Context, limit int, after string) (wire.Approvals, error)
	Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error)
	Revoke(ctx context.Context, run string, grants []string) (wire.Run, error)
	Cancel(ctx context.Context, run string) (wire.Run, error)
}

// keeps shows and forgets kept sessions.
type keeps interface {
	Sessions(ctx context.Context) (wire.SessionList, error)
	DropSession(ctx context.Context, name string) error
}

// locks is for operators: it closes everything, and opens it again; it says that a clock is
// right that was not; it archives the beginning of the audit log, which a daemon does to
// the folder of its configuration whatever to says.
type locks interface {
	Lockdown(ctx context.Context) (wire.Lockdown, error)
	SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error)
	AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error)
	Archive(ctx context.Context, to string, o wire.ArchiveOrder) (wire.Archived, error)
}

// remote is a daemon.
type remote struct{ *client.Client }

func (r remote) GetRun(ctx context.Context, id string) (wire.Run, error) {
	return r.Client.GetRun(ctx, id, 0)
}

func (r remote) Revoke(ctx context.Context, run string, grants []string) (wire.Run, error) {
	return r.Client.Revoke(ctx, run, grants...)
}

// RunID asks the daemon.
func (r remote) RunID(ctx context.Context, given string) (string, error) {
	return cli.RunThere(ctx, r.Client, given)
}

// Archive asks the daemon.
func (r remote) Archive(ctx context.Context, _ string, o wire.ArchiveOrder) (wire.Archived, error) {
	return r.Client.Archive(ctx, o)
}

func (r remote) Refused(err error) error { return cli.RefusedBy(err) }

func (r remote) Close() error {
	r.Client.Close()
	return nil
}
