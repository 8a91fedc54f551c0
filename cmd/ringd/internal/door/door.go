// Package door opens the API to callers: the Unix socket, and the TCP ports that
// the configuration names. Callers can connect before it is open, and are
// answered once it is.
//
// It refuses a configuration whose secrets or certificates do not hold, and joins
// what package api leaves to its owner: tokens are read, and refused ones are
// written to the audit log. cmd/ringd calls it.
package door

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/api/port"
	"github.com/ringd/ringd/cmd/ringd/internal/api/tokens"
	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
)

// Recorder writes the audit log; *records.Recorder does.
type Recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// Config is what a Door needs; all of it is required, but Metrics.
type Config struct {
	File     config.File
	Env      config.Environment
	UID      uint32 // the daemon's own
	Daemon   *daemon.Daemon
	Lockdown *lockdown.Lock
	Recorder Recorder
	Metrics  *metrics.Metrics
	Now      func() time.Time
	Logger   *slog.Logger
}

// Door is the API with its listeners. Its owner calls Close.
type Door struct {
	server *api.Server
	socket net.Listener
	ports  []*port.Port
	open   bool
}

// New listens everywhere, or nowhere.
func New(cfg Config) (_ *Door, err error) {
	callers, err := callers(cfg.File.Tokens, cfg.Env)
	if err != nil {
		return nil, err
	}
	r := cfg.File.Roles
	d := &Door{}
	d.server, err = api.New(api.Config{
		Runs: cfg.Daemon, Views: cfg.Daemon, Waiting: cfg.Daemon, Sessions: cfg.Daemon, Lockdown: cfg.Lockdown, AcceptTime: cfg.Daemon.AcceptTime,
		Archive:   cfg.Daemon.Archive,
		Roles:     api.Roles{Harness: r.Harness, Approver: r.Approver, Operator: r.Operator, Viewer: r.Viewer},
		Approvers: cfg.File.Approvers, UID: cfg.UID, PID: os.Getpid(), Meter: cfg.Metrics, Now: cfg.Now, Logger: cfg.Logger,
		Tokens: callers, Refused: cfg.refused,
	})
	if err != nil {
		return nil, err
	}
	for _, l := range cfg.File.Listen {
		p, err := port.Open(port.Config{Address: l.TCP, Cert: l.TLS.Cert, Key: l.TLS.Key, ClientCA: l.ClientCA, Logger: cfg.Logger})
		if err != nil {
			return nil, errors.Join(err, d.shut())
		}
		d.ports = append(d.ports, p)
	}
	if d.socket, err = api.Listen(cfg.File.Socket, cfg.File.SocketGroup); err != nil {
		return nil, errors.Join(err, d.shut())
	}
	for _, p := range d.ports {
		cfg.Logger.Info("listening", "tcp", p.Addr().String())
	}
	return d, nil
}

// callers reads the secrets of tokens.
func callers(list []config.Token, env config.Environment) ([]api.Token, error) {
	var out []api.Token
	for _, t := range list {
		secret, err := t.Secret().Value(env)
		if err != nil {
			return nil, fmt.Errorf("token %s: %w", t.Name, err)
		}
		until, err := t.Until()
		if err != nil {
			return nil, fmt.Errorf("token %s: %w", t.Name, err)
		}
		c := api.Token{Token: tokens.Token{Name: t.Name, Secret: secret, Expires: until}, Owners: t.Owners}
		for _, r := range t.Roles {
			c.Roles = append(c.Roles, api.Role(r))
		}
		out = append(out, c)
	}
	return out, nil
}

// refused writes down a caller over TCP without a token that counts. It is
// refused either way; a log that cannot be written ends all else by itself.
func (c Config) refused(ctx context.Context, r api.Refusal) {
	rec := audit.Record{Kind: audit.RequestRefused, Detail: map[string]string{"from": r.From, "why": r.Why.Error()}}
	if _, err := c.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		c.Logger.Error("a refused token is not on record", "from", r.From, "error", err)
	}
}

// Open answers callers. Requests outlive ctx: draining lets them finish.
func (d *Door) Open(ctx context.Context) {
	d.open = true
	d.server.Start(context.WithoutCancel(ctx), d.socket, d.ports...)
}

// Lost is closed when a listener of the open API has ended by itself.
func (d *Door) Lost() <-chan struct{} { return d.server.Lost() }

// Close ends the API, open or not.
func (d *Door) Close(ctx context.Context) error {
	if !d.open {
		return d.shut()
	}
	return d.server.Close(ctx)
}

// shut stops listening, while the API is not open.
func (d *Door) shut() error {
	var errs []error
	if d.socket != nil {
		errs = append(errs, d.socket.Close())
	}
	for _, p := range d.ports {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
