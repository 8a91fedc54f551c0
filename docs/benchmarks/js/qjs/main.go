// Command qjs measures github.com/fastschema/qjs the way peers/peer.mjs
// measures the npm engines: qjs {first|warm} [RUNS].
//
// It is a module of its own because the engine does not start on the wazero
// that ringd uses. It runs its own constants only: docs/adr/0001 says why it
// may never run untrusted code.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/fastschema/qjs"
)

const (
	fib   = `(function f(n){return n<2?n:f(n-1)+f(n-2)})(22)`
	loop  = `(function(){let s=0;for(let i=0;i<1e6;i++)s+=i%7;return s})()`
	calls = 200
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "qjs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || (args[0] != "first" && args[0] != "warm") {
		return errors.New("usage: qjs {first|warm} [RUNS]")
	}
	if _, err := eval("1+1", 2); err != nil || args[0] == "first" {
		return err
	}
	runs := 30
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("RUNS %q: %w", args[1], err)
		}
		runs = n
	}
	return warm(runs)
}

func warm(runs int) error {
	out := map[string]any{"peer": "fastschema-qjs"}
	for _, m := range []struct {
		name string
		runs int
		use  func() (time.Duration, error)
	}{
		{"start", runs, func() (time.Duration, error) { return eval("1+1", 2) }},
		{"call", 5, call},
		{"fib", 5, func() (time.Duration, error) { return eval(fib, 17711) }},
		{"loop", 5, func() (time.Duration, error) { return eval(loop, 2999997) }},
	} {
		var times []time.Duration
		for range m.runs {
			d, err := m.use()
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			times = append(times, d)
		}
		slices.Sort(times)
		out[m.name] = float64(times[len(times)/2]) / float64(time.Millisecond)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// eval makes a fresh runtime, evaluates code and returns the time of both.
func eval(code string, want int64) (time.Duration, error) {
	begin := time.Now()
	rt, err := qjs.New()
	if err != nil {
		return 0, err
	}
	defer rt.Close()
	value, err := rt.Eval("bench.js", qjs.Code(code))
	if err != nil {
		return 0, err
	}
	defer value.Free()
	if got := value.Int64(); got != want {
		return 0, fmt.Errorf("got %d, want %d", got, want)
	}
	return time.Since(begin), nil
}

// call returns the time of one synchronous host call: the engine's
// asynchronous ones hang or corrupt memory when they are settled from Go.
func call() (time.Duration, error) {
	rt, err := qjs.New()
	if err != nil {
		return 0, err
	}
	defer rt.Close()
	rt.Context().SetFunc("ping", func(this *qjs.This) (*qjs.Value, error) {
		return this.Context().NewString("pong"), nil
	})
	code := fmt.Sprintf("let n=0;for(let i=0;i<%d;i++){if(ping({i})==='pong')n++};n", calls)
	begin := time.Now()
	value, err := rt.Eval("bench.js", qjs.Code(code))
	if err != nil {
		return 0, err
	}
	defer value.Free()
	if got := value.Int64(); got != calls {
		return 0, fmt.Errorf("got %d calls, want %d", got, calls)
	}
	return time.Since(begin) / calls, nil
}
