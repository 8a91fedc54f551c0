package api_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/api/apitest"
	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	internalconfig "github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// place is a configuration with one port and one token, and the stack behind it.
func place(t *testing.T) (api.ListenersConfig, *apitest.Authority, *daemontest.Stack, string) {
	t.Helper()
	dir, secret, ca, s := t.TempDir(), apitest.Secret(), apitest.New(t), daemontest.New(t, daemontest.Config{})
	files := ca.Write(t, dir, "server")
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return api.ListenersConfig{
		File: internalconfig.File{
			Socket: filepath.Join(dir, "s", "ringd.sock"),
			Listen: []internalconfig.Listener{
				{TCP: "127.0.0.1:0", TLS: internalconfig.TLS{Cert: files.Cert, Key: files.Key}}},
			Tokens: []internalconfig.Token{{Name: "ci", File: token, Roles: []string{"viewer"}}},
		},
		UID: uint32(os.Getuid()), Daemon: s.Daemon, Recorder: s.Recorder, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler),
	}, ca, s, secret
}

func TestListeners(t *testing.T) {
	cfg, ca, s, secret := place(t)
	d, err := api.NewListeners(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Open(t.Context())
	address := d.Ports()[0].String()
	status := func(token string) error {
		c, err := client.New(client.Config{URL: "https://" + address, Token: token,
			TLS: &tls.Config{RootCAs: ca.Pool()}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Status(t.Context())
		return err
	}
	if err := status(secret); err != nil {
		t.Error(err)
	}
	wrong := apitest.Secret()
	if err := status(wrong); client.Code(err) != wire.CodeUnauthorized {
		t.Errorf("a wrong token: %v", err)
	}
	got := s.Records(t, audit.RequestRefused)
	if len(got) != 1 || got[0].Detail["from"] != "127.0.0.1" || got[0].Detail["why"] != "no such token" {
		t.Errorf("on record: %+v", got)
	}
	if strings.Contains(s.Logged.String(), wrong) || strings.Contains(s.Logged.String(), secret) {
		t.Error("a secret is in the log")
	}
	if err := d.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the port is open after the end")
	}
}

func TestListenersAreRefusedWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(c *api.ListenersConfig)
		want  string
	}{
		"token that others read":  {func(c *api.ListenersConfig) { os.Chmod(c.File.Tokens[0].File, 0o644) }, "can be read by others"},
		"token that is a word":    {func(c *api.ListenersConfig) { os.WriteFile(c.File.Tokens[0].File, []byte("secret"), 0o600) }, "token ci: the secret"},
		"token that is not there": {func(c *api.ListenersConfig) { c.File.Tokens[0].File += "x" }, "token ci: "},
		"token of no credential": {func(c *api.ListenersConfig) {
			c.File.Tokens[0] = internalconfig.Token{Name: "ci", Credential: "ci", Roles: []string{"viewer"}}
		}, "LoadCredential="},
		"one secret twice": {func(c *api.ListenersConfig) {
			c.File.Tokens = append(c.File.Tokens, internalconfig.Token{
				Name: "ann", File: c.File.Tokens[0].File, Roles: []string{"approver"}})
		}, "have the same secret"},
		"key that others read": {func(c *api.ListenersConfig) { os.Chmod(c.File.Listen[0].TLS.Key, 0o644) }, "can be read by others"},
		"second port": {func(c *api.ListenersConfig) {
			c.File.Listen = append(c.File.Listen, internalconfig.Listener{TCP: "nowhere"})
		}, "want IP:PORT"},
		"the socket": {func(c *api.ListenersConfig) { c.File.Socket = strings.Repeat("/x", 100) }, "choose a shorter one"},
	} {
		cfg, _, _, _ := place(t)
		free, err := net.Listen("tcp", "127.0.0.1:0") // a port of ours, to see that it is left
		if err != nil {
			t.Fatal(err)
		}
		cfg.File.Listen[0].TCP = free.Addr().String()
		free.Close()
		tc.spoil(&cfg)
		if _, err := api.NewListeners(cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if c, err := net.Dial("tcp", cfg.File.Listen[0].TCP); err == nil {
			c.Close()
			t.Errorf("%s: a port stays open", name)
		}
		if c, err := net.Dial("unix", cfg.File.Socket); err == nil {
			c.Close()
			t.Errorf("%s: the socket stays open", name)
		}
	}
}

// A log that cannot be written lets nobody in.
func TestRefusedWithoutALog(t *testing.T) {
	cfg, ca, _, _ := place(t)
	cfg.Recorder = broken{}
	d, err := api.NewListeners(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Open(t.Context())
	defer d.Close(context.WithoutCancel(t.Context()))
	c, err := client.New(client.Config{URL: "https://" + d.Ports()[0].String(), Token: apitest.Secret(),
		TLS: &tls.Config{RootCAs: ca.Pool()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); client.Code(err) != wire.CodeUnauthorized {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Append(context.Context, audit.Record, audit.Durability) (audit.Head, error) {
	return audit.Head{}, records.ErrUnavailable
}
