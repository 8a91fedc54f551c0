package profiles_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringd/ringd/profiles"
)

func TestDecodeGrants(t *testing.T) {
	five := int64(5)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	good := `{"bridges":{"pay":{"calls":5,"arguments":{"properties":{"to":{"enum":[null,"a"]}}}},"log":{}},"hosts":["api.example.com"],"imports":[],"deadline":"2026-11-21T12:00:00Z"}`
	want := profiles.Grants{Bridges: map[string]profiles.GrantOfBridge{
		"pay": {Calls: &five, Arguments: json.RawMessage(`{"properties":{"to":{"enum":[null,"a"]}}}`)}, "log": {}},
		Hosts: []string{"api.example.com"}, Imports: []string{}, Deadline: &at}
	got, err := profiles.DecodeGrants([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var again profiles.Grants
	text, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("encoded and decoded: %v (-want +got)\n%s", err, diff)
	}
	if none, err := profiles.DecodeGrants([]byte(`{}`)); err != nil || none.Bridges != nil || none.Hosts != nil ||
		none.Imports != nil || none.Deadline != nil {
		t.Errorf("nothing: %+v, %v", none, err)
	}
	for _, tt := range []struct{ text, want string }{
		{``, "no JSON value"},
		{`null`, "grants is a JSON object"},
		{`[]`, "grants is a JSON object"},
		{`{"bridge":{}}`, `grants has no field "bridge"`},
		{`{"Hosts":[]}`, `grants has no field "Hosts"`},
		{`{"hosts":[],"hosts":["a"]}`, `key "hosts" is there twice`},
		{`{"hosts":null}`, "grants.hosts is or holds null"},
		{`{"hosts":[null]}`, "grants.hosts is or holds null"},
		{`{"bridges":null}`, "grants.bridges is or holds null"},
		{`{"bridges":{"a":null}}`, "bridges.a is a JSON object"},
		{`{"bridges":{"a":{"calls":null}}}`, "bridges.a.calls is or holds null"},
		{`{"bridges":{"a":{"call":1}}}`, `bridges.a has no field "call"`},
		{`{"bridges":{"a":{"Calls":1}}}`, `bridges.a has no field "Calls"`},
		{`{"bridges":{"a":{"calls":-1}}}`, "bridges.a.calls is below 0"},
		{`{"bridges":{"a":{"calls":1.5}}}`, "bridges.a.calls cannot be a number 1.5"},
		{`{"bridges":{"":{}}}`, `"" is not a valid bridge name`},
		{`{"bridges":{"a b":{}}}`, `"a b" is not a valid bridge name`},
		{`{"bridges":{"a":{"arguments":null}}}`, "bridges.a.arguments is or holds null"},
		{`{"bridges":{"a":{"arguments":{"typ":"string"}}}}`, `"typ" is not a keyword that a grant may use`},
		{`{"bridges":{"a":{"arguments":{"$ref":"http://x"}}}}`, `"$ref" is not a keyword`},
		{`{"bridges":{"a":{"arguments":{"$id":"x"}}}}`, `"$id" is not a keyword`},
		{`{"bridges":{"a":{"arguments":{"format":"email"}}}}`, `"format" is not a keyword`},
		{`{"bridges":{"a":{"arguments":{"items":[{}]}}}}`, "a schema is an object, true or false"},
		{`{"bridges":{"a":{"arguments":{"allOf":{}}}}}`, "allOf is a list of schemas"},
		{`{"bridges":{"a":{"arguments":{"properties":[]}}}}`, "properties is an object of schemas"},
		{`{"bridges":{"a":{"arguments":{"properties":{"x":{"maxLenght":1}}}}}}`, `"maxLenght" is not a keyword`},
		{`{"bridges":{"a":{"arguments":{"const":9007199254740993}}}}`, "no double holds the number"},
		{`{"bridges":{"a":{"arguments":{"minimum":1e999}}}}`, "no double holds the number"},
		{`{"bridges":{"a":{"arguments":{"minimum":1e-999}}}}`, "no double holds the number"},
		{`{"bridges":{"a":{"arguments":` + strings.Repeat(`{"not":`, 20) + `true` + strings.Repeat(`}`, 20) + `}}}`, "nested deeper"},
		{`{"bridges":{"a":{"arguments":{"const":"` + strings.Repeat("x", 20_000) + `"}}}}`, "more than 16384 bytes"},
		{`{"hosts":["*"]}`, `hosts: "*"`}, {`{"hosts":["*.com"]}`, `hosts: "*.com"`}, {`{"hosts":["a.example.com:443"]}`, "without a port"},
		{`{"hosts":["API.example.com"]}`, "lower-case"}, {`{"hosts":["10.1.0.0/8"]}`, "hosts:"}, {`{"hosts":[""]}`, "hosts:"},
		{`{"imports":["../x"]}`, `imports: "../x"`}, {`{"imports":[""]}`, `imports: ""`},
		{`{"deadline":"tomorrow"}`, "grants is not valid"},
		{`{"hosts":[` + strings.TrimSuffix(strings.Repeat(`"a.b",`, 1001), ",") + `]}`, "more than 1000 of one kind"},
		{`{"hosts":["` + strings.Repeat("a", profiles.MaxGrantsBytes) + `"]}`, "above the limit"},
		{`{"hosts":["\ud800"]}`, "half a character"},
		{`{} {}`, "text after the JSON value"},
	} {
		_, err := profiles.DecodeGrants([]byte(tt.text))
		if !errors.Is(err, profiles.ErrGrants) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: got %v, want %q", tt.text, err, tt.want)
		}
		var g profiles.Grants
		if err := json.Unmarshal([]byte(tt.text), &g); err == nil && tt.text != "null" {
			t.Errorf("%.80s: Unmarshal takes it", tt.text)
		}
	}
}

func FuzzDecodeGrants(f *testing.F) {
	f.Add([]byte(`{"bridges":{"one":{"calls":5,"arguments":{"properties":{"to":{"enum":[null,"a"]}}}}},"hosts":["*.example.com","10.0.0.0/8"],"imports":["a.*"],"deadline":"2026-11-21T12:00:00Z"}`))
	f.Add([]byte(`{"bridges":{},"imports":[],"hosts":[]}`))
	r := rand.New(rand.NewPCG(5, 6))
	a := anyAgent(r)
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := profiles.DecodeGrants(text)
		if err != nil {
			return
		}
		if _, err := a.Narrow(g); err != nil {
			t.Fatalf("decoded and refused: %v", err)
		}
		out, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		again, err := profiles.DecodeGrants(out)
		if diff := cmp.Diff(g, again, cmpopts.EquateApproxTime(0), rawJSON()); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got)\n%s", out, err, diff)
		}
	})
}

// rawJSON compares JSON text without its spaces and escapes.
func rawJSON() cmp.Option {
	return cmp.Comparer(func(x, y json.RawMessage) bool {
		one, errOne := profiles.Canonical(x)
		other, errOther := profiles.Canonical(y)
		return errOne == nil && errOther == nil && bytes.Equal(one, other) || len(x) == 0 && len(y) == 0
	})
}

func narrow(t *testing.T, a profiles.Agent, grants string) profiles.Agent {
	t.Helper()
	g, err := profiles.DecodeGrants([]byte(grants))
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Narrow(g)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNarrow pins what each part of grants takes away.
func TestNarrow(t *testing.T) {
	a := agent()
	a.Egress = profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
		{Host: "*.example.com", Ports: []int{443}, Methods: []string{"GET"}}, {Host: "one.test", AnyPort: true}, {Host: "10.0.0.0/8", Ports: []int{5432}},
		{Host: "127.0.0.0/8", Ports: []int{80}}, {Host: "2001:db8::1", Ports: []int{443}}}}
	verdict := func(t *testing.T, a profiles.Agent, executor, module string, want profiles.Verdict) {
		t.Helper()
		if got := profiles.NewDecider(a, "", home).Import(executor, module); got.Verdict != want {
			t.Errorf("%s %s: %+v", executor, module, got)
		}
	}
	t.Run("bridges", func(t *testing.T) {
		b := narrow(t, a, `{"bridges":{"spawnSubagent":{"calls":3},"tools.search":{"calls":300},"nobody":{}}}`)
		if len(b.Bridges) != 2 || b.Bridges["spawnSubagent"].Limits.CallsPerRun != 3 ||
			b.Bridges["tools.search"].Limits.CallsPerRun != 8 {
			t.Errorf("got %+v", b.Bridges)
		}
		if a.Bridges["spawnSubagent"].Limits.CallsPerRun != 8 || len(a.Bridges) != 3 {
			t.Error("the agent itself was narrowed")
		}
		if none := narrow(t, a, `{"bridges":{}}`); len(none.Bridges) != 0 {
			t.Errorf("got %+v", none.Bridges)
		}
	})
	t.Run("imports", func(t *testing.T) {
		b := narrow(t, a, `{"imports":["lodash-lite","pandas.core","numpy.*","os"]}`)
		for module, want := range map[string]profiles.Verdict{
			"lodash-lite": profiles.Allow, "policy:math": profiles.Deny, "@acme/x": profiles.Deny} {
			verdict(t, b, "js", module, want)
		}
		for module, want := range map[string]profiles.Verdict{
			"pandas.core": profiles.Allow, "pandas.core.a": profiles.Allow, "pandas": profiles.Deny,
			"numpy.linalg": profiles.Allow, "numpy": profiles.Deny, "os": profiles.Allow, "os.path": profiles.Deny, "json": profiles.Deny} {
			verdict(t, b, "python", module, want)
		}
	})
	t.Run("a name in Python's default set does not open what that leaves out", func(t *testing.T) {
		d := profiles.Agent{Python: &profiles.Python{Imports: profiles.Imports{Default: true}}}
		b := narrow(t, d, `{"imports":["http","json"]}`)
		for module, want := range map[string]profiles.Verdict{
			"http": profiles.Allow, "http.client": profiles.Deny, "json": profiles.Allow, "re": profiles.Deny} {
			verdict(t, b, "python", module, want)
		}
		verdict(t, narrow(t, d, `{"imports":[]}`), "python", "json", profiles.Deny)
	})
	t.Run("hosts", func(t *testing.T) {
		for _, tt := range []struct {
			grants string
			want   []string
		}{
			{`{"hosts":["api.example.com","a.b.example.com"]}`, []string{"a.b.example.com", "api.example.com"}},
			{`{"hosts":["*.b.example.com"]}`, []string{"*.b.example.com"}},
			{`{"hosts":["*.b.example.com","x.b.example.com"]}`, []string{"*.b.example.com"}},
			{`{"hosts":["*.example.com","example.com"]}`, []string{"*.example.com"}},
			{`{"hosts":["*.test.test","one.test","*.one.test"]}`, []string{"one.test"}},
			{`{"hosts":["10.1.0.0/16","10.2.3.4","11.0.0.0/8"]}`, []string{"10.1.0.0/16", "10.2.3.4"}},
			{`{"hosts":["2001:db8::/32"]}`, []string{"2001:db8::1"}},
			{`{"hosts":["127.0.0.1"]}`, nil},
			{`{"hosts":["evil.test"]}`, nil},
			{`{"hosts":[]}`, nil},
		} {
			b := narrow(t, a, tt.grants)
			var got []string
			for _, r := range b.Egress.Allow {
				got = append(got, r.Host)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tt.grants, diff)
			}
		}
		b := narrow(t, a, `{"hosts":["api.example.com"]}`)
		if r := b.Egress.Allow[0]; !slices.Equal(r.Ports, []int{443}) || !slices.Equal(r.Methods, []string{"GET"}) ||
			a.Egress.Allow[0].Host != "*.example.com" {
			t.Errorf("got %+v of %+v", r, a.Egress.Allow[0])
		}
		gateway := profiles.Agent{Egress: profiles.Egress{Mode: profiles.EgressGatewayOnly}}
		if b := narrow(t, gateway, `{"hosts":["one.test"]}`); b.Egress.Mode != profiles.EgressOff {
			t.Errorf("got %+v", b.Egress)
		}
		gateway.Egress.Gateways = []profiles.Gateway{{Name: "gateway", Credential: "k"}, {Name: "models"}}
		for grants, want := range map[string][]string{
			`{"hosts":["gateway.ringd.internal"]}`: {"gateway"}, `{"hosts":["*.ringd.internal","one.test"]}`: {"gateway", "models"},
			`{"hosts":["ringd.internal","one.test"]}`: nil, `{"hosts":["*.gateway.ringd.internal"]}`: nil, `{"hosts":[]}`: nil,
		} {
			b := narrow(t, gateway, grants)
			var got []string
			for _, g := range b.Egress.Gateways {
				got = append(got, g.Name)
			}
			if mode := map[bool]string{true: profiles.EgressGatewayOnly,
				false: profiles.EgressOff}[len(want) > 0]; !slices.Equal(got, want) || b.Egress.Mode != mode {
				t.Errorf("%s: got %+v", grants, b.Egress)
			}
		}
		if len(gateway.Egress.Gateways) != 2 || gateway.Egress.Gateways[0].Credential != "k" {
			t.Errorf("the agent was changed: %+v", gateway.Egress)
		}
		limited := profiles.Agent{Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
			{Host: "*.example.com", Ports: []int{443}, Limits: profiles.EgressLimits{UpBytes: 7}}}}}
		for _, r := range narrow(t, limited, `{"hosts":["a.example.com","b.example.com"]}`).Egress.Allow {
			if r.Of != "*.example.com" || r.Limits.UpBytes != 7 {
				t.Errorf("got %+v, which has a limit of its own", r)
			}
		}
		if b := narrow(t, gateway, `{"imports":[]}`); b.Egress.Mode != profiles.EgressGatewayOnly {
			t.Errorf("got %+v", b.Egress)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		late, early := narrow(t, a, `{"deadline":"2026-11-21T12:00:00+01:00"}`),
			time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
		if late.Deadline == nil || !late.Deadline.Equal(early) || a.Deadline != nil {
			t.Errorf("got %v", late.Deadline)
		}
		if b := narrow(t, late, `{"deadline":"2026-11-22T12:00:00Z"}`); !b.Deadline.Equal(early) {
			t.Errorf("a later deadline counts: %v", b.Deadline)
		}
	})
}

func TestCheckGrants(t *testing.T) {
	a := agent()
	a.Egress.Gateways = []profiles.Gateway{{Name: "gateway"}}
	for grants, want := range map[string]string{
		`{}`: "",
		`{"bridges":{"tools.search":{}},"imports":["lodash-lite","pandas.core","numpy"],"hosts":["api.example.com"]}`: "",
		`{"bridges":{"tools.serach":{}}}`: "bridge tools.serach",
		`{"imports":["requests"]}`:        "module requests",
		`{"imports":["tools/a"]}`:         "module tools/a",
		`{"hosts":["other.example.com"]}`: "host other.example.com",

		`{"hosts":["api.example.com","gateway.ringd.internal"]}`: "",
		`{"hosts":["models.ringd.internal"]}`:                    "host models.ringd.internal",
		`{"bridges":{"a":{},"b":{}}}`:                            "bridge a, bridge b",
		`{"bridges":{"alias":{"calls":1}}}`:                      "", // it stands there, and is no grant
	} {
		g, err := profiles.DecodeGrants([]byte(grants))
		if err != nil {
			t.Fatal(err)
		}
		switch err := a.CheckGrants(g); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", grants, err)
		case want != "" && (!errors.Is(err, profiles.ErrGrants) ||
			!strings.HasSuffix(err.Error(), "the agent does not have "+want)):
			t.Errorf("%s: got %v, want %s", grants, err, want)
		}
	}
	for mode, want := range map[string]string{profiles.EgressAllowlist: "",
		profiles.EgressGatewayOnly: "host api.example.com",
		profiles.EgressOff:         "host api.example.com, host gateway.ringd.internal"} {
		a.Egress.Mode = mode
		err := a.CheckGrants(profiles.Grants{Hosts: []string{"api.example.com", "gateway.ringd.internal"}})
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.HasSuffix(err.Error(), "does not have "+want)) {
			t.Errorf("mode %s: got %v, want %q", mode, err, want)
		}
	}
	bad := profiles.Grants{Hosts: []string{"*"}}
	if _, err := a.Narrow(bad); !errors.Is(err, profiles.ErrGrants) {
		t.Errorf("Narrow: %v", err)
	}
	if err := a.CheckGrants(bad); !errors.Is(err, profiles.ErrGrants) {
		t.Errorf("CheckGrants: %v", err)
	}
}

// someAgent is a random agent with hosts, schemas and approvals.
func someAgent(r *rand.Rand) profiles.Agent {
	a := anyAgent(r)
	for name, b := range a.Bridges {
		if r.IntN(2) > 0 {
			b.Arguments = json.RawMessage(anySchema(r))
		}
		if r.IntN(2) > 0 {
			b.Approval = &profiles.Approval{Count: 1, When: pick(r, "", "odd")}
		}
		a.Bridges[name] = b
	}
	return a
}

func anySchema(r *rand.Rand) string {
	return pick(r, `true`, `{"type":"integer"}`, `{"minimum":3}`, `{"maximum":5}`, `{"enum":[1,2,3,"a"]}`,
		`{"not":{"const":4}}`, `{"type":["string","integer"],"maxLength":2}`)
}

func someGrants(r *rand.Rand) profiles.Grants {
	var g profiles.Grants
	if r.IntN(3) > 0 {
		g.Bridges = map[string]profiles.GrantOfBridge{}
		for _, n := range []string{"one", "two", "tools.search", "x"} {
			if r.IntN(3) > 0 {
				var b profiles.GrantOfBridge
				if r.IntN(2) > 0 {
					n := int64(r.IntN(12))
					b.Calls = &n
				}
				if r.IntN(2) > 0 {
					b.Arguments = json.RawMessage(anySchema(r))
				}
				g.Bridges[n] = b
			}
		}
	}
	if r.IntN(3) > 0 {
		g.Imports = []string{}
		for range r.IntN(6) {
			if m := anyModule(r); !strings.Contains(m, "/") || !strings.Contains(m, ".") {
				g.Imports = append(g.Imports, m+pick(r, "", "", ".*"))
			}
		}
	}
	if r.IntN(3) > 0 {
		g.Hosts = []string{}
		for range r.IntN(5) {
			g.Hosts = append(g.Hosts, anyHost(r))
		}
	}
	if r.IntN(3) > 0 {
		at := time.Unix(int64(r.IntN(9)), 0).UTC()
		g.Deadline = &at
	}
	return g
}

// fits reports whether an argument fits every schema of a bridge.
func fits(t *testing.T, b profiles.Bridge, argument any) bool {
	t.Helper()
	all := slices.Clone(b.Also)
	if b.Arguments != nil {
		all = append(all, b.Arguments)
	}
	for i, text := range all {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("test:"+strconv.Itoa(i), doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("test:" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(argument) != nil {
			return false
		}
	}
	return true
}

// TestNarrowNeverWidens holds, over random agents, grants and actions, that a
// narrowed agent gets no looser verdict, takes no more arguments, reaches no more
// hosts and has no more calls; that narrowing twice is narrowing once; and that
// the order of two narrowings does not matter.
func TestNarrowNeverWidens(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := home
	odd.Condition = func(_ string, c profiles.Call) (bool, error) { return len(c.Args)%2 == 1, nil }
	must := func(a profiles.Agent, g profiles.Grants) profiles.Agent {
		t.Helper()
		out, err := a.Narrow(g)
		if err != nil {
			t.Fatalf("%+v: %v", g, err)
		}
		return out
	}
	seen := map[string]int{}
	for range 600 {
		a, g, h := someAgent(r), someGrants(r), someGrants(r)
		b := must(a, g)
		if diff := cmp.Diff(b, must(b, g)); diff != "" {
			t.Fatalf("narrowed twice by %+v\n%s", g, diff)
		}
		if diff := cmp.Diff(must(b, h), must(must(a, h), g), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("another order of %+v and %+v\n%s", g, h, diff)
		}
		wide, thin := profiles.NewDecider(a, "", odd), profiles.NewDecider(b, "", odd)
		for range 30 {
			action := anyAction(r)
			before, after := wide.Decide(action), thin.Decide(action)
			if after.Verdict > before.Verdict {
				text, _ := json.Marshal(action)
				t.Fatalf("%s: %+v became %+v by %+v", text, before, after, g)
			}
			if after.Verdict < before.Verdict {
				seen["verdict"]++
			}
		}
		for name, after := range b.Bridges {
			before, had := a.Bridges[name]
			if !had || after.Limits.CallsPerRun > before.Limits.CallsPerRun ||
				!cmp.Equal(after.Approval, before.Approval) {
				t.Fatalf("%s: %+v became %+v", name, before, after)
			}
			if after.Limits.CallsPerRun < before.Limits.CallsPerRun {
				seen["calls"]++
			}
			for _, argument := range []any{json.Number("1"), json.Number("4"), json.Number("7"), json.Number("2.5"),
				"a", "abc", nil} {
				was, is := fits(t, before, argument), fits(t, after, argument)
				if is && !was {
					t.Fatalf("%v fits %s and did not fit %s", argument, after.Also, before.Arguments)
				}
				if was && !is {
					seen["arguments"]++
				}
			}
		}
		for range 5 {
			what, less := looser(r, wide, thin)
			if what != "" {
				t.Fatalf("it %s: %+v became %+v", what, a.Egress, b.Egress)
			}
			if less {
				seen["hosts"]++
			}
		}
		if b.Deadline == nil && g.Deadline != nil || g.Deadline != nil && b.Deadline.After(*g.Deadline) {
			t.Fatalf("deadline %v became %v", g.Deadline, b.Deadline)
		}
	}
	for _, kind := range []string{"verdict", "calls", "arguments", "hosts"} {
		if seen[kind] < 20 {
			t.Errorf("%s changed %d times: the test proves nothing about it", kind, seen[kind])
		}
	}
}

// Handed down, a bridge with a number of calls is none, and all else stays.
func TestHanded(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                            `{}`,
		`{"bridges":{}}`:                `{"bridges":{}}`,
		`{"bridges":{"a":{"calls":1}}}`: `{"bridges":{}}`,
		`{"bridges":{"a":{"calls":0},"b":{},"c":{"arguments":{"type":"object"}}},"hosts":[],"imports":["m"],"deadline":"2026-11-22T12:00:00Z"}`: `{"bridges":{"b":{},"c":{"arguments":{"type":"object"}}},"hosts":[],"imports":["m"],"deadline":"2026-11-22T12:00:00Z"}`,
	} {
		g, err := profiles.DecodeGrants([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(g.Handed())
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v", in, got, err)
		}
		if _, again := json.Marshal(g); again != nil || len(g.Bridges) > 0 &&
			len(g.Handed().Handed().Bridges) != len(g.Handed().Bridges) {
			t.Errorf("%s: handed twice it differs", in)
		}
	}
}
