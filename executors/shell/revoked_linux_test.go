package shell_test

import (
	"context"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// A push that takes a program away while a script runs ends the script, refused:
// its guest could still start what it was made with.
func TestRevoked(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	a := agent("sleep", "ls")
	d := &daemon{agent: a}
	d.answer = func(ctx context.Context, q executors.Question) (executors.Answer, error) {
		commit, err := ring.Prepare(ctx, &profiles.Set{Revision: "sha256:2",
			Agents: map[string]profiles.Agent{a.Name: *agent("ls")}})
		if err != nil {
			return executors.Answer{}, err
		}
		commit()
		return d.decide(q)
	}
	o, err := e.Run(t.Context(), run(a, "echo begun; sleep 100; echo no"), d)
	if err != nil {
		t.Fatal(err)
	}
	if o.State != executors.StateDenied || o.ExitCode != 126 || o.Error == nil || o.Error.Name != "CapabilityRevoked" ||
		printed(o, "stdout") != "begun\n" {
		t.Errorf("got %s, %+v", brief(o), o.Error)
	}
}
