package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/packages"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// pythonLook looks at what the agents of a set find on this host, and tries it.
func (p *program) pythonLook(interpreter string) hostLook {
	return func(ctx context.Context, set *profiles.Set) (found schema.Diagnostics, err error) {
		state, remove, err := p.privateState("")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		s, err := p.newStack(ctx, stackConfig{
			group: &daemon.Group{}, state: state, private: []string{state}, compiler: p.compiler(), still: true, ownKey: true,
			quota: daemon.Quota{PerActor: 1, Total: 1}, logger: slog.New(slog.DiscardHandler), pool: poolConfig{once: true}, interpreter: interpreter,
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
			a := set.Agents[name]
			if a.Python != nil && a.Python.Engine == profiles.PythonNative {
				found = append(found, packages.Look(ctx, s.environments, s.probe, &a)...)
			}
		}
		return found, nil
	}
}
