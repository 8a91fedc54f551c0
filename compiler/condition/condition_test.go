package condition_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/profiles"
)

func compile(t testing.TB, text string) *condition.Condition {
	t.Helper()
	c, err := condition.Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func call(args string) profiles.Call {
	return profiles.Call{Agent: "reviewer", Bridge: "pay", Args: json.RawMessage(args)}
}

// patiently asks again when the host was too busy to answer in time, which asks
// for an approval and says nothing about the condition.
func patiently(ask func() (bool, error)) (bool, error) {
	for range 50 {
		if yes, err := ask(); !errors.Is(err, condition.ErrTimeout) {
			return yes, err
		}
	}
	return ask()
}

// no is an answer without an error, yes as well; anything else is the error of
// a condition that cannot tell, which asks.
const (
	no  = "does not ask"
	yes = "asks"
)

func TestAsk(t *testing.T) {
	for _, tt := range []struct{ text, args, want string }{
		{`input.args.amount > 100`, `{"amount":101}`, yes},
		{`input.args.amount > 100`, `{"amount":100}`, no},
		{`input.args.amount > 100`, `{"amount":1e2}`, no},
		{`input.args.amount > 100`, `{}`, "input.args.amount is not there"},
		{`input.args.amount > 100`, `{"amount":null}`, "null does not compare with number"},
		{`input.args.amount > 100`, `{"amount":false}`, "boolean does not compare with number"},
		{`input.args.amount > 100`, `{"amount":"1"}`, "text does not compare with number"},
		{`input.args.amount > 100`, `[]`, "input.args.amount is not there"},
		{`input.args.amount > 100`, `7`, "input.args.amount cannot be there: the value that should contain it is neither a list nor an object"},
		{`input.args.name >= "m"`, `{"name":"n"}`, yes},
		{`input.args.a.b["c d"][0] == 1`, `{"a":{"b":{"c d":[1]}}}`, yes},
		{`input.args.a.b["c d"][0] == 1`, `{"a":{"b":{"c d":[]}}}`, `input.args.a.b["c d"][0] is not there`},
		{`input.args[0] == "x"`, `["x","y"]`, yes},
		{`input.args[1.5] == "x"`, `["x","y"]`, "input.args[1.5] is not there"},
		{`input.args == "x"`, `"x"`, yes},
		{`input.args.flag`, `{"flag":true}`, yes},
		{`input.args.flag`, `{"flag":false}`, no},
		{`input.args.flag`, `{"flag":1}`, "input.args.flag is not true or false"},
		{`not input.args.dry`, `{"dry":true}`, no},
		{`not input.args.dry`, `{"dry":false}`, yes},
		{`not input.args.dry`, `{}`, "input.args.dry is not there"},
		{`not endswith(input.args.to, "@acme.example")`, `{"to":"a@acme.example"}`, no},
		{`not endswith(input.args.to, "@acme.example")`, `{"to":"a@evil.example"}`, yes},
		{`not endswith(input.args.to, "@acme.example")`, `{"to":["a@acme.example"]}`, "a function of the condition does not take these values"},
		{`startswith(input.args.path, "/etc")`, `{"path":5}`, "a function of the condition does not take these values"},
		{`not startswith(input.args.path, "/tmp")`, `{"path":5}`, "a function of the condition does not take these values"},
		{`input.args.mode in {"write", "delete"}`, `{"mode":"delete"}`, yes},
		{`not input.args.mode in {"read", "list"}`, `{"mode":"list"}`, no},
		{`"x" in input.args.tags`, `{"tags":"x"}`, "input.args.tags is no list or object"},
		{"some r in input.args.to\nnot endswith(r, \"@acme.example\")", `{"to":["a@acme.example","b@evil.example"]}`, yes},
		{"some r in input.args.to\nnot endswith(r, \"@acme.example\")", `{"to":["a@acme.example"]}`, no},
		{"some r in input.args.to\nnot endswith(r, \"@acme.example\")", `{"to":[]}`, no},
		{"some r in input.args.to\nnot endswith(r, \"@acme.example\")", `{"to":"b@evil.example"}`, "input.args.to is no list or object"},
		{"some r in input.args.pay\nr.amount > 100", `{"pay":[{"amount":1},{"sum":1000}]}`, "r.amount is not there"},
		{"some r in input.args.pay; r.amount > 100", `{"pay":[{"amount":1},{"amount":101}]}`, yes},
		{"some name, v in input.args\nname == \"force\"\nv", `{"force":true,"x":1}`, yes},
		{"some name, v in input.args\nname == \"force\"\nv", `{"force":false,"x":1}`, no},
		{`every r in input.args.to { endswith(r, "@x") }`, `{"to":["a@x"]}`, yes},
		{`every r in input.args.to { endswith(r, "@x") }`, `{"to":["a@y"]}`, no},
		{`every r in input.args.to { r.name != "" }`, `{"to":[{}]}`, "r.name is not there"},
		{`not { every r in input.args.to { endswith(r, "@x") } }`, `{"to":["a@y"]}`, yes},
		{`count([1 | some x in input.args.items; x.price > 10]) > 2`, `{"items":[{"price":11},{"price":12},{"price":13}]}`, yes},
		{`count([1 | some x in input.args.items; x.price > 10]) > 2`, `{"items":[{"price":11},{"price":12},{"cost":13}]}`, "x.price is not there"},
		{`sum([x.price | some x in input.args.items]) > 100`, `{"items":[{"price":60},{"price":60}]}`, yes},
		{`sum([x.price | some x in input.args.items]) > 100`, `{"items":[{"price":60},{"price":"60"}]}`, "a function of the condition does not take these values"},
		{`count({x | some x in input.args}) == 2`, `["a","b","a"]`, yes},
		{`input.args.a > 1 or input.args.b > 1`, `{"a":0,"b":2}`, yes},
		{`input.args.a > 1 or input.args.b > 1`, `{"a":0,"b":1}`, no},
		{`input.args.a > 1 or input.args.b > 1`, `{"a":0}`, "input.args.b is not there"},
		{`input.args.a > 1 and not (input.args.b == 1 or input.args.c == 1)`, `{"a":2,"b":0,"c":0}`, yes},
		{`input.args.a > 1 and not (input.args.b == 1 or input.args.c == 1)`, `{"a":2,"b":0,"c":1}`, no},
		{"total := input.args.price * input.args.count\ntotal > 1000", `{"price":100.5,"count":10}`, yes},
		{"total := input.args.price * input.args.count\ntotal > 1000", `{"price":100,"count":"10"}`, "a function of the condition does not take these values"},
		{`input.args.a / input.args.b > 1`, `{"a":1,"b":0}`, "a function of the condition does not take these values"},
		{`input.args.a % 2 == 1`, `{"a":3}`, yes},
		{`-input.args.a > 0`, `{"a":-3}`, yes},
		{`input.bridge == "pay"; input.agent == "reviewer"; input.args == []`, `[]`, yes},
		{`object.get(input.args, "amount", 0) > 100`, `{}`, no},
		{`object.get(input.args, ["a", "b"], 1000) > 100`, `{"a":{}}`, yes},
		{`object.get(input.args, "amount", 0) > 100`, `[1000]`, "a function of the condition does not take these values"},
		{`regex.match("^rm( |$)", input.args.cmd)`, `{"cmd":"rm -rf"}`, yes},
		{`regex.match("^rm( |$)", input.args.cmd)`, `{"cmd":"ls"}`, no},
		{`not net.cidr_contains("10.0.0.0/8", input.args.ip)`, `{"ip":"10.1.1.1"}`, no},
		{`not net.cidr_contains("10.0.0.0/8", input.args.ip)`, `{"ip":"x"}`, "a function of the condition does not take these values"},
		{`lower(trim_space(input.args.x)) == "drop"`, `{"x":" DROP "}`, yes},
		{`is_string(input.args.x) and input.args.x != ""`, `{"x":1}`, no},
		{`is_object(input.args.a) and input.args.a.b > 1`, `{"a":1}`, no},
		{"is_object(input.args.a)\ninput.args.a.b > 1", `{"a":1}`, no},
		{`input.args.a == 1 or input.args.b == 1`, `{"a":1}`, yes},
		{`k := input.args.key; input.args.map[k] == 1`, `{"key":"a","map":{"a":1}}`, yes},
		{`k := input.args.key; input.args.map[k] == 1`, `{"key":"secret","map":{"a":1}}`, "input.args.map[k] is not there"},
		{`input.args.n == 9007199254740993`, `{"n":9007199254740992}`, no},
		{`input.args.a == 1`, `{"a":1,"a":2}`, "the arguments are not plain JSON"},
		{`input.args.a == 1`, `{"a":1`, "the arguments are not plain JSON"},
		{`input.args.a == 1`, ``, "the arguments are not plain JSON"},
		{`input.args.a == 1`, `{"a":1e999}`, "the arguments hold a number that no double holds"},
		{`input.args.a == 1`, `{"a":1e-999}`, "the arguments hold a number that no double holds"},
		{`input.args.a == 1`, `{"a":1.` + strings.Repeat("0", 70) + `}`, "the arguments hold a number that no double holds"},
		{`input.args.a == 1`, `{"a":"` + strings.Repeat("x", condition.MaxArgs) + `"}`, "the arguments have more than 65536 bytes"},
		{"# only what goes out\ninput.args.a == 1 # one", `{"a":1}`, yes},
	} {
		t.Run(tt.text, func(t *testing.T) {
			c := compile(t, tt.text)
			ask, err := patiently(func() (bool, error) { return c.Ask(t.Context(), call(tt.args)) })
			got := no
			switch {
			case err != nil && !ask:
				t.Fatalf("an error, and it does not ask: %v", err)
			case err != nil:
				got = err.Error()
			case ask:
				got = yes
			}
			if got != tt.want {
				t.Errorf("%.100s: got %q, want %q", tt.args, got, tt.want)
			}
		})
	}
}

// TestCompileFindings: every mistake has its place, its code and a word about it.
func TestCompileFindings(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, `1:1: condition-syntax: the condition is empty`},
		{`# nothing`, `1:1: condition-syntax: the condition is empty`},
		{`input.args.a >`, `1:14: condition-syntax: unexpected eof token`},
		{`input.args.a > 1 }`, `1:18: condition-syntax: unexpected } token`},
		{`input.args.a == 1 || input.args.b == 1`, `1:20: condition-syntax: unexpected or token`},
		{`allow if input.args.a`, `1:7: condition-syntax: unexpected if keyword`},
		{`import data.x`, `1:1: condition-syntax: a condition holds statements: no package, import or rule`},
		{`package x`, `1:1: condition-syntax: a condition holds statements: no package, import or rule`},
		{`$"{input.args}" == "x"`, `1:1: condition-syntax: template strings are not supported by current capabilities`},
		{`input.args.a == 1 with input as {"args": {"a": 1}}`, "1:1: condition-syntax: a condition cannot use `with`"},
		{`count(input.args) == 1 with count as abs`, "1:1: condition-syntax: a condition cannot use `with`"},
		{strings.Repeat("[", 40), `1:17: condition-syntax: brackets are nested deeper than 16`},
		{"\n" + strings.Repeat("(", 2000), `2:17: condition-syntax: brackets are nested deeper than 16`},
		{strings.Repeat("x", 5000), `1:1: condition-syntax: the condition has more than 4096 bytes`},
		{"input.args.a == \"\xff\"", `1:1: condition-syntax: the condition is not UTF-8`},
		{strings.Repeat("input.args.a == 1\n", 200), `150:17: condition-syntax: the condition has more than 600 parts`},

		{`true`, `1:1: condition-name: the condition does not depend on the call`},
		{`every x in [1, 2] { x > 0 }`, `1:1: condition-name: the condition does not depend on the call`},
		{`input`, `1:1: condition-name: input is used without a field`},
		{`data.x == 1`, `1:1: condition-name: a condition cannot read data`},
		{`args.amount > 1`, `1:1: condition-name: args is not defined`},
		{`input.arg.amount > 1`, `1:1: condition-name: input has no "arg": it has args, bridge and agent`},
		{`input[x] > 1`, `1:1: condition-name: input has no x: it has args, bridge and agent`},
		{`input.args[x] == 1`, `1:12: condition-name: x is not defined`},
		{`input.args.a > 1; y > 2`, `1:19: condition-name: y is not defined`},
		{`not input.args.a > y`, `1:20: condition-name: y is not defined`},
		{`count([1 | some x in input.args.b; x > 1]) > 1; x > 2`, `1:49: condition-name: var x is unsafe`},

		{`input.args.amount + 1`, `1:1: condition-type: arithmetic is not true or false`},
		{`count(input.args)`, `1:1: condition-type: count is not true or false`},
		{`not count(input.args)`, `1:1: condition-type: count is not true or false`},
		{`"x"`, `1:1: condition-type: "x" is not true or false`},
		{`{"a"}`, `1:1: condition-type: {"a"} is not true or false`},
		{`x := input.args.a`, `1:1: condition-type: the last statement is not true or false`},
		{`some x in input.args`, `1:1: condition-type: the last statement is not true or false`},
		{`input.args.a > 1 or count(input.args.b)`, `1:21: condition-type: count is not true or false`},
		{`startswith(input.args.a)`, `1:1: condition-type: startswith: arity mismatch`},
		{`startswith(1, "a"); input.args.a`, `1:1: condition-type: startswith: invalid argument(s)`},
		{"x := input.args.a\ny := 1\nx > 1", `2:1: condition-syntax: assigned var y unused`},

		{`some x; input.args[x] == 1`, "1:1: condition-syntax: a name is declared without a list\n1:20: condition-name: x is not defined"},
		{`some x, y; input.args.a`, `1:1: condition-syntax: names are declared without a list`},
		{`some [x, y] in input.args; x == y`, "1:6: condition-syntax: only a name is allowed here\n1:28: condition-name: x is not defined\n1:33: condition-name: y is not defined"},
		{`input.args[_] == 1`, `1:12: condition-syntax: _ has no value here`},
		{`input := {"args": 1}; input.args > 1`, `1:1: condition-syntax: only a name is allowed here`},
		{`input.args.a = 1`, `1:14: condition-function: a condition may not use =`},
		{`[input.args.a, 1] == [1, 1]`, `1:1: condition-syntax: a list, set or object holds only constants`},
		{`{"a": input.args.a} == {"a": 1}`, `1:1: condition-syntax: a list, set or object holds only constants`},
		{`[y | some y in input.args] == []`, `1:1: condition-syntax: a list that is made here can only be counted or summed up`},
		{`x := [y | some y in input.args]; x == []`, `1:6: condition-syntax: a list that is made here can only be counted or summed up`},
		{`count({y: 1 | some y in input.args}) == 1`, `1:7: condition-syntax: a condition cannot hold {y: 1 | some y in input.args}`},
		{`count([[y, y] | some y in input.args]) == 1`, `1:8: condition-syntax: a list, set or object holds only constants`},

		{`http.send({"url": "http://x"}) == input.args.a`, `1:1: condition-function: a condition may not use http.send`},
		{`http.send({"url": "http://x"}).body == input.args.a`, `1:1: condition-function: a condition may not use http.send`},
		{`split(input.args.a, ",")[0] == "x"`, `1:1: condition-syntax: split(input.args.a, ",") is looked into without a name`},
		{`time.now_ns() > input.args.a`, `1:1: condition-function: a condition may not use time.now_ns`},
		{`rand.intn("x", 3) == input.args.a`, `1:1: condition-function: a condition may not use rand.intn`},
		{`uuid.rfc4122("x") == input.args.a`, `1:1: condition-function: a condition may not use uuid.rfc4122`},
		{`opa.runtime() == input.args.a`, `1:1: condition-function: a condition may not use opa.runtime`},
		{`net.lookup_ip_addr(input.args.h) == {"1.1.1.1"}`, `1:1: condition-function: a condition may not use net.lookup_ip_addr`},
		{`walk(input.args, x)`, `1:1: condition-function: a condition may not use walk`},
		{`count(numbers.range(1, input.args.n)) > 1`, `1:7: condition-function: a condition may not use numbers.range`},
		{`strings.render_template("{{.}}", input.args) == ""`, `1:1: condition-function: a condition may not use strings.render_template`},
		{`sprintf("%d", [input.args.a]) == "1"`, `1:1: condition-function: a condition may not use sprintf`},
		{`concat("", ["a", "b"]) == input.args.a`, `1:1: condition-function: a condition may not use concat`},
		{`replace(input.args.a, "a", "aa") == "1"`, `1:1: condition-function: a condition may not use replace`},
		{`json.marshal(input.args) == "1"`, `1:1: condition-function: a condition may not use json.marshal`},
		{`io.jwt.decode(input.args.t) == []`, `1:1: condition-function: a condition may not use io.jwt.decode`},
		{`glob.match(input.args.a, [], "x")`, `1:1: condition-function: a condition may not use glob.match`},
		{`print(input.args)`, `1:1: condition-function: a condition may not use print`},
		{`trace(input.args.a)`, `1:1: condition-function: a condition may not use trace`},
		{`foo(input.args)`, `1:1: condition-function: a condition may not use foo`},
		{`input.args.f(1)`, `1:1: condition-function: a condition may not use input.args.f`},
		{`ringd.at(input.args, "a", "b") == 1`, `1:1: condition-function: a condition may not use ringd.at`},
		{`regex.match(input.args.p, "x")`, `1:13: condition-syntax: a regular expression has to be a constant`},
		{`regex.match("(", input.args.p)`, "1:13: condition-syntax: missing closing ): `(`"},
		{`regex.match("(a?){500}b", input.args.p)`, `1:13: condition-syntax: the regular expression is too large: 2003 steps of at most 128`},
		{`trim(input.args.a, input.args.b) == ""`, `1:20: condition-syntax: the characters that are cut off have to be a constant`},
		{`input.args.a > 1e999`, `1:16: condition-syntax: a number has at most 64 characters and fits a double`},
		{`input.args.a in {1e400}`, `1:17: condition-syntax: a list, set or object holds only constants`},
		{`input.args.a * 2 * 2 * 2 * 2 * 2 > 1`, `1:1: condition-syntax: a condition has at most 4 of * and /`},
	} {
		c, err := condition.Compile(tt.text)
		var found condition.Findings
		if c != nil || !errors.As(err, &found) {
			t.Errorf("%.60q: got %v, %v", tt.text, c, err)
			continue
		}
		if diff := cmp.Diff(tt.want, found.Error()); diff != "" {
			t.Errorf("%.60q: (-want +got)\n%s", tt.text, diff)
		}
	}
}

// hostile lists conditions and arguments that take as long as they can. The
// first ones would run for hours.
func hostile() []struct{ name, text, args string } {
	list := func(item string, n int) string {
		return `{"l":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	deep := strings.Repeat("[", 190) + strings.Repeat("]", 190)
	text := `{"s":"` + strings.Repeat("a", 60_000) + `"}`
	return []struct{ name, text, args string }{
		{"loops in loops", "some a in input.args.l\nsome b in input.args.l\nsome c in input.args.l\na + b + c < 0", list("1", 30_000)},
		{"every in every", "every a in input.args.l { every b in input.args.l { every c in input.args.l { a + b + c > 0 } } }", list("1", 30_000)},
		{"counting pairs", "count([1 | some a in input.args.l; some b in input.args.l; some c in input.args.l]) < 1", list("1", 30_000)},
		{"summing pairs", "sum([c | some a in input.args.l; some b in input.args.l; c := a * b]) < 1", list("1e300", 9000)},
		{"sets of deep lists", "count({x | some x in input.args.l; some y in input.args.l; some z in input.args.l; y == z}) == 5", list(deep, 160)},
		{"search in search", "some a in input.args.l\nsome b in input.args.l\nnot a in input.args.l", list(`{"x":1}`, 8000)},
		{"splitting", "some a in input.args.l\nsome b in input.args.l\nx := split(\"" + strings.Repeat("a", 3000) + "\", \"\")\ncount(x) + a + b < 1", list("1", 30_000)},
		{"a large expression over much text", `regex.match("` + strings.Repeat("(a?)", 19) + strings.Repeat("a", 19) + `b$", input.args.s)`, text},
		{"alternatives that overlap", `regex.match("(x|a|aa|aaa|aaaa)*b(a|b|c)*(x|y)", input.args.s)`, text},
		{"cutting", `trim(input.args.s, "` + strings.Repeat("ü", 1900) + `") == "x"`, text},
		{"deep lists compared", "input.args.l != input.args.l", list(deep, 160)},
		{"numbers that grow", "x := input.args.l[0] * input.args.l[1]\ny := x * x\nz := y * y\nw := z * z\nw % 7 == 3", list("1e308", 3)},
	}
}

// TestAskEnds: whatever the condition and its arguments, Ask returns, and what
// did not come to an end asks.
func TestAskEnds(t *testing.T) {
	for i, tt := range hostile() {
		t.Run(tt.name, func(t *testing.T) {
			ask, err := compile(t, tt.text).Ask(t.Context(), call(tt.args))
			if endless := i < 7; endless && (!ask || !errors.Is(err, condition.ErrTimeout)) {
				t.Errorf("got %v, %v", ask, err)
			}
			if err != nil && !ask {
				t.Errorf("an error, and it does not ask: %v", err)
			}
		})
	}
}

// A caller that gives up gets an answer too, and it asks.
func TestAskWhenContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask, err := compile(t, "input.args.a > 1").Ask(ctx, call(`{"a":0}`))
	if !ask || !errors.Is(err, condition.ErrTimeout) {
		t.Errorf("got %v, %v", ask, err)
	}
	var none *condition.Condition
	if ask, err := none.Ask(t.Context(), call(`{}`)); !ask || err == nil {
		t.Errorf("no condition: got %v, %v", ask, err)
	}
}

// A Cache is for many callers, compiles once and asks where nothing compiles.
func TestCache(t *testing.T) {
	var c condition.Cache
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				for _, tt := range []struct {
					text, args  string
					asks, wrong bool
				}{{"input.args.a > 1", `{"a":0}`, false, false}, {"input.args.a > 1", `{"a":2}`, true, false},
					{"input.args.a >", `{"a":0}`, true, true}} {
					ask, err := patiently(func() (bool, error) { return c.Ask(t.Context(), tt.text, call(tt.args)) })
					if ask != tt.asks || (err != nil) != tt.wrong {
						t.Errorf("%s of %s: %v, %v", tt.text, tt.args, ask, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// FuzzCondition: whatever the text and the arguments, nothing panics, every
// finding has its place, an error asks, and asking twice gives one answer.
func FuzzCondition(f *testing.F) {
	for _, h := range hostile() {
		f.Add(h.text, `{"l":[1,2],"s":"a"}`)
	}
	f.Add("x := input.args.a[0]\nx > 1 or not { every y in input.args.b { y in {1, \"2\"} } }", `{"a":[2],"b":["2"]}`)
	f.Add(`object.get(input.args, ["a", "b"], {"c": null}).c`, `{}`)
	f.Add(`sum([a | some _, a in input.args]) >= count({a | some a in input.args})`, `[1,1]`)
	f.Fuzz(func(t *testing.T, text, args string) {
		c, err := condition.Compile(text)
		if err != nil {
			var found condition.Findings
			if !errors.As(err, &found) || len(found) == 0 {
				t.Fatalf("%v is no finding", err)
			}
			for _, one := range found {
				if one.Line < 1 || one.Column < 1 || one.Msg == "" || one.Code == "" {
					t.Fatalf("%+v has no place or no word", one)
				}
			}
			return
		}
		ask, err := c.Ask(t.Context(), call(args))
		if err != nil && !ask {
			t.Fatalf("an error, and it does not ask: %v", err)
		}
		again, errAgain := c.Ask(t.Context(), call(args))
		if ask != again && err == nil && errAgain == nil {
			t.Fatalf("asked twice: %v and %v", ask, again)
		}
	})
}

func BenchmarkAsk(b *testing.B) {
	c, one := compile(b, "input.args.a.b > 100"), call(`{"a":{"b":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		if ask, err := c.Ask(b.Context(), one); err == nil && ask {
			b.Fatal("it does not hold, and asks")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, "some to in input.args.to\nnot endswith(lower(to), \"@acme.example\")")
	}
}
