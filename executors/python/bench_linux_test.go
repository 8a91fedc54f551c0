package python_test

import (
	"strconv"
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
	inside(b, "us/call", 2_000_000, "import ringd, time\nfor i in range(200): ringd.call('echo', i)\nt = "+
		"time.perf_counter_ns()\n"+
		"for i in range(2000): ringd.call('echo', i)\ntime.perf_counter_ns() - t")
}

// BenchmarkCompute is what the peers of docs/benchmarks/python compute too: fib(20), and 200,000
// words counted in a dict.
func BenchmarkCompute(b *testing.B) {
	const head, tail = "import time\nt = time.perf_counter_ns()\n", "\ntime.perf_counter_ns() - t"
	b.Run("fib", func(b *testing.B) {
		inside(b, "ms", 1_000_000, head+"def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(20)"+tail)
	})
	b.Run("words", func(b *testing.B) {
		inside(b, "ms", 1_000_000, head+"d = {}\nfor i in range(200000):\n    w = 'w' + str(i % 997)\n    d[w] = "+
			"d.get(w, 0) + 1"+tail)
	})
}

// BenchmarkImports is the processor time of 60 modules of the standard library and
// what those load, with the guard and without.
func BenchmarkImports(b *testing.B) {
	const names = "argparse ast asyncio base64 bisect bz2 calendar codecs collections configparser contextlib copy " +
		"csv dataclasses datetime " +
		"decimal difflib email.message enum fileinput fnmatch fractions functools getopt glob gzip hashlib heapq hmac html.parser http.cookies " +
		"inspect ipaddress itertools json logging.handlers lzma mailbox mimetypes optparse pathlib pickle platform plistlib pprint queue random " +
		"sched secrets shelve shlex sqlite3 statistics string tarfile tempfile textwrap tomllib unittest.mock uuid zipfile"
	program := "import time\nt = time.process_time_ns()\nfor n in '" + names +
		"'.split(): __import__(n)\ntime.process_time_ns() - t"
	for name, bare := range map[string]bool{"guard": false, "none": true} {
		b.Run(name, func(b *testing.B) {
			insideOf(b, warm(b, func(c *python.Config) { c.Unguarded = bare }), "ms", 1_000_000, program)
		})
	}
}

// inside reports what a program measures itself: its value is nanoseconds.
func inside(b *testing.B, unit string, per float64, program string) {
	insideOf(b, warm(b, nil), unit, per, program)
}

func insideOf(b *testing.B, e *python.Executor, unit string, per float64, program string) {
	var all, n float64
	for b.Loop() {
		o := play(b, e, run(agent(), program))
		nanos, err := strconv.ParseFloat(string(o.Value), 64)
		if err != nil {
			b.Fatal(brief(o))
		}
		all, n = all+nanos, n+1
	}
	b.ReportMetric(all/n/per, unit)
}
