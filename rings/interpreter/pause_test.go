package interpreter_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// A run pauses where it waits, its guest is gone, and another ring goes on: what came before
// is not repeated, and numbers go on.
func TestPauseAndResumeElsewhere(t *testing.T) {
	policy := set("a", bridge("ask"), bridge("act", external, approval()), bridge("free"))
	one := newStage(t)
	one.apply(policy)
	p := one.pausedRun(waves(
		[]executors.Question{question("c1", "free", `[1]`), {Bridge: "print", Args: []byte(`"before"`)}},
		[]executors.Question{question("c2", "ask", `[{"q":1}]`), question("c3", "act", `[{"to":"x"}]`)},
		[]executors.Question{question("c4", "free", `[2]`), {Bridge: "print", Args: []byte(`"after"`)}},
	))
	if _, live := one.ring.Run("r1"); live || one.echo.count() != 1 {
		t.Errorf("live %v, %d acts", live, one.echo.count())
	}
	v := one.keeper.views["r1"]
	waits := map[string]contract.Pending{}
	for _, q := range v.Pending {
		waits[q.ID] = q
	}
	if c2, c3 := waits["c2"], waits["c3"]; len(waits) != 2 || c2.For != "harness" || c3.For != "approver" ||
		c3.Count != 1 || c3.Expires.IsZero() || v.State != executors.StatePaused {
		t.Errorf("pending %+v", v.Pending)
	}
	if k := pick(one.audit.kinds("r1"), "run_"); !slices.Equal(
		k, []string{"run_started:running", "run_paused:paused+synced"}) {
		t.Errorf("records %v", k)
	}
	two := newStage(t)
	two.apply(policy)
	w := two.resume(p, value("c2", `{"a":2}`), approve("c3"))
	if w.State != executors.StateDone || two.echo.count() != 2 {
		t.Fatalf("%s %+v, %d acts", w.State, w.Error, two.echo.count())
	}
	if string(two.got("r1", "c2").Value) != `{"a":2}` || string(two.got("r1", "c3").Value) != `{"to":"x"}` {
		t.Errorf("answers %+v", two.pauser.ended["r1"].Got)
	}
	var texts []string
	for _, e := range w.Console {
		texts = append(texts, e.Text)
	}
	if diff := cmp.Diff([]string{`"before"`, `"after"`}, texts); diff != "" || w.Console[1].Seq != 2 {
		t.Error(diff, w.Console)
	}
	if w.Usage.Calls["free"] != 2 || w.Usage.CPU != 2000 || w.Usage.Wall != 4000 || !w.Started.Equal(v.Started) {
		t.Errorf("usage %+v", w.Usage)
	}
	if diff := cmp.Diff([]string{"execute c3", "close c3 done {\"to\":\"x\"}"},
		only(two.log.entries(), "c3")); diff != "" {
		t.Error(diff)
	}
	if two.echo.calls[0].Key != "key-r1-c3" {
		t.Errorf("key %q", two.echo.calls[0].Key)
	}
	for _, label := range []string{"snapshot_taken", "pause_recorded", "pause_kept", "call_recorded", "call_open"} {
		if _, ok := one.points.Load(label); !ok {
			t.Errorf("point %s was not told", label)
		}
	}
	for _, label := range []string{"resume_recorded", "executing_kept", "acted", "result_kept", "end_recorded"} {
		if _, ok := two.points.Load(label); !ok {
			t.Errorf("point %s was not told", label)
		}
	}
}

// pick returns the records of these kinds.
func pick(list []string, kinds ...string) (out []string) {
	for _, s := range list {
		for _, k := range kinds {
			if len(s) >= len(k) && s[:len(k)] == k {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// only returns the lines about a call.
func only(list []string, call string) (out []string) {
	for _, s := range list {
		for i := range s {
			if len(s) >= i+len(call) && s[i:i+len(call)] == call {
				out = append(out, s)
				break
			}
		}
	}
	return out
}
