package daemon_test

import (
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// BenchmarkStartRun is a whole run with a guest that costs nothing: what the
// daemon, the log and the store take of the warm path.
func BenchmarkStartRun(b *testing.B) {
	s := daemontest.New(b, daemontest.Config{})
	s.Apply(b, "one log")
	for b.Loop() {
		r, err := s.Daemon.StartRun(b.Context(), daemontest.Me(), request("1+1", wire.MaxWaitMillis))
		if err != nil || r.State != "done" {
			b.Fatal(r.State, err)
		}
	}
}
