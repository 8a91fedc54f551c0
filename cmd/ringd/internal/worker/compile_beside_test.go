// what a lower priority is worth is seen beside one that is not lower, which Run starts for nobody
// but the starved
package worker

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// BenchmarkBesideHostile is how long a decision takes that is asked for over a socket
// while as many hostile policies compile as there are processors, with children that
// yield and with such as do not, and while none does; in turns, since machines drift.
func BenchmarkBesideHostile(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cfg := CompileConfig{Path: self, Args: []string{"compile-child"}, Wall: DefaultCompileWall,
		MemoryBytes: defaultCompileMemory}
	var text strings.Builder
	for i := range 22 {
		fmt.Fprintf(&text, "_d%d: {a%d: 1} | {b%d: 2}\n", i, i, i)
	}
	text.WriteString("_d: _d0")
	for i := 1; i < 22; i++ {
		fmt.Fprintf(&text, " & _d%d", i)
	}
	hostile := compileRequest{CompileRequest: CompileRequest{
		Sources: []schema.Source{{Name: "attack.cue", Data: []byte(text.String())}}}}
	ask := besideDecisions(b)
	taken := map[string][]time.Duration{}
	beside := func(mode string, over func() bool) {
		for !over() {
			start := time.Now()
			ask()
			taken[mode] = append(taken[mode], time.Since(start))
			time.Sleep(300 * time.Microsecond) // a harness does something else too
		}
	}
	for b.Loop() {
		end := time.Now().Add(time.Second)
		beside("rest", func() bool { return time.Now().After(end) })
		for _, mode := range []string{"yields", "equal"} {
			done := make(chan error, 2)
			for range cap(done) {
				go func() {
					_, _, err := tryCompile(b.Context(), cfg, hostile,
						tryLimits{wall: cfg.Wall, most: cpuLimit(cfg.Wall), yields: mode == "yields"})
					done <- err
				}()
			}
			time.Sleep(100 * time.Millisecond) // they start
			beside(mode, func() bool { return len(done) > 0 })
			for range cap(done) {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for name, part := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99} {
		at := func(mode string) float64 {
			all := slices.Sorted(slices.Values(taken[mode]))
			return float64(all[int(part*float64(len(all)-1))])
		}
		b.ReportMetric(at("rest")/1000, name+"-rest-us")
		for _, mode := range []string{"yields", "equal"} {
			b.ReportMetric(at(mode)/at("rest"), name+"-"+mode+"-ratio")
		}
	}
}

// decisions serves decisions on a socket, a line each, and returns who asks for one and
// waits for it.
func besideDecisions(b *testing.B) (ask func()) {
	set, found := CompileHere(b.Context(), []schema.Source{{Name: "p.yaml", Data: []byte("interpreter_ring:\n  " +
		"allowed_imports: [\"pandas\"]\n")}}, nil)
	if found.Refused() {
		b.Fatal(found)
	}
	d := set.Decider("default", profiles.Environment{})
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if a, err := profiles.DecodeAction(lines.Bytes()); err == nil {
				fmt.Fprintln(c, d.Decide(a).Verdict)
			}
		}
	}()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(); l.Close(); <-served })
	answers := bufio.NewScanner(c)
	return func() {
		if _, err := fmt.Fprintln(c, `{"import":{"executor":"python","module":"pandas"}}`); err != nil ||
			!answers.Scan() || answers.Text() != "allow" {
			b.Fatal(answers.Text(), err)
		}
	}
}
