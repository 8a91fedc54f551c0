package commands

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// Desk is what the commands need of a daemon, or of the state folder of a stopped one.
type Desk interface {
	Waits
	sessionDesk
	operatorDesk
	// Refused turns an error of the other methods into an exit.
	Refused(err error) error
	Close() error
}

type runFinder interface {
	// RunID returns the whole id of the only run whose id begins with given. Its error is an exit.
	RunID(ctx context.Context, given string) (string, error)
	GetRun(ctx context.Context, id string) (wire.Run, error)
}

// Waits reads and decides waiting runs.
type Waits interface {
	runFinder
	Approvals(ctx context.Context, limit int, after string) (wire.Approvals, error)
	Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error)
	Revoke(ctx context.Context, run string, grants []string) (wire.Run, error)
	Cancel(ctx context.Context, run string) (wire.Run, error)
}

// sessionDesk lists and drops stored sessions.
type sessionDesk interface {
	Sessions(ctx context.Context) (wire.SessionList, error)
	DropSession(ctx context.Context, name string) error
}

// operatorDesk has the orders of operators: the lockdown, the acceptance of a corrected clock, and the archive of
// the audit log. A daemon archives to the folder of its configuration and ignores to.
type operatorDesk interface {
	Lockdown(ctx context.Context) (wire.Lockdown, error)
	SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error)
	AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error)
	Archive(ctx context.Context, to string, o wire.ArchiveOrder) (wire.Archived, error)
}

// daemonDesk is a daemon.
type daemonDesk struct{ *client.Client }

func (r daemonDesk) GetRun(ctx context.Context, id string) (wire.Run, error) {
	return r.Client.GetRun(ctx, id, 0)
}

func (r daemonDesk) Revoke(ctx context.Context, run string, grants []string) (wire.Run, error) {
	return r.Client.Revoke(ctx, run, grants...)
}

func (r daemonDesk) RunID(ctx context.Context, given string) (string, error) {
	return cli.RunThere(ctx, r.Client, given)
}

func (r daemonDesk) Archive(ctx context.Context, _ string, o wire.ArchiveOrder) (wire.Archived, error) {
	return r.Client.Archive(ctx, o)
}

func (r daemonDesk) Refused(err error) error { return cli.RefusedBy(err) }

func (r daemonDesk) Close() error {
	r.Client.Close()
	return nil
}
