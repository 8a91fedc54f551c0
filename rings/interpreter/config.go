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

// Config is what a Ring is made of. New copies the maps.
type Config struct {
	// Executors by name. A run on any other executor is refused as unavailable. The ring
	// closes them in Close.
	Executors map[string]executors.Executor
	// Tier returns the isolation that an executor gives on this host. It may wait for the
	// first guest. An empty tier satisfies no policy that asks for one; a nil Tier always
	// returns it.
	Tier func(ctx context.Context, executor string) profiles.Tier
	// Lacks returns, after Tier, why this host gives no more isolation and what would help.
	// Both may be empty; Lacks may be nil.
	Lacks func() (reason, remedy string)
	// Providers perform bridges, by the name of the bridge. Those that are a contract.Ender
	// have a callback for the ends of runs.
	Providers map[string]contract.Provider
	// Default performs the bridges that Providers does not name. If it is nil, their calls
	// are refused.
	Default contract.Provider
	// Audit and Journal are required.
	Audit   contract.Auditor
	Journal contract.Journal
	// Pacer makes calls wait that write much to disk. If it is nil, none waits.
	Pacer contract.Pacer
	// Keeper keeps pauses and sessions. If it is nil, a run that would pause ends, and there
	// are no sessions.
	Keeper contract.Keeper
	// Pausing is how many runs are stopped and kept at once, which limits the memory that
	// this takes. The others go on waiting, in order, and their wall time goes on too. 0
	// means 4.
	Pausing int
	// Conditions evaluates the conditions of approvals and the guardrails on calls. If it is
	// nil, every condition asks, and every guardrail refuses.
	Conditions contract.Conditions
	// Point is called at every step after which a crash may leave something half done. It is
	// for tests of crashes, and may be nil.
	Point func(label string)
	// Places are the folders that $WORKSPACE and ~ stand for in a policy, where it decides
	// the files that a script opens. The zero Places grant nothing there.
	Places binding.Places
	// Go starts a goroutine that its owner waits for. Required.
	Go func(func())
	// Now and Random are required.
	Now    func() time.Time
	Random io.Reader
	// Generation returns the number of the generation that is being prepared; Prepare calls
	// it. If it is nil, generations are counted from 1.
	Generation func() int64
	// Narrowed is called if live runs may reach less than before without a commit: hosts
	// were taken from one, or an executor was closed. It must not call Close of the ring.
	// May be nil.
	Narrowed func()
	// CheckValue checks a value of a provider or of an answer against the tagged encoding.
	// Its size, depth and JSON are checked before. If it is nil, every value that uses the
	// marker of the encoding is refused.
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

// refuseMarked is CheckValue if Config has none.
func refuseMarked(v json.RawMessage) error {
	s, err := jsonvalue.Scan(v)
	if err == nil && s.Marked {
		err = errors.New("a tagged value, which this host cannot check")
	}
	return err
}
