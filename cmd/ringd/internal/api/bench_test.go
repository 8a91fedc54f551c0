package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// BenchmarkRunThroughTheSocket is the warm path without its guest: client,
// socket, API, daemon, audit log and store.
func BenchmarkRunThroughTheSocket(b *testing.B) {
	s := daemontest.New(b, daemontest.Config{})
	s.Apply(b, "one log")
	server, err := api.New(api.Config{Daemon: s.Daemon,
		UID: uint32(os.Getuid()), Now: time.Now, Logger: discard()})
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(b.TempDir(), "s")
	l, err := api.Listen(socket, "")
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.WithoutCancel(b.Context())
	server.Start(ctx, l)
	b.Cleanup(func() {
		if err := server.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	c, err := client.New(client.Config{Socket: socket})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	for b.Loop() {
		r, err := c.Run(b.Context(), wire.RunRequest{Executor: "js", Program: wire.Program{Source: "1+1"}})
		if err != nil || r.State != "done" {
			b.Fatal(r.State, err)
		}
	}
}
