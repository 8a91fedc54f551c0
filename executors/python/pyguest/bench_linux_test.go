package pyguest_test

import (
	"os/exec"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/executors/python/pyproto"
)

// BenchmarkBare is an interpreter that does nothing: what a cold start is measured
// against.
func BenchmarkBare(b *testing.B) {
	benchEach(b, func(b *testing.B, python string) {
		for b.Loop() {
			if err := exec.Command(python, "-I", "-S", "-c", "pass").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCold is a guest from nothing to the result of a program.
func BenchmarkCold(b *testing.B) {
	benchEach(b, func(b *testing.B, python string) {
		h := hello(b, python, pyproto.Settings{})
		o := options(b)
		w := work(b, o, "print('hello')")
		for b.Loop() {
			p := spawn(b, python, pyguest.Launcher)
			l, err := executors.Dial(b.Context(), config(), p, h)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := l.Run(b.Context(), w, &executorstest.Host{}); err != nil {
				b.Fatal(err)
			}
			_ = p.wait()
		}
	})
}

// BenchmarkCall is one bridge call and its answer.
func BenchmarkCall(b *testing.B) {
	benchEach(b, func(b *testing.B, python string) {
		l, p := dial(b, python, pyproto.Settings{})
		o := options(b)
		o.Inputs = inputs(b, map[string]any{"n": b.N})
		w := work(b, o, "import ringd\nfor _ in range(ringd.inputs['n']): ringd.call('echo', 'x', 1)")
		b.ResetTimer()
		if _, _, err := l.Run(b.Context(), w, quickHost{}); err != nil {
			b.Fatalf("%v: %s", err, p.stderr)
		}
	})
}

// BenchmarkSession is a run in a guest that has had one.
func BenchmarkSession(b *testing.B) {
	benchEach(b, func(b *testing.B, python string) {
		l, p := dial(b, python, pyproto.Settings{})
		o := options(b)
		o.Session = true
		w := work(b, o, "1+1")
		for b.Loop() {
			if _, again, err := l.Run(b.Context(), w, quickHost{}); err != nil || !again {
				b.Fatalf("%v: %s", err, p.stderr)
			}
		}
	})
}

func benchEach(b *testing.B, f func(*testing.B, string)) {
	for _, python := range interpreters(b) {
		b.Run(python, func(b *testing.B) { f(b, python) })
	}
}
