package python_test

import (
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
)

// warm is an executor that has run something: the guest's half is compiled.
func warm(b *testing.B, change func(*python.Config)) *python.Executor {
	e := executor(b, change)
	play(b, e, run(agent(), "1"))
	return e
}

// BenchmarkCold is a program in an interpreter that is started for it.
func BenchmarkCold(b *testing.B) {
	e := warm(b, nil)
	for b.Loop() {
		if o := play(b, e, run(agent(), "1+1")); o.State != executors.StateDone {
			b.Fatal(brief(o))
		}
	}
}

// BenchmarkColdPrint is the time to the first line that a program prints.
func BenchmarkColdPrint(b *testing.B) {
	e := warm(b, nil)
	var first time.Duration
	for b.Loop() {
		first += firstLine(b, e)
	}
	b.ReportMetric(float64(first.Microseconds())/float64(b.N), "us/first-line")
}

// BenchmarkReady is a program in an interpreter that waited for it, and the time to
// its first line.
func BenchmarkReady(b *testing.B) {
	e := warm(b, func(c *python.Config) { c.Blank = 1 })
	a := agent()
	var first, all time.Duration
	for b.Loop() {
		b.StopTimer()
		if err := e.Warm(b.Context(), a, "sha256:1"); err != nil {
			b.Fatal(err)
		}
		time.Sleep(60 * time.Millisecond) // another one is started behind that
		b.StartTimer()
		from := time.Now()
		first += firstLine(b, e)
		all += time.Since(from)
	}
	b.ReportMetric(float64(first.Microseconds())/float64(b.N), "us/first-line")
	b.ReportMetric(float64(all.Microseconds())/float64(b.N), "us/run")
}

func firstLine(b *testing.B, e *python.Executor) (first time.Duration) {
	from := time.Now()
	h := &echo{line: func(executors.ConsoleEntry) { first = time.Since(from) }}
	if _, err := e.Run(b.Context(), run(agent(), "print(1)"), h); err != nil {
		b.Fatal(err)
	}
	return first
}

// BenchmarkSession is one more program in a session.
func BenchmarkSession(b *testing.B) {
	e := warm(b, nil)
	o := begin(b, e, agent(), "n = 0")
	for b.Loop() {
		o = play(b, e, from(o, agent(), "n += 1\nn"))
		if o.Snapshot == nil {
			b.Fatal(brief(o))
		}
	}
}

// BenchmarkCall is one call of a bridge.
func BenchmarkCall(b *testing.B) {
	e := warm(b, nil)
	r := run(agent(), "import ringd, time\nfor i in range(200): ringd.call('echo', i)\nt = time.perf_counter_ns()\n"+
		"for i in range(2000): ringd.call('echo', i)\n(time.perf_counter_ns() - t) // 2000")
	var nanos, n float64
	for b.Loop() {
		o := play(b, e, r)
		var one float64
		for _, c := range o.Value {
			one = one*10 + float64(c-'0')
		}
		nanos, n = nanos+one, n+1
	}
	b.ReportMetric(nanos/n/1000, "us/call")
}
