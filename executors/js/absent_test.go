package js_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
)

// A ReferenceError about a name that other platforms have, or about a misspelled
// bridge, says what the program has, however the error reached the end of the run.
func TestAbsentNames(t *testing.T) {
	e := executor(t, nil)
	const has = "this program has: postComment, readDiff"
	for _, tt := range []struct {
		name, source string
		state        executors.State
		want         string // the end of the message
	}{
		{"called", "fetch('https://a.example')", executors.StateFailed, "fetch is not defined; not granted; " + has},
		{"misspelled", "await postComent('x')", executors.StateFailed, "postComent is not defined; did you mean postComment? " + has},
		{"a timer", "await new Promise((r) => setTimeout(r, 10))", executors.StateFailed, "end and be run again later; " + has},
		{"thrown again", "try { process.env.HOME } catch (e) { throw e }", executors.StateFailed,
			"process is not defined; not granted; values for the program are in inputs; " + has},
		{"thrown again after an await", "try { document.body } catch (e) { await readDiff(1); throw e }", executors.StateFailed,
			"document is not defined; not granted; " + has},
		{"wrapped", "try { require('fs') } catch (e) { throw new Error('no files', { cause: e }) }", executors.StateFailed,
			"no files; require is not defined: not granted; use import; no modules are allowed here; " + has},
		{"in a function that nothing awaits", "(async () => { Buffer.from('') })(); 1", executors.StateFailed, has},
		{"before a deadlock", "let done; const p = new Promise((r) => { done = r }); (async () => { window.x; done() })(); await p",
			executors.StateLimit, "window is not defined; not granted; the global object is globalThis; " + has},

		{"the program's own name", "totals + 1", executors.StateFailed, "totals is not defined"},
		{"a name before its declaration", "{ fetch; let fetch = 1 }", executors.StateFailed, "fetch is not initialized"},
		{"an error of another class", "throw Object.assign(new Error('fetch is not defined'), { name: 'ReferenceError' })", executors.StateFailed,
			"fetch is not defined"},
		{"a class of the program", "throw new (class ReferenceError extends Error {})('fetch is not defined')", executors.StateFailed,
			"fetch is not defined"},
		{"no error at all", "throw { name: 'ReferenceError', message: 'fetch is not defined' }", executors.StateFailed,
			`thrown: { name: "ReferenceError", message: "fetch is not defined" }`},
		{"a getter as cause", "throw Object.defineProperty(new Error('x'), 'cause', { get() { return new ReferenceError('fetch is not defined') } })",
			executors.StateFailed, "x"},
		{"a getter on every object", "Object.defineProperty(Object.prototype, 'value', { get() { return 'fetch is not defined' }, configurable: true });" +
			"throw Object.defineProperty(new ReferenceError(), 'message', { __proto__: null, get() { return 'y' } })", executors.StateFailed, "y"},
		{"a cause that goes round", "const e = new Error('z'); e.cause = e; throw e", executors.StateFailed, "z"},
		{"a proxy as cause", "throw new Error('p', { cause: new Proxy(new ReferenceError('fetch is not defined'), {}) })", executors.StateFailed, "p"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := mustRun(t, e, program(tt.source, "readDiff", "postComment"))
			if out.State != tt.state || out.Error == nil || !strings.HasSuffix(out.Error.Message, tt.want) {
				t.Fatalf("%s %+v, want a message that ends with %q", out.State, out.Error, tt.want)
			}
			if hint := strings.Contains(tt.want, has); strings.Contains(out.Error.Message, has) != hint {
				t.Errorf("the message has a hint: %q", out.Error.Message)
			}
		})
	}
}
