package shell_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
)

// first notes when the first output came.
type first struct {
	*daemon
	once sync.Once
	at   time.Time
}

func (f *first) Console(e executors.ConsoleEntry) {
	f.once.Do(func() { f.at = time.Now() })
	f.daemon.Console(e)
}

// BenchmarkScript is from the call to the first output and to the end: of a builtin
// alone, and of a program, in a guest that waits and in one that is started.
func BenchmarkScript(b *testing.B) {
	for _, bb := range []struct {
		name, script string
		ready        bool
	}{
		{"builtin/ready", "echo hello", true},
		{"builtin/cold", "echo hello", false},
		{"program/ready", "ls -d /tmp", true},
		{"20 programs/ready", "for i in {1..20}; do ls -d /tmp; done", true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			e := executor(b, func(c *shell.Config) {
				if bb.ready {
					c.Blank, c.Max = 1, 2
				}
			})
			r := run(agent("ls"), bb.script)
			var firsts time.Duration
			for b.Loop() {
				b.StopTimer()
				if bb.ready {
					if err := e.Warm(b.Context(), r.Agent, r.Revision); err != nil {
						b.Fatal(err)
					}
				}
				f := &first{daemon: &daemon{agent: r.Agent}}
				b.StartTimer()
				began := time.Now()
				o, err := e.Run(b.Context(), r, f)
				if err != nil || o.State != executors.StateDone {
					b.Fatal(err, brief(o))
				}
				firsts += f.at.Sub(began)
			}
			b.ReportMetric(firsts.Seconds()*1000/float64(b.N), "ms-to-output")
		})
	}
}
