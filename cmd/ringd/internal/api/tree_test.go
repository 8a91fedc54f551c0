package api_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

func dial(t *testing.T, f *fixture) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Socket: f.socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// subagent is a request for a run on behalf of a call.
func subagent(source string, c contract.Call) wire.RunRequest {
	return wire.RunRequest{Executor: "js", Program: wire.Program{Source: source},
		Parent: &wire.Parent{Run: c.Run, Call: c.ID}}
}

// Every run calls the bridge twice, and every call starts one more run through
// the API: depth and total hold over the whole tree.
func TestSubagentTree(t *testing.T) {
	for _, test := range []struct {
		name, bridge string
		want         int64
	}{
		{"depth", "act/1/2/1000", 2 + 4},
		{"total", "act/1/50/5", 5},
		{"no subagents", "act/0/0/0", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c *client.Client
			var started atomic.Int64
			f := serve(t, options{roles: mine("harness"), stack: daemontest.Config{Acted: func(call contract.Call) {
				if _, err := c.Run(t.Context(), subagent("wave act act", call)); err == nil {
					started.Add(1)
				}
			}}})
			c = dial(t, f)
			f.Apply(t, "one "+test.bridge)
			if _, err := c.Run(t.Context(), wire.RunRequest{
				Executor: "js", Program: wire.Program{Source: "wave act act"}}); err != nil {
				t.Fatal(err)
			}
			if started.Load() != test.want {
				t.Errorf("%d subagents, want %d", started.Load(), test.want)
			}
		})
	}
}

// One call may start so many subagents and no more, only while it is open, and
// they end with it.
func TestSubagentsEndWithTheirCall(t *testing.T) {
	calls, release := make(chan contract.Call), make(chan struct{})
	f := serve(t, options{roles: mine("harness"), stack: daemontest.Config{Acted: func(call contract.Call) {
		calls <- call
		<-release
	}}})
	c := dial(t, f)
	f.Apply(t, "one act/1/3/10 ask/0/0/0")
	parent, err := c.StartRun(t.Context(), wire.RunRequest{Executor: "js",
		Program: wire.Program{Source: "wave act ask"}})
	if err != nil {
		t.Fatal(err)
	}
	call := <-calls
	child, err := c.StartRun(t.Context(), subagent("spin", call))
	if err != nil || child.State != wire.StateRunning {
		t.Fatalf("child: %+v, %v", child, err)
	}
	refused := func(name, code string, p contract.Call) {
		t.Helper()
		run, err := c.StartRun(t.Context(), subagent("spin", p))
		if got := client.Code(err); got != code {
			t.Errorf("%s: %q (%+v), want %q", name, got, run, code)
		}
	}
	refused("a second of a call for one", wire.CodeParentUnfit, call)
	refused("no such call", wire.CodeParentUnfit, contract.Call{Run: parent.ID, ID: "c9"})
	refused("a bridge that starts none", wire.CodeParentUnfit, contract.Call{Run: parent.ID, ID: "c2"})
	refused("no such run", wire.CodeNotFound, contract.Call{Run: "r2", ID: "c1"})
	refused("no call", wire.CodeRequestInvalid, contract.Call{Run: parent.ID})
	refused("no run", wire.CodeRequestInvalid, contract.Call{ID: "c1"})
	close(release)
	if got, err := c.Wait(t.Context(), child.ID); err != nil || got.State != "cancelled" {
		t.Errorf("the child of a call that has ended: %+v, %v", got, err)
	}
	refused("a call that has ended", wire.CodeParentUnfit, call)
	if _, err := c.Cancel(t.Context(), parent.ID); err != nil {
		t.Fatal(err)
	}
	refused("a run that has ended", wire.CodeRunEnded, call)
}

// A push that takes subagents away counts for a call that is open already.
func TestSubagentUnderTheGenerationInForce(t *testing.T) {
	for _, test := range []struct{ name, push, code string }{
		{"the bridge is gone", "two log", string(profiles.CodeBridgeRevoked)},
		{"less depth", "two act/1/0/10", string(profiles.CodeBridgeDepth)},
		{"fewer of a call", "two act/0/1/10", wire.CodeParentUnfit},
		{"fewer in all", "two act/1/1/0", wire.CodeParentUnfit},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, release := make(chan contract.Call), make(chan struct{})
			f := serve(t, options{roles: mine("harness"), stack: daemontest.Config{Acted: func(call contract.Call) {
				calls <- call
				<-release
			}}})
			c := dial(t, f)
			f.Apply(t, "one act/1/1/10")
			free := sync.OnceFunc(func() { close(release) })
			defer free()
			if _, err := c.StartRun(t.Context(), wire.RunRequest{
				Executor: "js", Program: wire.Program{Source: "call act"}}); err != nil {
				t.Fatal(err)
			}
			call := <-calls
			f.Apply(t, test.push)
			if run, err := c.StartRun(t.Context(), subagent("spin", call)); client.Code(err) != test.code {
				t.Errorf("%+v, %v; want %s", run, err, test.code)
			}
			free()
		})
	}
}

// A harness starts no subagents of the runs of others: they do not exist for it.
func TestSubagentOfAnotherActor(t *testing.T) {
	calls, release := make(chan contract.Call), make(chan struct{})
	f := serve(t, options{roles: api.Roles{Harness: []string{"uid:" + strconv.Itoa(os.Getuid())}},
		stack: daemontest.Config{Acted: func(call contract.Call) {
			calls <- call
			<-release
		}}})
	f.Apply(t, "one act/1/1/10")
	if _, err := f.Daemon.StartRun(t.Context(), daemon.Actor{Name: "uid:4242"},
		wire.RunRequest{Executor: "js", Program: wire.Program{Source: "call act"}}); err != nil {
		t.Fatal(err)
	}
	call := <-calls
	got := f.ask("POST", "/v1/runs",
		fmt.Sprintf(`{"executor":"js","program":{"source":"1+1"},"parent":{"run":%q,"call":%q}}`, call.Run, call.ID))
	if got.status != 404 || got.code() != wire.CodeNotFound {
		t.Errorf("the run of another: %d %s", got.status, got.body)
	}
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.Daemon.Drain(ctx); err != nil {
		t.Error(err)
	}
}
