package worker // which limit ended a child is known to postmortem alone

import (
	"testing"
	"time"

	"github.com/ringd/ringd/schema"
)

// TestWhichLimit: a finding about a killed child names the limit that ended it, and
// blames the host where that gave too little time.
func TestWhichLimit(t *testing.T) {
	first := tryLimits{wall: 1800 * time.Millisecond, needs: 900 * time.Millisecond,
		most: cpuLimit(1800 * time.Millisecond), yields: true}
	again := first
	again.spent, again.wall, again.yields = first.wall, 3*first.wall, false
	for _, tt := range []struct {
		name      string
		dead      postmortem
		code, msg string
		end       outcome
	}{
		{"wall time", postmortem{may: first, timedOut: true, usage: Usage{CPU: time.Second}}, CodeTimeout, "the policy does not compile within 1.8s", answered},
		{"starved", postmortem{may: first, timedOut: true, usage: Usage{CPU: time.Millisecond}}, CodeBusy,
			"the host is busy: within 1.8s the compiler got 1ms of processor time", starved},
		{"starved twice", postmortem{may: again, timedOut: true, usage: Usage{CPU: 2 * time.Millisecond}}, CodeBusy,
			"the host is busy: within 5.4s the compiler got 2ms of processor time, and within 1.8s before not enough either", starved},
		{"starved once", postmortem{may: again, timedOut: true, usage: Usage{CPU: 2 * time.Second}}, CodeTimeout,
			"the policy does not compile within 5.4s and 2s of processor time on a busy host", answered},
		{"processor time", postmortem{may: again, usage: Usage{CPU: 5 * time.Second}}, CodeTimeout, "the policy does not compile within 5s of processor time", answered},
		{"processor time that it keeps itself", postmortem{may: first, words: errTime.Error()}, CodeTimeout, "the policy does not compile within 5s of processor time", answered},
		{"memory", postmortem{may: first, words: "fatal error: out of memory"}, CodeMemory, "the policy needs more than 256 MiB to compile", unanswered},
		{"memory that it keeps itself", postmortem{may: first, words: errMemory.Error()}, CodeMemory, "the policy needs more than 256 MiB to compile", answered},
		{"more memory than there is", postmortem{may: first, words: "panic: runtime error: makeslice: len out of range"}, CodeMemory,
			"the policy needs more than 256 MiB to compile", answered},
		{"nothing to wait with", postmortem{may: first, words: "runtime: epollctl failed with 28"}, CodeCrashed,
			"compiling the policy ended without an answer (runtime: epollctl failed with 28)", unanswered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, end := tt.dead.finding(CompileConfig{Wall: first.wall, MemoryBytes: defaultCompileMemory},
				[]schema.Source{{Name: "p.cue"}})
			if end != tt.end {
				t.Errorf("ending %v, want %v", end, tt.end)
			}
			if d.Code != tt.code || d.Msg != tt.msg || d.Hint == "" || d.Pos.File != "p.cue" {
				t.Errorf("got %+v, want %s: %s", d, tt.code, tt.msg)
			}
		})
	}
}
