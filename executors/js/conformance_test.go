package js_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/profiles"
)

func TestConformance(t *testing.T) {
	for _, language := range []string{"js", "ts"} {
		t.Run(language, func(t *testing.T) {
			executorstest.Run(t, executorstest.Suite{
				New:      func(t testing.TB) executors.Executor { return executor(t, nil) },
				Agent:    func() profiles.Agent { return *agent() },
				Language: language,
				Programs: executorstest.Programs{
					Two:      "1 + 1",
					Echo:     "(await echo(41)) + 1",
					Order:    "await Promise.all([...Array(10).keys()].map((n) => echo(n)))",
					Catch:    "let n = 'none'; try { await echo(1) } catch (e) { n = e.name } n",
					Result:   "await echo(1)",
					Kind:     "const r = await echo(1); ({}).polluted === true || r.polluted === true",
					Uncaught: "// line 1\n// line 2\nthrow Object.assign(new Error('here'), { name: 'Oops' })",
					Ambient: "['process', 'require', 'fetch', 'std', 'os', 'Deno', 'setTimeout', 'Worker', " +
						"'WebAssembly', 'performance', 'navigator', 'print', 'scriptArgs']" +
						".filter((n) => typeof globalThis[n] !== 'undefined')",
					Seeded:   "[Math.random(), Math.random(), Math.random()]",
					Loop:     "for (;;) {}",
					Busy:     "console.log('busy'); for (;;) {}",
					Memory:   "const a = []; for (;;) a.push(new ArrayBuffer(1 << 18))",
					Wait:     "await echo(1)",
					Deadlock: "await new Promise(() => {})",
					Dropped:  "echo(1); 2",
					Flood:    "for (let i = 0; i < 20000; i++) console.log('x'); 1",
					Lines:    "console.log('one'); console.log('two'); 1",
					Huge:     "'x'.repeat(1 << 20)",
				},
				Pauses: &executorstest.Pauses{
					Hops: "let sum = 0; for (let i = 0; i < 100; i++) sum += await echo(i); sum",
					Later: "let r = Math.random(); const a = await echo(1); const s = Math.random(); [a, r, await " +
						"echo(2), s]",
					Remember: "globalThis.kept = 41",
					Recall:   "globalThis.kept + 1",
					Forget:   "globalThis.kept = 1; throw Object.assign(new Error('here'), { name: 'Oops' })",
				},
			})
		})
	}
}
