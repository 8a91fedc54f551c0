package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Config is what a Ring is made of. The maps are copied by New.
type Config struct {
	// Executors by name. A run on any other is refused as unavailable. The ring
	// closes them in Close.
	Executors map[string]executors.Executor
	// Tier says which isolation an executor gives on this host; it may wait for the
	// first guest. "" satisfies no policy that asks for a tier; nil is always "".
	Tier func(ctx context.Context, executor string) profiles.Tier
	// Lacks says, after Tier, why this host gives no more and what would help; nil
	// or "": it is not known.
	Lacks func() (reason, remedy string)
	// Providers perform bridges, by the bridge's name. Those that are an Ender are
	// told of the ends of runs.
	Providers map[string]contract.Provider
	// Default performs the bridges that Providers does not name; nil refuses
	// their calls.
	Default contract.Provider
	// Audit and Journal are required.
	Audit   contract.Auditor
	Journal contract.Journal
	// Pacer has calls wait that bring much on disk; nil: none waits.
	Pacer contract.Pacer
	// Keeper keeps pauses and sessions. Nil: a run that would pause ends, and no
	// session can be had.
	Keeper contract.Keeper
	// Pausing is how many runs are written down and kept at once, which bounds the
	// memory that takes; the others go on waiting, in order, and their wall time
	// goes on too. 0 is 4.
	Pausing int
	// Conditions evaluates the conditions of approvals and the guardrails on calls;
	// nil: every condition asks, and every guardrail refuses.
	Conditions contract.Conditions
	// Point is told of every step after which a crash may leave something half
	// done; nil: nobody is. For tests of crashes.
	Point func(label string)
	// Places are what $WORKSPACE and ~ stand for in a policy, where files that a
	// script opens are decided. The zero Places grant nothing there.
	Places binding.Places
	// Go starts a goroutine that its owner waits for. Required.
	Go func(func())
	// Now and Random are required.
	Now    func() time.Time
	Random io.Reader
	// Generation gives the number of the generation that is being prepared; the
	// ring calls it in Prepare. Nil counts from 1.
	Generation func() int64
	// Narrowed is told when live runs may reach less than before and no commit says
	// so: hosts were taken from one, or an executor was closed. It must not call the
	// ring's Close. Nil: nobody is told.
	Narrowed func()
	// CheckValue checks a value of a provider or an answer against the tagged
	// encoding; its size, depth and JSON were checked before. Nil refuses every
	// value that uses the encoding's marker.
	CheckValue func(json.RawMessage) error
}

func (c *Config) check() error {
	switch {
	case c.Audit == nil:
		return errors.New("interpreter config: Audit is missing")
	case c.Journal == nil:
		return errors.New("interpreter config: Journal is missing")
	case c.Go == nil:
		return errors.New("interpreter config: Go is missing")
	case c.Now == nil:
		return errors.New("interpreter config: Now is missing")
	case c.Random == nil:
		return errors.New("interpreter config: Random is missing")
	case c.Pausing < 0:
		return errors.New("interpreter config: Pausing is negative")
	}
	for name, e := range c.Executors {
		if e == nil || e.Name() != name {
			return errors.New("interpreter config: executor " + name + " has another name")
		}
	}
	for name, p := range c.Providers {
		if p == nil {
			return errors.New("interpreter config: provider of " + name + " is nil")
		}
	}
	return nil
}

// refuseMarked is CheckValue when nobody can check.
func refuseMarked(v json.RawMessage) error {
	s, err := jsonvalue.Scan(v)
	if err == nil && s.Marked {
		err = errors.New("a tagged value, which this host cannot check")
	}
	return err
}
