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

// storedRuns is a commands.Desk on a state folder that no daemon uses. It acts as the user who owns the folder, and
// sees everything in it.
type storedRuns struct {
	*stack
	actor daemon.Actor
	who   waiting.Approver
	// pushes is the path of the ledger of accepted pushes.
	pushes string
}

// openKept builds a daemon over the folder. The daemon accepts no policy and resumes nothing.
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
	who := terminalApprover(as)
	return &storedRuns{s, daemon.Actor{Name: who.Name, All: true}, who, cli.Layout(dir).Pushes}, nil
}

func (k *storedRuns) GetRun(ctx context.Context, id string) (wire.Run, error) {
	return k.daemon.GetRun(ctx, k.actor, id, 0)
}

// RunID searches the runs of the folder.
func (k *storedRuns) RunID(ctx context.Context, given string) (string, error) {
	return storedRunID(ctx, k.stack, k.actor, given)
}

// storedRunID returns the whole id of a run in a state folder, for an id or a prefix.
func storedRunID(ctx context.Context, s *stack, actor daemon.Actor, given string) (string, error) {
	return cli.RunKept(given, func(prefix string, limit int) (wire.RunList, error) {
		return s.daemon.ListRuns(ctx, actor, view.Filter{Prefix: prefix, Limit: limit})
	})
}

func (k *storedRuns) Approvals(ctx context.Context, limit int, after string) (wire.Approvals, error) {
	return k.daemon.ListApprovals(ctx, k.actor, waiting.Page{Limit: limit, After: after})
}

func (k *storedRuns) Approve(ctx context.Context, run, call string, a wire.ApprovalAnswer) (wire.Run, error) {
	return k.daemon.Approve(ctx, k.who, run, call, a)
}

func (k *storedRuns) Revoke(ctx context.Context, run string, grants []string) (wire.Run, error) {
	return k.daemon.RevokeGrants(ctx, k.actor, run, grants)
}

func (k *storedRuns) Cancel(ctx context.Context, run string) (wire.Run, error) {
	return k.daemon.CancelRun(ctx, k.actor, run)
}

func (k *storedRuns) Sessions(ctx context.Context) (wire.SessionList, error) {
	return k.daemon.ListSessions(ctx, k.actor)
}

// DropSession deletes a session of runs that this user started in the folder.
func (k *storedRuns) DropSession(ctx context.Context, name string) error {
	return k.daemon.DropSession(ctx, k.actor, runActor().Name, name)
}

func (k *storedRuns) Lockdown(context.Context) (wire.Lockdown, error) { return k.lock.Show(0), nil }

func (k *storedRuns) SetLockdown(ctx context.Context, o wire.LockdownOrder) (wire.Lockdown, error) {
	return k.lock.Set(ctx, k.actor.Name, o)
}

// AcceptTime accepts the clock after it was ahead.
func (k *storedRuns) AcceptTime(ctx context.Context, o wire.ClockOrder) (wire.Clock, error) {
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

// Archive moves the oldest part of the audit log to a folder.
func (k *storedRuns) Archive(ctx context.Context, to string, o wire.ArchiveOrder) (wire.Archived, error) {
	return daemon.ArchiveLog(ctx, k.recorder, to, k.actor.Name, o)
}

// Refused returns exit 1, or 2 for an invalid request.
func (k *storedRuns) Refused(err error) error {
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) {
		return cli.Failed(cli.Misused, err)
	}
	return cli.Failed(cli.Refused, err)
}
