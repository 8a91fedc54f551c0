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
	// Executors maps names to executors. A run on any other executor is refused as
	// unavailable. Close of the ring closes the executors.
	Executors map[string]executors.Executor
	// Tier returns the isolation that an executor gives on this host. It may wait for the
	// first guest. An empty tier satisfies no policy that asks for a tier. A nil Tier is the
	// same as one that returns the empty tier.
	Tier func(ctx context.Context, executor string) profiles.Tier
	// Lacks is called after Tier. It returns why this host gives no stronger isolation, and
	// what would help. Both results may be empty, and Lacks may be nil.
	Lacks func() (reason, remedy string)
	// Providers maps the name of a bridge to its provider. A provider that is a
	// contract.Ender is called when a run ends.
	Providers map[string]contract.Provider
	// Default performs the bridges that Providers does not name. If it is nil, their calls
	// are refused.
	Default contract.Provider
	// Audit and Journal are required.
	Audit   contract.Auditor
	Journal contract.Journal
	// Pacer delays calls that write much to disk. If Pacer is nil, no call is delayed.
	Pacer contract.Pacer
	// Keeper keeps pauses and sessions. If it is nil, a run that would pause ends, and there
	// are no sessions.
	Keeper contract.Keeper
	// Pausing is how many runs may be stopped and saved at the same time, which limits the
	// memory for snapshots. The other runs that want to pause wait for their turn, and their
	// wall time goes on. 0 means 4.
	Pausing int
	// Conditions evaluates the conditions of approvals and the guardrails on calls. If it is
	// nil, every call with a condition needs its approval, and every guardrail denies.
	Conditions contract.Conditions
	// Point is called at every step after which a crash may leave something half done. It is
	// for tests of crashes, and may be nil.
	Point func(label string)
	// Places are the folders that replace $WORKSPACE and ~ in a policy when the ring decides
	// about files that a script opens. With the zero Places such a grant grants nothing.
	Places binding.Places
	// Go starts a goroutine that its owner waits for. Required.
	Go func(func())
	// Now and Random are required.
	Now    func() time.Time
	Random io.Reader
	// Generation returns the number of the generation that is being prepared; Prepare calls
	// it. If it is nil, generations are counted from 1.
	Generation func() int64
	// Narrowed is called when live runs may reach less than before although no set was
	// committed: hosts were revoked from a run, or an executor was closed. Narrowed must not
	// call Close of the ring. It may be nil.
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
