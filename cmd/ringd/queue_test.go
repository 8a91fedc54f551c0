//go:build linux

package main // for TestMain, which makes this binary ringd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/schema/wire"
)

const queuePolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "team:x@y"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges:
    - {name: ask, powers: {sensitive: false, untrusted: false, external: false}, limits: {concurrent: %d}}
`

// A harness that answers the calls of one wave sees four of them at a time, in order. The daemon is killed in the
// middle, and a push lowers four to two. Each call has its answer, and none is refused.
func TestQueueOverKills(t *testing.T) {
	const calls = 60
	h := waitHost(t, "")
	h.write("sync/p.yaml", fmt.Sprintf(queuePolicy, 4))
	h.start("", 0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := h.client.Run(ctx, wire.RunRequest{Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js",
		Source: fmt.Sprintf(`(await Promise.all(Array.from({length: %d}, (_, i) => ask(i)))).join()`, calls)}})
	h.must(err)
	next, want := 1, 4
	for rounds := 0; run.State == "paused"; rounds++ {
		var answers []wire.Answer
		if left := calls - next + 1 - len(run.Pending); run.Queued != int64(left) {
			t.Fatalf("%d calls are queued, not %d", run.Queued, left)
		}
		for _, p := range run.Pending {
			if p.ID != fmt.Sprintf("c%d", next) || len(run.Pending) > want {
				t.Fatalf("%d calls are pending, with %s as call %d", len(run.Pending), p.ID, next)
			}
			answers = append(answers, wire.Answer{Call: p.ID, Value: json.RawMessage(fmt.Sprint(next * 10))})
			next++
		}
		switch rounds {
		case 3:
			h.revive()
		case 6:
			h.write("sync/p.yaml", fmt.Sprintf(queuePolicy, 2))
			until(t, func() bool {
				now, err := h.client.Status(ctx)
				h.must(err)
				return now.Generation >= 2
			})
			want = 2 // the turns of the next ones come under the new policy
		}
		run, err = h.client.Answer(ctx, run.ID, answers...)
		h.must(err)
		if run.State == "running" {
			run, err = h.client.Wait(ctx, run.ID)
			h.must(err)
		}
	}
	var got string
	h.must(json.Unmarshal(run.Value, &got))
	var list []string
	for i := range calls {
		list = append(list, fmt.Sprint((i+1)*10))
	}
	if run.State != "done" || got != strings.Join(list, ",") || len(run.Denials) > 0 {
		t.Fatalf("%s %+v %s", run.State, run.Error, run.Value)
	}
}

// Calls with large arguments wait like others: the run is paused, and its harness sees those that have their places.
func TestLargeCallsWait(t *testing.T) {
	h := waitHost(t, "")
	h.write("sync/p.yaml", fmt.Sprintf(queuePolicy, 2))
	h.start("", 0)
	run, err := h.client.Run(t.Context(), wire.RunRequest{Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js",
		Source: `(await Promise.all(Array.from({length: 10}, () => ask("x".repeat(500000))))).join()`}})
	h.must(err)
	if len(run.Pending) != 2 || run.Queued != 8 {
		t.Errorf("%d calls are pending, and %d wait", len(run.Pending), run.Queued)
	}
}
