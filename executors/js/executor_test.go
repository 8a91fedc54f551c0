package js_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
)

func TestFirst(t *testing.T) {
	e := executor(t, nil)
	for _, src := range []string{"1+1", "const a = await echo(1, {x: 'y'}); a[1]", "import('x')"} {
		out, err := e.Run(t.Context(), program(src, "echo"), host{})
		t.Logf("%s: %+v value=%s err=%+v %v", src, out, out.Value, out.Error, err)
		if err != nil || out.State == executors.StateUnknown {
			t.Error(err)
		}
	}
}
func BenchmarkRun(b *testing.B) {
	e := executor(b, nil)
	for b.Loop() {
		out, err := e.Run(b.Context(), program("1+1"), host{})
		if err != nil || string(out.Value) != "2" {
			b.Fatalf("%+v %v", out, err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	e := executor(b, nil)
	r := program("for (let i = 0; i < 1000; i++) await echo(i); 1", "echo")
	r.Limits.CPUMillis = ptr(60000)
	for b.Loop() {
		out, err := e.Run(b.Context(), r, host{})
		if err != nil || string(out.Value) != "1" {
			b.Fatalf("%+v %+v %v", out, out.Error, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/call")
}
