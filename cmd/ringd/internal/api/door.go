// This file opens the API to callers: the Unix socket, and the TCP ports that
// the configuration names. Callers can connect before it is open, and are
// answered once it is.
//
// It refuses a configuration whose secrets or certificates do not hold, and joins
// what package api leaves to its owner: tokens are read, and refused ones are
// written to the audit log. cmd/ringd calls it.

package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
)

// listenersRecorder writes the audit log; *records.Recorder does.
type listenersRecorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// ListenersConfig is what a Door needs; all of it is required, but Metrics.
type ListenersConfig struct {
	File     config.File
	Env      config.Environment
	UID      uint32 // the daemon's own
	Daemon   *daemon.Daemon
	Lockdown *lockdown.Lock
	Recorder listenersRecorder
	Metrics  *metrics.Metrics
	Now      func() time.Time
	Logger   *slog.Logger
}

// Listeners is the API with its listeners. Its owner calls Close.
type Listeners struct {
	server *Server
	socket net.Listener
	ports  []*Port
	open   bool
}

// NewListeners listens everywhere, or nowhere.
func NewListeners(cfg ListenersConfig) (_ *Listeners, err error) {
	callers, err := callers(cfg.File.Tokens, cfg.Env)
	if err != nil {
		return nil, err
	}
	r := cfg.File.Roles
	d := &Listeners{}
	d.server, err = New(Config{
		Runs: cfg.Daemon, Views: cfg.Daemon, Waiting: cfg.Daemon, Sessions: cfg.Daemon, Lockdown: cfg.Lockdown,
		AcceptTime: cfg.Daemon.AcceptTime,
		Archive:    cfg.Daemon.Archive,
		Roles:      Roles{Harness: r.Harness, Approver: r.Approver, Operator: r.Operator, Viewer: r.Viewer},
		Approvers:  cfg.File.Approvers, UID: cfg.UID, PID: os.Getpid(), Meter: cfg.Metrics, Now: cfg.Now,
		Logger: cfg.Logger,
		Tokens: callers, Refused: cfg.refused,
	})
	if err != nil {
		return nil, err
	}
	for _, l := range cfg.File.Listen {
		p, err := Open(PortConfig{Address: l.TCP, Cert: l.TLS.Cert, Key: l.TLS.Key, ClientCA: l.ClientCA,
			Logger: cfg.Logger})
		if err != nil {
			return nil, errors.Join(err, d.shut())
		}
		d.ports = append(d.ports, p)
	}
	if d.socket, err = Listen(cfg.File.Socket, cfg.File.SocketGroup); err != nil {
		return nil, errors.Join(err, d.shut())
	}
	for _, p := range d.ports {
		cfg.Logger.Info("listening", "tcp", p.Addr().String())
	}
	return d, nil
}

// callers reads the secrets of tokens.
func callers(list []config.Token, env config.Environment) ([]Token, error) {
	var out []Token
	for _, t := range list {
		secret, err := t.Secret().Value(env)
		if err != nil {
			return nil, fmt.Errorf("token %s: %w", t.Name, err)
		}
		until, err := t.Until()
		if err != nil {
			return nil, fmt.Errorf("token %s: %w", t.Name, err)
		}
		c := Token{IssuedToken: IssuedToken{Name: t.Name, Secret: secret, Expires: until}, Owners: t.Owners}
		for _, r := range t.Roles {
			c.Roles = append(c.Roles, Role(r))
		}
		out = append(out, c)
	}
	return out, nil
}

// refused writes down a caller over TCP without a valid token. It is
// refused either way; a log that cannot be written ends all else by itself.
func (c ListenersConfig) refused(ctx context.Context, r Refusal) {
	rec := audit.Record{Kind: audit.RequestRefused, Detail: map[string]string{"from": r.From, "why": r.Why.Error()}}
	if _, err := c.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		c.Logger.Error("a refused token could not be recorded", "from", r.From, "error", err)
	}
}

// Open answers callers. Requests outlive ctx: draining lets them finish.
func (d *Listeners) Open(ctx context.Context) {
	d.open = true
	d.server.Start(context.WithoutCancel(ctx), d.socket, d.ports...)
}

// Lost is closed when a listener of the open API has ended by itself.
func (d *Listeners) Lost() <-chan struct{} { return d.server.Lost() }

// Close ends the API, open or not.
func (d *Listeners) Close(ctx context.Context) error {
	if !d.open {
		return d.shut()
	}
	return d.server.Close(ctx)
}

// shut stops listening, while the API is not open.
func (d *Listeners) shut() error {
	var errs []error
	if d.socket != nil {
		errs = append(errs, d.socket.Close())
	}
	for _, p := range d.ports {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
