// Listeners opens the API to callers: the Unix socket, and the TCP ports of the configuration. Callers can
// connect before Open, and are answered afterwards. A configuration with invalid secrets or certificates is
// refused. cmd/ringd calls it.

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

// recorder writes the audit log; *records.Recorder does.
type recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// ListenersConfig configures Listeners. All fields but Metrics are required.
type ListenersConfig struct {
	File     config.File
	Env      config.Environment
	UID      uint32 // of the daemon
	Daemon   *daemon.Daemon
	Lockdown *lockdown.Lock
	Recorder recorder
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

// NewListeners opens all listeners, or none.
func NewListeners(cfg ListenersConfig) (_ *Listeners, err error) {
	callers, err := readTokens(cfg.File.Tokens, cfg.Env)
	if err != nil {
		return nil, err
	}
	r := cfg.File.Roles
	d := &Listeners{}
	d.server, err = New(Config{
		Daemon: cfg.Daemon, Lockdown: cfg.Lockdown,
		AcceptTime: cfg.Daemon.AcceptTime,
		Archive:    cfg.Daemon.Archive,
		Roles:      Roles{Harness: r.Harness, Approver: r.Approver, Operator: r.Operator, Viewer: r.Viewer},
		Approvers:  cfg.File.Approvers, UID: cfg.UID, PID: os.Getpid(), Meter: cfg.Metrics, Now: cfg.Now,
		Logger: cfg.Logger,
		Tokens: callers, Refused: cfg.recordRefusal,
	})
	if err != nil {
		return nil, err
	}
	for _, l := range cfg.File.Listen {
		p, err := Open(PortConfig{Address: l.TCP, Cert: l.TLS.Cert, Key: l.TLS.Key, ClientCA: l.ClientCA,
			Logger: cfg.Logger})
		if err != nil {
			return nil, errors.Join(err, d.closeListeners())
		}
		d.ports = append(d.ports, p)
	}
	if d.socket, err = Listen(cfg.File.Socket, cfg.File.SocketGroup); err != nil {
		return nil, errors.Join(err, d.closeListeners())
	}
	for _, p := range d.ports {
		cfg.Logger.Info("listening", "tcp", p.Addr().String())
	}
	return d, nil
}

// readTokens reads the secrets of tokens.
func readTokens(list []config.Token, env config.Environment) ([]Token, error) {
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

// recordRefusal records a TCP caller without a valid token. The caller is refused in any case. A log that cannot be
// written stops everything else.
func (c ListenersConfig) recordRefusal(ctx context.Context, r Refusal) {
	rec := audit.Record{Kind: audit.RequestRefused, Detail: map[string]string{"from": r.From, "why": r.Why.Error()}}
	if _, err := c.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		c.Logger.Error("a refused token could not be recorded", "from", r.From, "error", err)
	}
}

// Open starts answering. Requests may outlive ctx, so that they can finish while the daemon drains.
func (d *Listeners) Open(ctx context.Context) {
	d.open = true
	d.server.Start(context.WithoutCancel(ctx), d.socket, d.ports...)
}

// Lost returns a channel that is closed when a listener of the open API fails.
func (d *Listeners) Lost() <-chan struct{} { return d.server.Lost() }

// Close closes the API, whether it is open or not.
func (d *Listeners) Close(ctx context.Context) error {
	if !d.open {
		return d.closeListeners()
	}
	return d.server.Close(ctx)
}

// closeListeners closes the listeners of an API that is not open.
func (d *Listeners) closeListeners() error {
	var errs []error
	if d.socket != nil {
		errs = append(errs, d.socket.Close())
	}
	for _, p := range d.ports {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
