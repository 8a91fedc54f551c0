package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/notify"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// keyring returns the keys that seal and sign rows: the state folder's own key, if it is used, and the
// configured ones.
func keyring(c stackConfig) (*seal.Keyring, error) {
	keys := c.state.keys
	if c.state.ownKey {
		key, err := seal.FileOrNew(cli.Layout(c.state.folder).Seal, rand.Reader)
		if err != nil {
			return nil, stateUnavailable(c.state.folder, "load the key of pauses", err)
		}
		keys = append([]seal.Key{key}, keys...)
	}
	ring, err := seal.New(seal.Config{Keys: keys, Random: rand.Reader})
	if err != nil {
		return nil, stateUnavailable(c.state.folder, "load the keys of pauses", err)
	}
	return ring, nil
}

// newDesk connects the keeper of waiting runs with the desk for approvals.
func (p stackBuilder) newDesk(
	c stackConfig,
	st *store.Store,
	ring *seal.Keyring,
	recorder *records.Recorder,
	journal *records.Journal,
) (*waiting.Keeper, *waiting.Desk, error) {
	keeper, err := waiting.NewKeeper(waiting.KeeperConfig{
		Store: st, Sealer: ring, Gate: journal, Now: time.Now, Quota: c.limits.paused,
		Metrics: c.metrics, PolicyPath: c.policy.path, Point: p.point,
	})
	if err != nil {
		return nil, nil, err
	}
	desk, err := waiting.NewDesk(
		waiting.DeskConfig{
			Store:    st,
			Recorder: recorder,
			Marks:    ring,
			Now:      time.Now,
			Metrics:  c.metrics,
			Point:    p.point,
		},
	)
	return keeper, desk, err
}

// newOutbox returns the outbox of notifications, or nil if nobody is notified.
func newOutbox(c stackConfig, st *store.Store, group *daemon.Group) (*notify.Outbox, error) {
	if c.teller == nil {
		return nil, nil
	}
	return notify.New(notify.Config{
		Store: st, Teller: c.teller, Clock: systemClock{}, Go: group.Go, Logger: c.logger, Metrics: c.metrics,
	})
}

// hasEngine returns a function that reports the engines with guests, and the executor's own engine. Before
// the first guest has reported that, the executor has to try.
func (s *stack) hasEngine(others map[string][]string) func(executor, digest string) (own string, has bool) {
	return func(executor, digest string) (string, bool) {
		switch executor {
		case profiles.ExecutorShell:
			own := s.shell.Digest()
			return own, digest == own
		case profiles.ExecutorPython:
			return "", s.python.HasEngine(digest)
		case profiles.ExecutorJS:
			own := s.js.Digest()
			_, other := others[digest]
			return own, own == "" || own == digest || other
		default:
			return "", true
		}
	}
}

// keys returns the keys of the file: the one that seals, if there is one, and those that only open.
func (p stackBuilder) keys(s config.Snapshots) ([]seal.Key, error) {
	var out []seal.Key
	if s.Key != nil {
		k, err := p.key(*s.Key)
		if err != nil {
			return nil, fmt.Errorf("snapshots.key: %w", err)
		}
		out = append(out, k)
	}
	for i, previous := range s.Previous {
		k, err := p.key(previous)
		if err != nil {
			return nil, fmt.Errorf("snapshots.previous[%d]: %w", i, err)
		}
		out = append(out, k)
	}
	return out, nil
}

func (p stackBuilder) key(s config.Secret) (seal.Key, error) {
	switch {
	case s.File != "":
		return seal.File(s.File)
	case s.Credential != "":
		return seal.Credential(p.Env.Credentials, s.Credential)
	default:
		text, err := s.Value(p.Env)
		if err != nil {
			return seal.Key{}, err
		}
		return seal.Value(text)
	}
}

// teller returns the notifier of all places in the file, or nil.
func (p stackBuilder) teller(list []config.Notification) (notify.Teller, error) {
	var out []notify.Teller
	for i, n := range list {
		t, err := p.tellerOf(n)
		if err != nil {
			return nil, fmt.Errorf("notify[%d]: %w", i, err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return notify.NewAll(out...), nil
}

func (p stackBuilder) tellerOf(n config.Notification) (notify.Teller, error) {
	if n.Webhook == nil {
		return notify.NewCommand(notify.CommandConfig{Argv: n.Command, Path: p.Env.Path, Now: time.Now})
	}
	secret, err := n.Webhook.Secret.Value(p.Env)
	if err != nil {
		return nil, err
	}
	return notify.NewWebhook(notify.WebhookConfig{
		URL: n.Webhook.URL, Secret: secret, Args: n.Webhook.Args,
		Within: orElse(n.Webhook.Within, notify.DefaultWithin), Now: time.Now,
	})
}

// idempotent returns a function that reports whether repeated calls of a bridge with one key act only once.
func idempotent(providers map[string]contract.Provider) func(bridge string) bool {
	return func(bridge string) bool {
		p, ok := providers[bridge].(contract.Idempotent)
		return ok && p.Idempotent() || pause.IsAct(bridge)
	}
}
