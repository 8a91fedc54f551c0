package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles"
)

// signing returns the configuration of the commands about signed pushes.
func (p policyVerbs) signing() commands.SigningConfig {
	return commands.SigningConfig{
		Program:    p.Program,
		Now:        time.Now,
		Random:     rand.Reader,
		Compile:    p.policies().Compiled,
		Guardrails: p.checkOnTop,
		Sleep: func(ctx context.Context, d time.Duration) {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
			}
		},
	}
}

// checkOnTop checks a set that is to be signed against its guardrails, with the previous set.
func (p policyVerbs) checkOnTop(ctx context.Context, set, previous *profiles.Set) error {
	found, err := worker.CheckGuardrails(
		ctx,
		p.compiler().cfg,
		worker.CheckRequest{Set: set, Previous: previous, Now: time.Now(), Target: guardrail.TargetSources},
	)
	if err != nil {
		return err
	}
	return commands.RefusePolicy(p.Program, "", found)
}

// guardrails checks a signed set against its guardrails again, on this host and at this time.
func (p policyVerbs) guardrails(ctx context.Context, signed *trust.Push, previous *profiles.Set) error {
	found, err := p.compiler().Check(ctx, signed.Policy, previous)
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.Code == worker.CodeBusy {
			return errors.New(d.Msg)
		}
	}
	if found.Refused() {
		first := found.Sort()[0]
		return &trust.Refusal{
			Code:   trust.CodeGuardrail,
			Reason: first.Pos.String() + ": " + first.Code + ": " + first.Msg,
		}
	}
	return nil
}

// lockdownBegun reports whether the last record about lockdowns in the log in dir, including its archived
// part, is a start.
func lockdownBegun(ctx context.Context, dir string) (begun bool, err error) {
	archived, err := audit.ReadArchived(dir, nil) // Open has verified it with the host's key
	if err != nil {
		return false, err
	}
	begun = archived.Kinds[audit.LockdownBegun] > archived.Kinds[audit.LockdownLifted]
	both := audit.Filter{Kinds: []audit.Kind{audit.LockdownBegun, audit.LockdownLifted}}
	for e, err := range audit.Query(ctx, dir, both) {
		if err != nil {
			return false, err
		}
		begun = e.Record.Kind == audit.LockdownBegun
	}
	return begun, nil
}
