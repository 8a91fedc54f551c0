package layers_test

import (
	"slices"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/schema"
)

// proof shows what one field does under a ceiling: wide is refused, narrow is not, and
// after drop, which leaves it out, stays says that what is above still stands.
type proof struct {
	field        string
	code         string // of wide; "": widens-parent
	wide, narrow func(*schema.Spec, *schema.Policy)
	drop         func(*schema.Spec, *schema.Policy)
	stays        func(*schema.Spec) bool
}

func proofs() []proof {
	return slices.Concat(documentProofs(), executorProofs(), programProofs(), bridgeProofs(), reachProofs(),
		limitProofs())
}

type (
	spec   = *schema.Spec
	policy = *schema.Policy
)

func ptr[T any](v T) *T { return &v }

// of makes changes of one string or list of a spec.
func of[T any](at func(spec) *T, v T) func(spec, policy) {
	return func(s spec, _ policy) { *at(s) = v }
}

func value[T any](field string, at func(spec) *T, wide, narrow T) proof {
	return proof{field: field, wide: of(at, wide), narrow: of(at, narrow)}
}

// taken is a field that an agent leaves out, and then has from above.
func taken[T any](field string, at func(spec) *T, wide, narrow T, same func(T) bool) proof {
	p := value(field, at, wide, narrow)
	var zero T
	p.drop = of(at, zero)
	p.stays = func(s spec) bool { return same(*at(s)) }
	return p
}

func is[T comparable](want T) func(T) bool { return func(v T) bool { return v == want } }
func has[T comparable](want ...T) func([]T) bool {
	return func(v []T) bool { return slices.Equal(v, want) }
}
func to[T comparable](want T) func(*T) bool {
	return func(v *T) bool { return v != nil && *v == want }
}

// stated is a word that only the owner sets.
func stated[T any](field, code string, at func(spec) *T, other T) proof {
	return proof{field: field, code: code, wide: of(at, other)}
}

// denies is a list that accumulates.
func denies[T any](field string, at func(spec) *[]T, more T, same func([]T) bool) proof {
	return proof{field: field, narrow: func(s spec, _ policy) { *at(s) = append(*at(s), more) }, drop: of(at, nil),
		stays: func(s spec) bool { return same(*at(s)) }}
}

func count[T any](n int) func([]T) bool { return func(v []T) bool { return len(v) == n } }

func documentProofs() []proof {
	touch := func(field string, at func(*schema.Touches) **bool) proof {
		in := func(s spec) **bool { return at(s.Inputs.Powers) }
		was := field != "Touches.External"
		return proof{field: field, code: layers.CodePowerMismatch, wide: of(in, ptr(!was)), drop: of(in, nil),
			stays: func(s spec) bool { return to(was)(*in(s)) }}
	}
	module := func(at func(*schema.ModuleSource), name string) func(spec, policy) {
		return func(s spec, _ policy) {
			m := s.Modules[name]
			at(&m)
			s.Modules[name] = m
		}
	}
	rail := func(s spec) *schema.Guardrail { return &s.Guardrails[0] }
	return []proof{
		{field: "Metadata.Name", wide: func(s spec, p policy) { s.Agents, p.Metadata.Name = nil, "stranger" }, narrow: func(s spec, p policy) { s.Agents = nil }},
		value("Spec.Mode", func(s spec) *string { return &s.Mode }, "audit", ""),
		{field: "Spec.Audit", drop: of(func(s spec) *string { return &s.Audit }, ""), stays: func(s spec) bool { return s.Audit == "strict" }},
		{field: "AgentMatch.Match", wide: func(s spec, _ policy) { s.Agents[1].Match = "stranger" }, narrow: func(s spec, _ policy) { s.Agents = s.Agents[:1] }},
		taken("AgentMatch.Identities", func(s spec) *[]string { return &s.Agents[0].Identities },
			[]string{"spiffe://a", "spiffe://b"}, []string{"spiffe://a"}, has("spiffe://a")),
		taken("Data.MaxClass", func(s spec) *string { return &s.Data.MaxClass }, "restricted", "public",
			is("confidential")),
		taken("Data.Residency", func(s spec) *[]string { return &s.Data.Residency }, []string{"eu", "cn"},
			[]string{"eu"}, has("eu", "us")),
		taken("RuleOfTwo.Scope", func(s spec) *string { return &s.RuleOfTwo.Scope }, "run", "session", is("session")),
		taken("RuleOfTwo.OnThree", func(s spec) *string { return &s.RuleOfTwo.OnThree }, "require-approval", "deny",
			is("deny")),
		taken("RuleOfTwo.Mode", func(s spec) *string { return &s.RuleOfTwo.Mode }, "report", "enforce", is("dynamic")),
		touch("Touches.Sensitive", func(t *schema.Touches) **bool { return &t.Sensitive }),
		touch("Touches.Untrusted", func(t *schema.Touches) **bool { return &t.Untrusted }),
		touch("Touches.External", func(t *schema.Touches) **bool { return &t.External }),
		{field: "ModuleSource.Source", wide: module(func(m *schema.ModuleSource) { m.Source = "export default 2" }, "one"), drop: func(s spec, _ policy) { s.Modules = nil },
			stays: func(s spec) bool { return len(s.Modules) == 2 }},
		{field: "ModuleSource.File", wide: module(func(m *schema.ModuleSource) { m.File = "modules/other.js" }, "two")},
		{field: "ModuleSource.Digest", wide: module(func(m *schema.ModuleSource) { m.Digest = "" }, "two")},
		denies("Guardrail.Name", func(s spec) *[]schema.Guardrail { return &s.Guardrails },
			schema.Guardrail{Name: "three"}, count[schema.Guardrail](2)),
		stated("Guardrail.On", "", func(s spec) *string { return &rail(s).On }, "call"),
		stated("Guardrail.Rego", "", func(s spec) *string { return &rail(s).Rego }, "package ringd.calls"),
		stated("Guardrail.File", "", func(s spec) *string { return &s.Guardrails[1].File }, "guardrails/other.rego"),
		stated("Guardrail.OnError", "", func(s spec) *string { return &rail(s).OnError }, ""),
	}
}

func executorProofs() []proof {
	py := func(s spec) *schema.Python { return s.Executors.Python }
	js := func(s spec) *schema.JS { return s.Executors.JS }
	return []proof{
		{field: "Executors.Allowed", narrow: of(func(s spec) *[]string { return &s.Executors.Allowed }, []string{"js"}),
			wide: of(func(s spec) *[]string { return &s.Executors.Allowed }, []string{"js", "ruby"})},
		taken("Executors.MinTier", func(s spec) *string { return &s.Executors.MinTier }, "process", "remote",
			is("wasm")),
		value("Imports.Allow", func(s spec) *[]string { return &js(s).Imports.Allow }, []string{"one", "four"},
			[]string{"one"}),
		denies("Imports.Deny", func(s spec) *[]string { return &js(s).Imports.Deny }, "two/sub", has("three")),
		{field: "Imports.Allow", code: layers.CodeDeniedByParent, wide: of(func(s spec) *[]string { return &js(s).Imports.Allow }, []string{"three/sub"})},
		denies("JS.DenyGlobals", func(s spec) *[]string { return &js(s).DenyGlobals }, "Function", has("eval")),
		value("PythonImports.Allow", func(s spec) *[]string { return &py(s).Imports.Allow }, []string{"numpy", "json"},
			[]string{"pandas.core", "json.decoder"}),
		value("PythonImports.Allow", func(s spec) *[]string { return &py(s).Imports.Allow }, []string{"*"},
			[]string{"pandas"}),
		{field: "PythonImports.Allow", drop: of(func(s spec) *[]string { return &py(s).Imports.Allow }, []string{}),
			stays: func(s spec) bool { return has("json", "pandas")(py(s).Imports.Within) }},
		denies("PythonImports.Deny", func(s spec) *[]string { return &py(s).Imports.Deny }, "pandas.io",
			has("requests")),
		{field: "PythonImports.Deny", code: layers.CodeDeniedByParent, wide: of(func(s spec) *[]string { return &py(s).Imports.Allow }, []string{"requests.api"})},
		denies("PythonImports.DenyProcess", func(s spec) *[]string { return &py(s).Imports.DenyProcess }, "socket",
			has("ctypes")),
		denies("Python.DenyBuiltins", func(s spec) *[]string { return &py(s).DenyBuiltins }, "eval", has("input")),
		value("Environment.Path", func(s spec) *[]schema.Environment { return &py(s).Environments },
			[]schema.Environment{{Path: "/srv/c"}}, []schema.Environment{{Path: "/srv/b", Digest: "x"}}),
		{field: "Environment.Path", drop: of(func(s spec) *[]schema.Environment { return &py(s).Environments }, nil), stays: func(s spec) bool { return len(py(s).Environments) == 2 }},
		taken("Environment.Digest", func(s spec) *string { return &py(s).Environments[0].Digest }, "sha256:c", "",
			func(d string) bool { return len(d) == 71 }),
		taken("Python.OnDenied", func(s spec) *string { return &py(s).OnDenied }, "report", "end", is("end")),
		taken("Python.Tier", func(s spec) *string { return &py(s).Tier }, "wasm", "os-sandbox", is("os-sandbox")),
		value("Python.JIT", func(s spec) **bool { return &py(s).JIT }, ptr(true), nil),
	}
}

func programProofs() []proof {
	sh := func(s spec) *schema.Shell { return s.Executors.Shell }
	git := func(s spec) *schema.Binary { return &sh(s).Binaries[0] }
	ask := func(s spec) *schema.WordsApproval { return git(s).Args.Ask[0].Approval }
	patterns := func(s spec) *[]schema.DenyPattern { return &sh(s).DenyPatterns }
	kept := func(is func(schema.DenyPattern) bool) func(spec) bool {
		return func(s spec) bool { return is((*patterns(s))[0]) }
	}
	return []proof{
		taken("Shell.Env", func(s spec) *map[string]string { return &sh(s).Env }, map[string]string{"LANG": "D"},
			map[string]string{"GREETING": "hi"}, func(m map[string]string) bool { return m["LANG"] == "C" }),
		value("Shell.Env", func(s spec) *map[string]string { return &sh(s).Env },
			map[string]string{"LD_PRELOAD": "/tmp/x.so"}, nil),
		value("Shell.AllowPipes", func(s spec) **bool { return &sh(s).AllowPipes }, ptr(true), nil),
		value("Shell.AllowRedirects", func(s spec) **bool { return &sh(s).AllowRedirects }, ptr(true), nil),
		value("Shell.AllowSubstitution", func(s spec) **bool { return &sh(s).AllowSubstitution }, ptr(true), nil),
		value("Shell.JIT", func(s spec) **bool { return &sh(s).JIT }, ptr(true), nil),
		taken("Shell.Audit", func(s spec) *string { return &sh(s).Audit }, "metadata", "full", is("full")),
		value("Binary.Path", func(s spec) *[]schema.Binary { return &sh(s).Binaries },
			[]schema.Binary{{Path: "/usr/bin/make"}}, []schema.Binary{{Path: "/usr/bin/jq"}}),
		taken("Binary.Env", func(s spec) *map[string]string { return &git(s).Env },
			map[string]string{"GIT_PAGER": "/tmp/x"}, nil, func(m map[string]string) bool {
				return m["GIT_PAGER"] == "cat"
			}),
		value("Binary.Helpers", func(s spec) *[]string { return &git(s).Helpers }, []string{"/usr/bin/sh"},
			[]string{"/usr/lib/git-core/git-log"}),
		{field: "Binary.Helpers", wide: of(func(s spec) *[]string { return &sh(s).Binaries[1].Helpers }, []string{"/usr/bin/sh"})},
		value("Binary.Network", func(s spec) **bool { return &git(s).Network }, ptr(true), nil),
		taken("Args.Subcommands", func(s spec) *[]string { return &git(s).Args.Subcommands },
			[]string{"status", "push"}, []string{"remote show"}, has("status", "remote")),
		denies("Args.DenyFlags", func(s spec) *[]string { return &git(s).Args.DenyFlags }, "-f", has("--force")),
		taken("Args.SafeConfig", func(s spec) **bool { return &git(s).Args.SafeConfig }, ptr(false), ptr(true),
			to(true)),
		taken("Args.MaxArgs", func(s spec) **int { return &git(s).Args.MaxArgs }, ptr(11), ptr(9), to(10)),
		taken("Args.Force", func(s spec) *[]string { return &git(s).Args.Force }, []string{"-C", "/"},
			[]string{"--no-pager"}, has("--no-pager")),
		denies("DenyWords.Words", func(s spec) *[]schema.DenyWords { return &git(s).Args.Deny },
			schema.DenyWords{Words: "remote rm"},
			func(w []schema.DenyWords) bool { return len(w) == 1 && w[0].Words == "remote add" }),
		denies("DenyWords.Because", func(s spec) *[]schema.DenyWords { return &git(s).Args.Deny },
			schema.DenyWords{Words: "remote rm"}, func(w []schema.DenyWords) bool { return w[0].Because == "no" }),
		denies("DenyWords.Instead", func(s spec) *[]schema.DenyWords { return &git(s).Args.Deny },
			schema.DenyWords{Words: "remote rm"}, func(w []schema.DenyWords) bool { return w[0].Instead == "ask" }),
		denies("AskWords.Words", func(s spec) *[]schema.AskWords { return &git(s).Args.Ask },
			schema.AskWords{Words: "status"},
			func(w []schema.AskWords) bool { return len(w) == 1 && w[0].Words == "remote show" }),
		taken("WordsApproval.From", func(s spec) *[]string { return &ask(s).From }, []string{"group:c", "group:a"},
			[]string{"group:a"}, has("group:a", "group:b")),
		taken("WordsApproval.Count", func(s spec) **int64 { return &ask(s).Count }, ptr[int64](1), ptr[int64](3),
			to[int64](2)),
		taken("WordsApproval.ExpiresAfter", func(s spec) *string { return &ask(s).ExpiresAfter }, "3h", "1h", is("2h")),
		taken("WordsApproval.Hold", func(s spec) *string { return &ask(s).Hold }, "3m", "1m", is("2m")),
		denies("DenyPattern.Pattern", patterns, schema.DenyPattern{Pattern: "dd"},
			func(p []schema.DenyPattern) bool { return len(p) == 1 && p[0].Pattern == "rm -rf" }),
		{field: "DenyPattern.Kind", drop: of(patterns, nil), stays: kept(func(p schema.DenyPattern) bool { return p.Kind == "argv" })},
		{field: "DenyPattern.Reason", drop: of(patterns, nil), stays: kept(func(p schema.DenyPattern) bool { return p.Reason == "no" })},
		{field: "DenyPattern.Instead", drop: of(patterns, nil), stays: kept(func(p schema.DenyPattern) bool { return p.Instead == "ask" })},
	}
}

func bridgeProofs() []proof {
	b := func(s spec) *schema.Bridge { return &s.Bridges[0] }
	limit := func(name string, at func(*schema.BridgeLimits) **int64, above int64) proof {
		in := func(s spec) **int64 { return at(b(s).Limits) }
		return taken("BridgeLimits."+name, in, ptr(above+1), ptr(above-1), to(above))
	}
	ask := func(s spec) *schema.Approval { return b(s).Approval }
	fits := func(field string, at func(spec) *[]byte, also func(spec) [][]byte, above string) proof {
		return proof{field: field, drop: of(at, []byte(`{"minLength":1}`)), stays: func(s spec) bool {
			return string(*at(s)) == `{"minLength":1}` && len(also(s)) == 1 && string(also(s)[0]) == above
		}}
	}
	return []proof{
		{field: "Bridge.Name", wide: func(s spec, _ policy) { b(s).Name = "quer" }, narrow: func(s spec, _ policy) { s.Bridges = s.Bridges[1:] }},
		stated("Powers.Sensitive", layers.CodePowerMismatch, func(s spec) *bool { return &b(s).Powers.Sensitive },
			false),
		stated("Powers.Untrusted", layers.CodePowerMismatch, func(s spec) *bool { return &b(s).Powers.Untrusted },
			true),
		stated("Powers.External", layers.CodePowerMismatch, func(s spec) *bool { return &b(s).Powers.External }, false),
		taken("Bridge.DataClass", func(s spec) *string { return &b(s).DataClass }, "public", "confidential",
			is("internal")),
		taken("Bridge.Executors", func(s spec) *[]string { return &b(s).Executors }, []string{"js", "shell"},
			[]string{"js"}, has("js", "python")),
		fits("Bridge.Arguments", func(s spec) *[]byte { return &b(s).Arguments },
			func(s spec) [][]byte { return b(s).Also }, `{"type":"object"}`),
		fits("Bridge.Result", func(s spec) *[]byte { return &b(s).Result },
			func(s spec) [][]byte { return b(s).AlsoResult }, `{"type":"string"}`),
		taken("Bridge.Arguments", func(s spec) *[]byte { return &b(s).Arguments }, nil, nil,
			func(t []byte) bool { return string(t) == `{"type":"object"}` }).unbounded(),
		limit("CallsPerRun", func(l *schema.BridgeLimits) **int64 { return &l.CallsPerRun }, 10),
		limit("Concurrent", func(l *schema.BridgeLimits) **int64 { return &l.Concurrent }, 10),
		limit("Queue", func(l *schema.BridgeLimits) **int64 { return &l.Queue }, 10),
		taken("BridgeLimits.WhenFull", func(s spec) *string { return &b(s).Limits.WhenFull }, "wait", "refuse", is("refuse")),
		limit("SpawnPerCall", func(l *schema.BridgeLimits) **int64 { return &l.SpawnPerCall }, 10),
		limit("Depth", func(l *schema.BridgeLimits) **int64 { return &l.Depth }, 3),
		limit("TotalSpawn", func(l *schema.BridgeLimits) **int64 { return &l.TotalSpawn }, 10),
		taken("BridgeLimits.RequestBytes", func(s spec) *string { return &b(s).Limits.RequestBytes }, "2MiB", "1023KiB",
			is("1MiB")),
		taken("BridgeLimits.ResponseBytes", func(s spec) *string { return &b(s).Limits.ResponseBytes }, "1025KiB", "1B",
			is("1MiB")),
		taken("BridgeLimits.Timeout", func(s spec) *string { return &b(s).Limits.Timeout }, "61s", "59s", is("1m")),
		{field: "Approval.Required", wide: func(s spec, _ policy) { b(s).Approval = &schema.Approval{} }, narrow: func(s spec, _ policy) { b(s).Approval = &schema.Approval{Required: true} },
			drop:  func(s spec, _ policy) { b(s).Approval = nil },
			stays: func(s spec) bool { return b(s).Approval.Required }},
		taken("Approval.From", func(s spec) *[]string { return &ask(s).From }, []string{"group:a", "user:eve"},
			[]string{"group:b"}, has("group:a", "group:b")),
		taken("Approval.Count", func(s spec) **int64 { return &ask(s).Count }, ptr[int64](1), ptr[int64](3),
			to[int64](2)),
		taken("Approval.ExpiresAfter", func(s spec) *string { return &ask(s).ExpiresAfter }, "121m", "1h", is("2h")),
		taken("Approval.Hold", func(s spec) *string { return &ask(s).Hold }, "121s", "1m", is("2m")),
		value("Approval.When", func(s spec) *string { return &ask(s).When }, "input.args.a > 2", ""),
		{field: "Approval.When", wide: func(s spec, _ policy) { s.Bridges[1].Approval.When = "input.args.a > 2" }},
		taken("Bridge.Audit", func(s spec) *string { return &b(s).Audit }, "metadata", "full", is("full")),
	}
}

// unbounded is a proof of what is taken from above alone.
func (p proof) unbounded() proof {
	p.wide, p.narrow = nil, nil
	return p
}

func reachProofs() []proof {
	fs := func(s spec) *schema.Filesystem { return s.Filesystem }
	e := func(s spec) *schema.Egress { return &s.Network.Egress[0] }
	g := func(s spec) *schema.Gateway { return &s.Network.Gateways[0] }
	return []proof{
		value("Filesystem.Read", func(s spec) *[]string { return &fs(s).Read }, []string{"/etc"},
			[]string{"$WORKSPACE/a"}),
		value("Filesystem.Write", func(s spec) *[]string { return &fs(s).Write }, []string{"$WORKSPACE"},
			[]string{"$WORKSPACE/out/a"}),
		denies("Filesystem.Deny", func(s spec) *[]string { return &fs(s).Deny }, "/x", has("$WORKSPACE/.env")),
		{field: "Filesystem.Deny", code: layers.CodeDeniedByParent, wide: of(func(s spec) *[]string { return &fs(s).Read }, []string{"$WORKSPACE/.env/a"})},
		value("Network.Mode", func(s spec) *string { return &s.Network.Mode }, "allowlist", "off"),
		denies("Network.Deny", func(s spec) *[]string { return &s.Network.Deny }, "x.test", has("pastebin.com")),
		{field: "Network.Deny", code: layers.CodeDeniedByParent, wide: of(func(s spec) *string { return &e(s).Host }, "pastebin.com")},
		value("Egress.Host", func(s spec) *string { return &e(s).Host }, "acme.example", "api.acme.example"),
		value("Egress.Ports", func(s spec) *[]int { return &e(s).Ports }, []int{80, 443}, []int{80}),
		taken("Egress.Methods", func(s spec) *[]string { return &e(s).Methods }, []string{"GET", "POST"},
			[]string{"GET"}, has("GET", "HEAD")),
		taken("Egress.Paths", func(s spec) *[]string { return &e(s).Paths }, []string{"/v2"}, []string{"/v1/a"},
			has("/v1")),
		taken("Egress.TLS", func(s spec) *string { return &e(s).TLS }, "inspect", "passthrough", is("passthrough")),
		value("Egress.ECH", func(s spec) **bool { return &e(s).ECH }, ptr(true), nil),
		taken("Egress.Expires", func(s spec) *string { return &e(s).Expires }, "2027-01-01T00:00:01Z", "2026-12-31",
			is("2027-01-01")),
		taken("Egress.Binaries", func(s spec) *[]string { return &e(s).Binaries }, []string{"/usr/bin/curl"},
			[]string{"/usr/bin/jq"}, has("/usr/bin/git", "/usr/bin/jq")),
		taken("EgressLimits.Up", func(s spec) *string { return &e(s).Limits.Up }, "2MiB", "1B", is("1MiB")),
		taken("EgressLimits.Down", func(s spec) *string { return &e(s).Limits.Down }, "2MiB", "1B", is("1MiB")),
		taken("EgressLimits.Rate", func(s spec) *string { return &e(s).Limits.Rate }, "1/s", "9/m", is("10/m")),
		taken("EgressLimits.Connections", func(s spec) **int64 { return &e(s).Limits.Connections }, ptr[int64](6),
			ptr[int64](4), to[int64](5)),
		taken("EgressLimits.Up", func(s spec) *string { return &g(s).Limits.Up }, "2MiB", "1B", is("1MiB")),
		{field: "Touches.External", code: layers.CodePowerMismatch, wide: of(func(s spec) **bool { return &e(s).Powers.External }, ptr(false))},
		{field: "Touches.External", code: layers.CodePowerMismatch, wide: of(func(s spec) **bool { return &g(s).Powers.External }, ptr(false))},
		{field: "Touches.Sensitive", code: layers.CodePowerMismatch, wide: of(func(s spec) **bool { return &fs(s).Powers.Sensitive }, ptr(false))},
		{field: "Gateway.Name", wide: func(s spec, _ policy) { g(s).Name = "three" }, narrow: func(s spec, _ policy) { s.Network.Gateways = s.Network.Gateways[1:] }},
		taken("Gateway.Upstream", func(s spec) *string { return &g(s).Upstream }, "https://evil.example",
			"https://one.example:443", is("https://one.example")),
		taken("Gateway.Addresses", func(s spec) *[]string { return &g(s).Addresses }, []string{"192.168.0.1"},
			[]string{"10.1.2.3"}, has("10.0.0.0/8")),
		taken("Gateway.Credential", func(s spec) *string { return &g(s).Credential }, "other", "key", is("key")),
		taken("Gateway.Methods", func(s spec) *[]string { return &g(s).Methods }, []string{"POST"}, []string{"GET"},
			has("GET", "HEAD")),
		taken("Gateway.Paths", func(s spec) *[]string { return &g(s).Paths }, []string{"/"}, []string{"/v1/a"},
			has("/v1")),
		taken("Gateway.Headers", func(s spec) *[]string { return &g(s).Headers }, []string{"x-other"},
			[]string{"x-one"}, has("x-one", "x-two")),
		// A gateway above without the list allows none.
		{field: "Gateway.Headers", wide: of(func(s spec) *[]string { return &s.Network.Gateways[1].Headers }, []string{"x-other"})},
		{field: "Gateway.Addresses", wide: of(func(s spec) *[]string { return &s.Network.Gateways[1].Addresses }, []string{"10.1.2.3"})},
		taken("Gateway.Expires", func(s spec) *string { return &g(s).Expires }, "2028-01-01", "2026-12-31",
			is("2027-01-01")),
	}
}

func limitProofs() (out []proof) {
	text := func(name, wide, narrow, above string, at func(*schema.Limits) *string) {
		out = append(out, taken("Limits."+name, func(s spec) *string { return at(s.Limits) }, wide, narrow, is(above)))
	}
	number := func(name string, at func(*schema.Limits) **int64) {
		out = append(out, taken("Limits."+name, func(s spec) **int64 { return at(s.Limits) }, ptr[int64](11),
			ptr[int64](9), to[int64](10)))
	}
	text("CPU", "61s", "59s", "1m", func(l *schema.Limits) *string { return &l.CPU })
	text("Memory", "3GiB", "2047MiB", "2GiB", func(l *schema.Limits) *string { return &l.Memory })
	text("Wall", "2h", "59m", "1h", func(l *schema.Limits) *string { return &l.Wall })
	text("Output", "2MiB", "1B", "1MiB", func(l *schema.Limits) *string { return &l.Output })
	text("Result", "2MiB", "1B", "1MiB", func(l *schema.Limits) *string { return &l.Result })
	text("Stack", "2MiB", "64KiB", "1MiB", func(l *schema.Limits) *string { return &l.Stack })
	text("Pause", "25h", "1h", "24h", func(l *schema.Limits) *string { return &l.Pause })
	number("Processes", func(l *schema.Limits) **int64 { return &l.Processes })
	number("Files", func(l *schema.Limits) **int64 { return &l.Files })
	number("RefusedCalls", func(l *schema.Limits) **int64 { return &l.RefusedCalls })
	return append(out,
		taken("Limits.Memory", func(s spec) *string { return &s.Executors.JS.Limits.Memory }, "65MiB", "63MiB",
			is("64MiB")),
		taken("Limits.Memory", func(s spec) *string { return &s.Executors.Python.Limits.Memory }, "2GiB", "512MiB",
			is("1GiB")),
		taken("Limits.Memory", func(s spec) *string { return &s.Executors.Shell.Limits.Memory }, "1GiB", "256MiB",
			is("512MiB")),
		// above for all executors alone
		value("Limits.Wall", func(s spec) *string { return &s.Executors.Shell.Limits.Wall }, "2h", "30m"),
		taken("Sessions.MaxAge", func(s spec) *string { return &s.Sessions.MaxAge }, "2h", "59m", is("1h")),
		taken("Sessions.MaxSize", func(s spec) *string { return &s.Sessions.MaxSize }, "2MiB", "65KiB", is("1MiB")))
}
