package commands

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
)

// trustRoots reads the keys that a configuration trusts. It returns nil if there are none.
func trustRoots(t *config.Trust) (*trust.Roots, error) {
	if t == nil {
		return nil, nil
	}
	roles := map[string]trust.Named{}
	for name, r := range t.Roles {
		roles[name] = trust.Named{Keys: r.Keys, Threshold: r.Threshold}
	}
	roots, err := trust.ParseRoots(roles)
	if err != nil {
		return nil, err
	}
	lift := 0
	if t.Lift != nil {
		lift = t.Lift.Threshold
	}
	return roots.For(t.Audience, lift)
}

// TrustLimits returns the limits of a sync folder. With trust roots it holds one file, and perhaps a lockdown
// order beside it, which has its own syncer.
func TrustLimits(t *config.Trust) syncer.Limits {
	if t == nil {
		return syncer.Limits{}
	}
	return syncer.Limits{
		Only:       trust.FileName,
		Beside:     trust.LockdownFile,
		FileBytes:  trust.MaxEnvelope,
		TotalBytes: trust.MaxEnvelope,
	}
}

// TrustGate returns the verifier of pushes. Its state is in the file at path. guardrails: see trust.Config.
// Without trust roots it returns nil, and sources are compiled.
func TrustGate(
	t *config.Trust,
	path string,
	guardrails func(context.Context, *trust.Push, *profiles.Set) error,
) (*trust.Gate, error) {
	roots, err := trustRoots(t)
	if roots == nil || err != nil {
		return nil, err
	}
	ledger, err := trust.OpenLedger(path)
	if err != nil {
		return nil, err
	}
	return trust.NewGate(trust.Config{Roots: roots, Ledger: ledger, InOrder: t.InOrder, Guardrails: guardrails})
}
