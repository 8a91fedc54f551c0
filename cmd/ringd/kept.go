package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

// kept works on a state folder that no daemon uses. It stands for the user who
// owns the folder, and sees everything in it.
type kept struct {
	*stack
	actor daemon.Actor
	who   waiting.Approver
	// pushes is the file of what was accepted.
	pushes string
}

// openKept builds a daemon over the folder that takes no policy and resumes
// nothing.
func (p stackBuilder) openKept(ctx context.Context, dir, as string) (commands.Desk, error) {
	s, err := p.newStack(ctx, stackConfig{
		group: &daemon.Group{}, still: true, logger: slog.New(slog.DiscardHandler),
		state:  stateConfig{folder: dir, ownKey: true},
		policy: policyConfig{compiler: p.compiler()},
		limits: limitsConfig{quota: daemon.Quota{PerActor: 1, Total: 1}},
		guests: guestsConfig{pool: poolConfig{once: true}},
	})
	switch {
	case errors.Is(err, store.ErrInUse):
		return nil, cli.Usage("read state folder: %w: ask its daemon with --socket", store.ErrInUse)
	case err != nil:
		return nil, err
	}
	who := owner(as)
	return &kept{s, daemon.Actor{Name: who.Name, All: true}, who, cli.Layout(dir).Pushes}, nil
}

func (k *kept) GetRun(ctx context.Context, id string) (wire.Run, error) {
	return k.daemon.GetRun(ctx, k.actor, id, 0)
}

// RunID looks among those of the folder.
func (k *kept) RunID(ctx context.Context, given string) (string, error) {
	return keptID(ctx, k.stack, k.actor, given)
}

// keptID is the whole id of the run of a state folder that given stands for.
func keptID(ctx context.Context, s *stack, actor daemon.Actor, given string) (string, error) {
	return cli.RunKept(given, func(prefix string, limit int) (wire.RunList, error) {
		return s.daemon.ListRuns(ctx, actor, view.Filter{Prefix: prefix, Limit: limit})
	})
}

func (k *kept) Approvals(ctx context.Context, limit int, after string) (wire.Approvals, error) {
	return k.daemon.ListApprovals(ctx, k.actor, waiting.Page{Limit: limit, After: after})
}

func (k *kept) Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error) {
	return k.daemon.Approve(ctx, k.who, run, call, a)
}

func (k *kept) Revoke(ctx context.Context, run string, grants []string) (wire.Run, error) {
	return k.daemon.RevokeGrants(ctx, k.actor, run, grants)
}

func (k *kept) Cancel(ctx context.Context, run string) (wire.Run, error) {
	return k.daemon.CancelRun(ctx, k.actor, run)
}

func (k *kept) Sessions(ctx context.Context) (wire.SessionList, error) {
	return k.daemon.ListSessions(ctx, k.actor)
}

// DropSession forgets a session of the runs that this user started here.
func (k *kept) DropSession(ctx context.Context, name string) error {
	return k.daemon.DropSession(ctx, k.actor, runner().Name, name)
}

func (k *kept) Lockdown(context.Context) (wire.Lockdown, error) { return k.lock.Show(0), nil }

func (k *kept) SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error) {
	return k.lock.Set(ctx, k.actor.Name, o)
}

// AcceptTime says that the clock was ahead and is right now.
func (k *kept) AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error) {
	ledger, err := trust.OpenLedger(k.pushes)
	if err != nil {
		return wire.Clock{}, err
	}
	return policy.AcceptTime(
		ctx,
		k.recorder,
		ledger,
		audit.Record{Kind: audit.ClockAccepted},
		wire.Clock{Now: time.Now()},
		k.actor.Name,
		o.Reason,
	)
}

// Archive moves the beginning of the audit log to a folder.
func (k *kept) Archive(ctx context.Context, to string, o wire.ArchiveOrder) (wire.Archived, error) {
	return daemon.ArchiveLog(ctx, k.recorder, to, k.actor.Name, o)
}

// Refused is exit 1, and 2 for what cannot be understood.
func (k *kept) Refused(err error) error {
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) {
		return cli.Failed(cli.Misused, err)
	}
	return cli.Failed(cli.Refused, err)
}
