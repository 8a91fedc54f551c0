package interpreter_test

import (
	"testing"

	"github.com/ringd/ringd/rings/interpreter"
)

// An executor can be closed before anything is in force, and a host that cannot run it says
// so from the start.
func TestCloseExecutorBeforeTheFirstCommit(t *testing.T) {
	w := newWorld(t)
	w.ring.CloseExecutor("js", "no engine")
	w.ring.CloseExecutor("js", "still none")
	for _, st := range w.ring.Status() {
		want := interpreter.ExecutorStatus{Name: "js", State: "closed", Reason: "still none"}
		if st.Name == "js" && st != want {
			t.Errorf("got %+v, want %+v", st, want)
		}
	}
	w.apply(set("a", bridge("b")))
	for _, st := range w.ring.Status() {
		if st.State != "ready" {
			t.Errorf("after a commit: %+v", st)
		}
	}
}
