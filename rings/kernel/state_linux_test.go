package kernel // the findings of a ring are not exported

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

func TestState(t *testing.T) {
	behindOne := map[*guest]struct{}{{agent: "a", executor: "shell", wider: true}: {}}
	served := &guest{agent: "a", executor: "shell", wider: true}
	served.Serve("r1")
	missing := &finding{kind: initproto.KindMissing, report: initproto.Report{
		Failed: "landlock", Kind: initproto.KindMissing, Reason: "no Landlock", Remedy: "use Linux 6.12"}}
	lies := &finding{kind: initproto.KindLies, report: initproto.Report{
		Failed: "seccomp", Kind: initproto.KindLies, Reason: "it did not"}}
	for _, tt := range []struct {
		name  string
		ring  *Ring
		state string
		want  []string
	}{
		{"nobody has looked", &Ring{}, "ready", nil},
		{"all layers", &Ring{found: &finding{}}, "ready", nil},
		{"a layer is missing", &Ring{found: missing}, "plain", []string{"layer landlock: no Landlock; use Linux 6.12"}},
		{"a layer is missing, and a guest is behind", &Ring{found: missing, live: behindOne}, "plain", nil},
		{"a lie", &Ring{found: lies}, "closed", []string{"layer seccomp: it did not"}},
		{"behind", &Ring{found: &finding{}, live: map[*guest]struct{}{served: {}, {agent: "b"}: {}}}, "restart_needed", []string{"shell of a (run r1)"}},
		{"closed", &Ring{closed: true, found: &finding{}}, "closed", []string{"closed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state, reason := tt.ring.State()
			if state != tt.state || (tt.state == "ready") != (reason == "") {
				t.Errorf("%s %q", state, reason)
			}
			for _, w := range tt.want {
				if !strings.Contains(reason, w) {
					t.Errorf("%q lacks %q", reason, w)
				}
			}
		})
	}
}

func TestBehindIsBounded(t *testing.T) {
	var all []Live
	for i := range 100 {
		all = append(all, Live{Agent: strings.Repeat("a", i+1), Executor: "shell", Restart: true},
			Live{Agent: "fine", Executor: "js"})
	}
	got := namesOfRestart(all)
	if len(got) != maxNamed+1 || got[maxNamed] != "92 more" || strings.Contains(strings.Join(got, " "), "fine") {
		t.Errorf("%q", got)
	}
}
