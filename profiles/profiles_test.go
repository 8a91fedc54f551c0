package profiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

func rule(line int, path string) profiles.Rule {
	return profiles.Rule{File: "policy.yaml", Line: line, Column: 3, Path: path}
}

func imports(allow, deny []string) profiles.Imports {
	var im profiles.Imports
	for i, n := range allow {
		im.Allow = append(im.Allow, profiles.ImportRule{Name: n, Rule: rule(10+i, fmt.Sprintf("allow[%d]", i))})
	}
	for i, n := range deny {
		im.Deny = append(im.Deny, profiles.ImportRule{Name: n, Rule: rule(20+i, fmt.Sprintf("deny[%d]", i))})
	}
	return im
}

func paths(base int, ps ...string) (out []profiles.PathRule) {
	for i, p := range ps {
		out = append(out, profiles.PathRule{Path: p, Rule: rule(base+i, "path")})
	}
	return out
}

func pattern(text string) profiles.Pattern {
	return profiles.Pattern{Words: strings.Fields(text), Text: text, Rule: rule(40, "denied_patterns[0]")}
}

func bridge(name string, executors ...string) profiles.Bridge {
	return profiles.Bridge{Name: name, Executors: executors, Rule: rule(50, "bridges["+name+"]"),
		Limits: profiles.BridgeLimits{Concurrent: 4, CallsPerRun: 8, ArgumentBytes: 100, ResultBytes: 100,
			TimeoutMillis: 1000}}
}

func agent() profiles.Agent {
	return profiles.Agent{
		Name: "default", MinTier: profiles.TierProcess, Rule: rule(1, "agents[0]"),
		JS: &profiles.JS{Imports: imports([]string{"lodash-lite", "policy:math", "@acme/x", "tools/a"},
			[]string{"tools"}), Rule: rule(2, "js")},
		Python: &profiles.Python{
			Imports: imports([]string{"pandas", "numpy.linalg", "os"}, []string{"urllib3", "pandas.io", "os.path"}),
			Rule:    rule(3, "python")},
		Shell: &profiles.Shell{Rule: rule(4, "shell"),
			Binaries: []profiles.Binary{{Path: "/usr/bin/git", Rule: rule(30, "allowed_binaries[0]")},
				{Path: "/usr/bin/rm"}, {Path: "/usr/bin/find"},
				{Path: "/usr/bin/env"}, {Path: "/usr/bin/tar"}, {Path: "/usr/bin/kubectl"}, {Path: "/usr/bin/sort"}, {Path: "/usr/bin/wget"},
				{Path: "/usr/bin/tool"}, {Path: "relative/x"}},
			DeniedPatterns: []profiles.Pattern{pattern("rm -rf"), pattern("curl"), pattern("git push --force"),
				pattern("git clean -fd"),
				pattern("find -delete"), pattern("kubectl delete"), pattern("git remote add"),
				pattern("kubectl rollout restart"),
				pattern("wget --method PUT"), pattern("tool -X POST")}},
		Bridges: map[string]profiles.Bridge{"spawnSubagent": bridge("spawnSubagent"),
			"tools.search": bridge("tools.search", "js"),
			"alias":        bridge("other")},
		Files: profiles.Files{Read: paths(60, "/workspace", "$WORKSPACE/data", "~/notes"),
			Write: paths(64, "/workspace/out"),
			Deny:  paths(66, "/workspace/.env", "~/.ssh"), Rule: rule(59, "filesystem")},
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
			Allow: []profiles.EgressRule{{Host: "api.example.com", Ports: []int{443}}}},
	}
}

func sealed(t testing.TB, agents ...profiles.Agent) (profiles.Set, []byte) {
	t.Helper()
	s := profiles.Set{Agents: map[string]profiles.Agent{}}
	for _, a := range agents {
		s.Agents[a.Name] = a
	}
	s.Modules = map[string]profiles.Module{
		"lodash-lite": {File: "modules/lodash-lite.js", Source: "export const x = 1\n",
			Digest: profiles.Digest([]byte("export const x = 1\n"))}}
	out, b, err := s.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return out, b
}

var home = profiles.Environment{Workspace: "/workspace", Home: "/home/agent", Now: egressNow()}

func TestDecide(t *testing.T) {
	set, _ := sealed(t, agent())
	d := set.Decider("default", home)
	for _, tt := range []struct {
		action  string
		verdict profiles.Verdict
		code    profiles.Code
		rule    string
	}{
		{`{"import":{"executor":"python","module":"pandas"}}`, profiles.Allow, profiles.CodeAllowed, "allow[0]"},
		{`{"import":{"executor":"python","module":"pandas.core.frame"}}`, profiles.Allow, profiles.CodeAllowed, "allow[0]"},
		{`{"import":{"executor":"python","module":"pandas.io"}}`, profiles.Deny, profiles.CodeImportDenied, "deny[1]"},
		{`{"import":{"executor":"python","module":"pandas.io.sql"}}`, profiles.Deny, profiles.CodeImportDenied, "deny[1]"},
		{`{"import":{"executor":"python","module":"pandas.iox"}}`, profiles.Allow, profiles.CodeAllowed, "allow[0]"},
		{`{"import":{"executor":"python","module":"pandas2"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"numpy"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"numpy.linalg"}}`, profiles.Allow, profiles.CodeAllowed, "allow[1]"},
		{`{"import":{"executor":"python","module":"urllib3.util"}}`, profiles.Deny, profiles.CodeImportDenied, "deny[0]"},
		{`{"import":{"executor":"python","module":"Urllib3"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"json"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"pandas..io"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"pandas.ıo"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":"pandas.ｉo"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":" pandas"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":".pandas"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"python","module":""}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"lodash-lite"}}`, profiles.Allow, profiles.CodeAllowed, "allow[0]"},
		{`{"import":{"executor":"js","module":"lodash-lite/fp"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"lodash-lite.fp"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"policy:math"}}`, profiles.Allow, profiles.CodeAllowed, "allow[1]"},
		{`{"import":{"executor":"js","module":"@acme/x"}}`, profiles.Allow, profiles.CodeAllowed, "allow[2]"},
		{`{"import":{"executor":"js","module":"tools/a"}}`, profiles.Deny, profiles.CodeImportDenied, "deny[0]"},
		{`{"import":{"executor":"js","module":"./lodash-lite"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"x/../lodash-lite"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"/lodash-lite"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"node:fs"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"js","module":"lodash-lite\n"}}`, profiles.Deny, profiles.CodeImportNotAllowed, ""},
		{`{"import":{"executor":"ruby","module":"json"}}`, profiles.Deny, profiles.CodeExecutorUnavailable, ""},
		{`{"import":{"executor":"shell","module":"json"}}`, profiles.Deny, profiles.CodeExecutorUnavailable, ""},

		{`{"bridge":{"name":"spawnSubagent","args":{"task":"x"}}}`, profiles.Allow, profiles.CodeAllowed, "bridges[spawnSubagent]"},
		{`{"bridge":{"name":"spawnsubagent"}}`, profiles.Deny, profiles.CodeBridgeNotGranted, "agents[0]"},
		{`{"bridge":{"name":"tools"}}`, profiles.Deny, profiles.CodeBridgeNotGranted, "agents[0]"},
		{`{"bridge":{"name":"alias"}}`, profiles.Deny, profiles.CodeBridgeNotGranted, "agents[0]"},
		{`{"bridge":{"name":"other"}}`, profiles.Deny, profiles.CodeBridgeNotGranted, "agents[0]"},
		{`{"bridge":{"name":"tools.search","executor":"js"}}`, profiles.Allow, profiles.CodeAllowed, "bridges[tools.search]"},
		{`{"bridge":{"name":"tools.search","executor":"python"}}`, profiles.Deny, profiles.CodeBridgeNotGranted, "bridges[tools.search]"},
		{`{"bridge":{"name":"tools.search","executor":"ruby"}}`, profiles.Deny, profiles.CodeExecutorNotGranted, "agents[0]"},
		{`{"bridge":{"name":"spawnSubagent","args":"` + strings.Repeat("x", 200) + `"}}`, profiles.Deny, profiles.CodeBridgeArgumentsBytes, "bridges[spawnSubagent]"},

		{`{"file":{"op":"read","path":"/workspace/a.txt"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/workspace"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/workspace2/a"}}`, profiles.Deny, profiles.CodeFileNotGranted, "filesystem"},
		{`{"file":{"op":"read","path":"/"}}`, profiles.Deny, profiles.CodeFileNotGranted, "filesystem"},
		{`{"file":{"op":"write","path":"/workspace/a.txt"}}`, profiles.Deny, profiles.CodeFileNotGranted, "filesystem"},
		{`{"file":{"op":"write","path":"/workspace/out/b/c"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/workspace/.env"}}`, profiles.Deny, profiles.CodeFileDenied, "path"},
		{`{"file":{"op":"read","path":"/workspace/.env/x"}}`, profiles.Deny, profiles.CodeFileDenied, "path"},
		{`{"file":{"op":"read","path":"/workspace/.environment"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/home/agent/notes/a"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/home/agent/.ssh/id_ed25519"}}`, profiles.Deny, profiles.CodeFileDenied, "path"},
		{`{"file":{"op":"read","path":"/workspace/../etc/passwd"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"/workspace/./a"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"/workspace//.env"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"workspace/a"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"~/notes/a"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"/workspace/a\u0000.txt"}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":""}}`, profiles.Deny, profiles.CodeFilePath, ""},
		{`{"file":{"op":"read","path":"/workspace/\ud83d\ude00"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"/workspace/\\ud800"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"` + strings.Repeat("/workspace", 400) + `"}}`, profiles.Allow, profiles.CodeAllowed, "path"},
		{`{"file":{"op":"read","path":"` + strings.Repeat("/workspace", 410) + `"}}`, profiles.Deny, profiles.CodeFilePath, ""},

		{`{"shell":{"script":"git fetch"}}`, profiles.Deny, profiles.CodeExecutorUnavailable, "shell"},
		{`{"egress":{"kind":"connect","target":"api.example.com:443"}}`, profiles.Allow, profiles.CodeAllowed, ""},
	} {
		t.Run(tt.action[:min(len(tt.action), 90)], func(t *testing.T) {
			action, err := profiles.DecodeAction([]byte(tt.action))
			if err != nil {
				t.Fatal(err)
			}
			got := d.Decide(action)
			if got.Verdict != tt.verdict || got.Code != tt.code || got.Reason == "" || got.Revision != set.Revision {
				t.Errorf("got %+v, want %s %s", got, tt.verdict, tt.code)
			}
			path := ""
			if got.Rule != nil {
				path = got.Rule.Path
			}
			if path != tt.rule {
				t.Errorf("rule %q, want %q", path, tt.rule)
			}
		})
	}
}

func TestExec(t *testing.T) {
	d := profiles.NewDecider(agent(), "r", home)
	for argv, want := range map[string]profiles.Code{
		"/usr/bin/git push":                          profiles.CodeAllowed,
		"/usr/bin/git push origin main":              profiles.CodeAllowed,
		"/usr/bin/git push --force":                  profiles.CodeShellDenied,
		"/usr/bin/git push -f":                       profiles.CodeShellDenied,
		"/usr/bin/git push origin main -f":           profiles.CodeShellDenied,
		"/usr/bin/git push --forc":                   profiles.CodeShellDenied,
		"/usr/bin/git -C sub push -uf":               profiles.CodeShellDenied,
		"/usr/bin/git --git-dir=.git push --force":   profiles.CodeShellDenied,
		"/usr/bin/git --no-pager push -f":            profiles.CodeShellDenied,
		"/usr/bin/git --strange push -f":             profiles.CodeShellDenied,
		"/usr/bin/git log push --force":              profiles.CodeAllowed,
		"/usr/bin/git push -- --force":               profiles.CodeAllowed,
		"/usr/bin/git clean -fd":                     profiles.CodeShellDenied,
		"/usr/bin/git clean -d --force":              profiles.CodeShellDenied,
		"/usr/bin/git clean -xdf":                    profiles.CodeShellDenied,
		"/usr/bin/git clean -f":                      profiles.CodeAllowed,
		"/usr/bin/git -c core.pager=x log":           profiles.CodeShellStarts,
		"/usr/bin/git status":                        profiles.CodeAllowed,
		"/usr/bin/git --version":                     profiles.CodeAllowed,
		"/usr/bin/git clean -x":                      profiles.CodeAllowed,
		"/usr/bin/git rebase -i -x sh":               profiles.CodeShellOpaque,
		"/usr/bin/git rebase -ix sh":                 profiles.CodeShellOpaque,
		"/usr/bin/git rebase -xsh":                   profiles.CodeShellOpaque,
		"/usr/bin/git rebase --exe sh":               profiles.CodeShellOpaque,
		"/usr/bin/git fetch --up sh":                 profiles.CodeShellStarts,
		"/usr/bin/git clone -u sh x":                 profiles.CodeShellStarts,
		"/usr/bin/git clone -qu sh x":                profiles.CodeShellStarts,
		"/usr/bin/git an-alias":                      profiles.CodeShellStarts,
		"/usr/bin/git merge-index sh -a":             profiles.CodeShellStarts,
		"/usr/bin/git remote add evil x":             profiles.CodeShellDenied,
		"/usr/bin/git remote -v add evil x":          profiles.CodeShellDenied,
		"/usr/bin/git remote show origin":            profiles.CodeAllowed,
		"/usr/bin/kubectl rollout -n prod restart x": profiles.CodeShellDenied,
		"/usr/bin/wget --method PUT x":               profiles.CodeShellDenied,
		"/usr/bin/wget --method=PUT x":               profiles.CodeShellDenied,
		"/usr/bin/wget x":                            profiles.CodeAllowed,
		"/usr/bin/tool -X POST y":                    profiles.CodeShellDenied,
		"/usr/bin/tool -XPOST y":                     profiles.CodeShellDenied,
		"/usr/bin/tool -XGET y":                      profiles.CodeAllowed,
		"/usr/bin/rm -rf build":                      profiles.CodeShellDenied,
		"/usr/bin/rm -fr build":                      profiles.CodeShellDenied,
		"/usr/bin/rm -r -f build":                    profiles.CodeShellDenied,
		"/usr/bin/rm build -r -f":                    profiles.CodeShellDenied,
		"/usr/bin/rm -Rvf build":                     profiles.CodeShellDenied,
		"/usr/bin/rm --recursive --force build":      profiles.CodeShellDenied,
		"/usr/bin/rm --rec --fo build":               profiles.CodeShellDenied,
		"/usr/bin/rm -r build":                       profiles.CodeAllowed,
		"/usr/bin/rm -- -rf":                         profiles.CodeAllowed,
		"/usr/bin/rm -r -- -f":                       profiles.CodeAllowed,
		"/usr/bin/find . -delete":                    profiles.CodeShellDenied,
		"/usr/bin/find . -name x":                    profiles.CodeAllowed,
		"/usr/bin/find . -depth":                     profiles.CodeAllowed,
		"/usr/bin/find . -exec rm -rf {} +":          profiles.CodeShellDenied,
		"/usr/bin/env rm -rf /":                      profiles.CodeShellDenied,
		"/usr/bin/tar -cf x.tar y":                   profiles.CodeAllowed,
		"/usr/bin/tar -I sh -cf x y":                 profiles.CodeShellOpaque,
		"/usr/bin/tar --checkpoint-action=exec=sh x": profiles.CodeShellOpaque,
		"/usr/bin/tar --to-comm=sh -xf x":            profiles.CodeShellOpaque,
		"/usr/bin/sort --compress-program=sh x":      profiles.CodeExecNotGranted,
		"/usr/bin/sort --compress-prog sh x":         profiles.CodeExecNotGranted,
		"/usr/bin/kubectl -n prod delete pod x":      profiles.CodeShellDenied,
		"/usr/bin/kubectl get pods delete":           profiles.CodeAllowed,
		"git push":                                   profiles.CodeAllowed,
		"./git push":                                 profiles.CodeExecNotGranted,
		"/usr/bin/../bin/git push":                   profiles.CodeAllowed,
		"/usr/bin//git push":                         profiles.CodeAllowed,
		"/tmp/git push":                              profiles.CodeExecNotGranted,
		"/usr/bin/curl x":                            profiles.CodeShellDenied,
		"relative/x":                                 profiles.CodeExecNotGranted,
	} {
		if got := d.Exec(profiles.ExecAction{Argv: strings.Fields(argv)}); got.Code != want ||
			(got.Verdict == profiles.Allow) != (want == profiles.CodeAllowed) {
			t.Errorf("%s: got %+v, want %s", argv, got, want)
		}
	}
	if got := d.Exec(profiles.ExecAction{
		Argv: []string{"/usr/bin/git", "a\x00b"}}); got.Code != profiles.CodeActionMalformed {
		t.Errorf("NUL: %+v", got)
	}
	if got := d.Exec(profiles.ExecAction{}); got.Verdict != profiles.Deny {
		t.Errorf("nothing: %+v", got)
	}
}

// TestNothingDenies holds the zero values to "no".
func TestNothingDenies(t *testing.T) {
	var nilSet *profiles.Set
	var nilDecider *profiles.Decider
	zero := profiles.NewDecider(profiles.Agent{}, "", profiles.Environment{})
	actions := []profiles.Action{{}, {Shell: &profiles.ShellAction{}},
		{Import: &profiles.ImportAction{Executor: "js", Module: "x"}},
		{Import: &profiles.ImportAction{Executor: "python", Module: "json"}}, {Egress: &egress.Action{}},
		{Bridge: &profiles.BridgeAction{Name: "x"}}, {File: &profiles.FileAction{Op: "read", Path: "/"}}, {File: &profiles.FileAction{}},
		{Exec: &profiles.ExecAction{Argv: []string{"/bin/true"}}}, {Exec: &profiles.ExecAction{}},
		{File: &profiles.FileAction{Op: "read", Path: "/"}, Exec: &profiles.ExecAction{Argv: []string{"/usr/bin/git"}}}}
	real, _ := sealed(t, agent())
	for name, d := range map[string]*profiles.Decider{"nil set": nilSet.Decider("default", home),
		"nil decider": nilDecider, "zero agent": zero,
		"zero set": (&profiles.Set{}).Decider("default", home), "unknown agent": real.Decider("defaultt", home), "zero decider": {}} {
		for _, a := range actions {
			got := d.Decide(a)
			if got.Verdict != profiles.Deny || got.Code == "" || got.Reason == "" {
				t.Errorf("%s: %+v: got %+v", name, a, got)
			}
		}
		if _, ok := d.BridgeGrant("x"); ok {
			t.Errorf("%s grants a bridge", name)
		}
		if diff := cmp.Diff(profiles.Agent{}, d.Profile()); diff != "" {
			t.Errorf("%s has a profile: %s", name, diff)
		}
	}
	if got := (profiles.Agent{}).Decide(actions[6]); got.Verdict != profiles.Deny {
		t.Errorf("zero agent: %+v", got)
	}
	if got := real.Decider("defaultt", home).Decide(actions[1]); got.Code != profiles.CodeUnknownAgent ||
		!cmp.Equal(got.Instead, []string{"default"}) {
		t.Errorf("unknown agent: %+v", got)
	}
	if got := nilSet.Decider("x", home).Decide(actions[1]); got.Code != profiles.CodeNoPolicy {
		t.Errorf("nil set: %+v", got)
	}
}

func TestNotGrantedExecutors(t *testing.T) {
	a := agent()
	a.JS, a.Python, a.Shell, a.Egress = nil, nil, nil, profiles.Egress{Mode: profiles.EgressAllowlist}
	d := profiles.NewDecider(a, "", home)
	for _, got := range []profiles.Decision{d.Import("js", "lodash-lite"), d.Import("python", "pandas"),
		d.Shell(profiles.ShellAction{}),
		d.Exec(profiles.ExecAction{Argv: []string{"/usr/bin/git"}}), d.Bridge("js", "spawnSubagent", 1)} {
		if got.Verdict != profiles.Deny || got.Code != profiles.CodeExecutorNotGranted {
			t.Errorf("got %+v", got)
		}
	}
	if got := d.Bridge("", "spawnSubagent", 1); got.Verdict != profiles.Deny {
		t.Errorf("a bridge that no executor reaches: %+v", got)
	}
	if got := d.Egress(egress.Action{
		Kind: "connect", Target: "api.example.com:443"}); got.Code != profiles.CodeEgressNotGranted {
		t.Errorf("empty list: %+v", got)
	}
	for _, mode := range []string{"", "off", "open", "OFF"} {
		a.Egress.Mode = mode
		if got := profiles.NewDecider(a, "", home).Egress(egress.Action{}); got.Code != profiles.CodeEgressOff {
			t.Errorf("mode %q: %+v", mode, got)
		}
	}
}

// TestUnknownPlaces: without a workspace a grant there grants nothing, and a
// denial there may be anywhere, so it denies everything.
func TestUnknownPlaces(t *testing.T) {
	a := profiles.Agent{Files: profiles.Files{Read: paths(1, "$WORKSPACE", "/data")}}
	d := profiles.NewDecider(a, "", profiles.Environment{})
	if got := d.File("read", "/workspace/a"); got.Verdict != profiles.Deny {
		t.Errorf("grant in an unknown place: %+v", got)
	}
	if got := d.File("read", "/data/a"); got.Verdict != profiles.Allow {
		t.Errorf("grant in a known place: %+v", got)
	}
	a.Files.Deny = paths(9, "~/.ssh")
	for _, env := range []profiles.Environment{{}, {Home: "relative"}, {Home: "/a/../b"}, {Home: "/a/"}} {
		if got := profiles.NewDecider(a, "", env).File("read", "/data/a"); got.Code != profiles.CodeFileDenied ||
			got.Rule.Line != 9 {
			t.Errorf("denial in an unknown place, %+v: %+v", env, got)
		}
	}
	if got := profiles.NewDecider(a, "", profiles.Environment{Home: "/"}).File(
		"read", "/.ssh/id"); got.Code != profiles.CodeFileDenied {
		t.Errorf("home is the root: %+v", got)
	}
}

func TestPythonDefault(t *testing.T) {
	a := profiles.Agent{Python: &profiles.Python{Imports: profiles.Imports{
		Default: true, Deny: imports(nil, []string{"pickle"}).Deny}}}
	d := profiles.NewDecider(a, "", home)
	for module, want := range map[string]profiles.Verdict{"json": profiles.Allow, "json.decoder": profiles.Allow,
		"os":           profiles.Allow,
		"urllib.parse": profiles.Allow, "urllib.request": profiles.Deny, "ctypes": profiles.Deny, "subprocess": profiles.Deny,
		"socket": profiles.Deny, "_socket": profiles.Deny, "pickle": profiles.Deny, "requests": profiles.Deny, "http.client": profiles.Deny,
		"http": profiles.Allow, "importlib._bootstrap": profiles.Deny, "__future__": profiles.Allow, "multiprocessing.pool": profiles.Deny} {
		if got := d.Import("python", module); got.Verdict != want {
			t.Errorf("%s: %+v", module, got)
		}
	}
	js := profiles.Agent{JS: &profiles.JS{Imports: profiles.Imports{Default: true}}}
	if got := profiles.NewDecider(js, "", home).Import("js", "json"); got.Verdict != profiles.Deny {
		t.Errorf("JavaScript has no default set: %+v", got)
	}
}

// TestAbsent: a name that is listed and not shipped is refused, and the reason
// is not that it is not listed.
func TestAbsent(t *testing.T) {
	a := agent()
	a.JS.Imports.Absent = imports([]string{"pandas"}, nil).Allow
	got := profiles.NewDecider(a, "", home).Import("js", "pandas")
	if got.Verdict != profiles.Deny || got.Code != profiles.CodeImportNotAllowed ||
		!strings.Contains(got.Reason, "ships no module") || got.Rule.Path != "allow[0]" {
		t.Errorf("got %+v", got)
	}
}

func TestImportReasons(t *testing.T) {
	d := profiles.NewDecider(agent(), "", home)
	for module, want := range map[string]string{"urllib3": "import of urllib3 is denied",
		"urllib3.util": "import of urllib3.util is denied: urllib3 is denied"} {
		if got := d.Import("python", module); got.Reason != want {
			t.Errorf("%s: %q", module, got.Reason)
		}
	}
}

func TestInstead(t *testing.T) {
	d := profiles.NewDecider(agent(), "", home)
	if got := d.Bridge("js", "spawnSubagnt", 0).Instead; len(got) == 0 || got[0] != "spawnSubagent" {
		t.Errorf("got %v", got)
	}
	if got := d.Import("js", "lodash").Instead; !strings.Contains(strings.Join(got, " "), "lodash-lite") {
		t.Errorf("got %v", got)
	}
	if got := d.File("read", "/workspace/a//b").Instead; !cmp.Equal(got, []string{"/workspace/a/b"}) {
		t.Errorf("got %v", got)
	}
}

// TestMessages: text of the guest cannot move a terminal's cursor.
func TestMessages(t *testing.T) {
	d := profiles.NewDecider(agent(), "", home)
	evil := "x\x1b[2J\n\u202e" + strings.Repeat("y", 5000)
	for _, got := range []profiles.Decision{d.Bridge("", evil, 0), d.Import("js", evil), d.Import(evil, "x"),
		d.File("read", "/"+evil),
		d.File("read", "/workspace/"+evil), d.File(evil, "/x"),
		d.Exec(profiles.ExecAction{Argv: []string{"/usr/bin/" + evil}}),
		d.Exec(profiles.ExecAction{Argv: []string{"/usr/bin/rm", "-rf", evil}})} {
		if strings.ContainsAny(got.Reason, "\x1b\n\u202e") || len(got.Reason) > 1500 {
			t.Errorf("reason %q", got.Reason)
		}
	}
}

func TestDecodeActionRefuses(t *testing.T) {
	for _, line := range []string{
		``, ` `, `null`, `[]`, `"x"`, `1`, `{}`, `{"bridge"}`, `{"bridge":{"name":"a"}`, `{"bridge":{"name":"a"}}{}`, `{"bridge":{"name":"a"}} x`,
		`{"bridge":null}`, `{"bridge":[]}`, `{"bridge":{}}`, `{"bridge":{"name":null}}`, `{"bridge":{"name":1}}`,
		`{"bridge":{"name":"a","x":1}}`, `{"bridge":{"Name":"a"}}`, `{"Bridge":{"name":"a"}}`, `{"bridge":{"name":"a","NAME":"b"}}`,
		`{"bridge":{"name":"a","name":"b"}}`, `{"bridge":{"name":"a"},"bridge":{"name":"b"}}`,
		`{"bridge":{"name":"a","args":{"x":1,"x":2}}}`, `{"bridge":{"name":"a","args":[{"x":1,"\u0078":2}]}}`,
		`{"bridge":{"name":"a"},"file":{"op":"read","path":"/"}}`, `{"unknown":{}}`, `{"":{}}`,
		`{"file":{"op":"delete","path":"/"}}`, `{"file":{"op":"read"}}`, `{"exec":{"argv":[]}}`, `{"exec":{"argv":"git"}}`, `{"exec":{"argv":null}}`,
		`{"exec":{"argv":[1]}}`, `{"shell":{}}`, `{"import":{"executor":"js"}}`, `{"egress":{"kind":"dns"}}`,
		"{\"bridge\":{\"name\":\"\xff\"}}", `{"bridge":{"name":"a","args":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`,
		`{"egress":{"kind":"http","target":"x","extra":1}}`, `{"egress":{"kind":"http","target":"x","headers":[["a","b","c"]]}}`,
		`{"egress":{"kind":"http","target":"x","headers":[["a"]]}}`, `{"egress":{"kind":"http","target":"x","headers":[null]}}`,
		`{"egress":{"kind":"http","target":"x","headers":[["a",null]]}}`, `{"egress":{"kind":"http","target":"x","resolves_to":[null]}}`,
		`{"egress":{"kind":"telnet","target":"x"}}`, `{"egress":{"kind":"","target":"x"}}`, `{"egress":{"kind":"HTTP","target":"x"}}`,
		`{"exec":{"argv":["/usr/bin/git",null]}}`, `{"exec":{"argv":[null]}}`, `{"exec":{"argv":[["/usr/bin/git"]]}}`,
		`{"file":{"op":"read","path":"/workspace/\ud800"}}`, `{"file":{"op":"read","path":"/workspace/\ude00\ud83d"}}`,
		`{"file":{"op":"read","path":"/workspace/\ud83dx"}}`, `{"bridge":{"name":"a","args":{"\udfff":1}}}`,
		`{"file":{"op":"read","path":"\\\ud800"}}`, "\ufeff" + `{"bridge":{"name":"a"}}`, "{\"bridge\":{\"name\":\"a\x00\"}}",
		strings.Repeat(" ", profiles.MaxActionBytes) + `{"bridge":{"name":"a"}}`,
	} {
		if a, err := profiles.DecodeAction([]byte(line)); err == nil {
			t.Errorf("%.80s: decoded %+v", line, a)
		} else if got := profiles.Malformed(err); got.Verdict != profiles.Deny ||
			got.Code != profiles.CodeActionMalformed {
			t.Errorf("%.80s: %+v", line, got)
		}
	}
}

// A host with a port stands for a request, and what reads as another host is refused.
func TestDecodeEgress(t *testing.T) {
	for line, want := range map[string]egress.Action{
		`{"host":"a.example"}`:                              {Kind: "connect", Target: "a.example:443"},
		`{"host":"a.example","port":8443}`:                  {Kind: "connect", Target: "a.example:8443"},
		`{"host":"[::1]","port":80,"method":"PUT"}`:         {Kind: "http", Target: "http://[::1]:80/", Method: "PUT"},
		`{"host":"2001:db8::1","path":"x"}`:                 {Kind: "fetch", Target: "https://[2001:db8::1]:443/x", Method: "GET"},
		`{"kind":"http","target":"x","path":"/y","sni":""}`: {Kind: "http", Target: "x", Path: "/y", SNI: new(string)},
		`{"kind":"dns","target":""}`:                        {Kind: "dns"},
	} {
		a, err := profiles.DecodeAction([]byte(`{"egress":` + line + `}`))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(&want, a.Egress); diff != "" {
			t.Errorf("%s:\n%s", line, diff)
		}
	}
	for line, want := range map[string]string{
		`{"hots":"a.example"}`:                           `egress has no field "hots": it has host, port, kind, target, method`,
		`{"Request":{}}`:                                 `egress has no field "Request"`,
		`{"host":"a.example","port":0}`:                  "egress.port is from 1 to 65535",
		`{"host":"a.example","port":65536}`:              "egress.port is from 1 to 65535",
		`{"host":"a.example","port":null}`:               "egress.port is or holds null",
		`{"host":"a.example:80"}`:                        "write its port as port",
		`{"host":"a.example/x","path":"/y"}`:             "egress.host is a host alone",
		`{"host":"good.example@a.example"}`:              "egress.host is a host alone",
		`{"host":"a.example","kind":"dns"}`:              "host and port, or kind and target",
		`{"host":"a","kind":"dns","target":"b.example"}`: "host and port, or kind and target",
		`{"kind":"dns","target":"a.example","port":53}`:  "host and port, or kind and target",
		`{"port":443}`:                                   "host and port, or kind and target",
	} {
		if a, err := profiles.DecodeAction([]byte(`{"egress":` + line + `}`)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v", line, a.Egress, err)
		}
	}
}

func TestSetRoundTrip(t *testing.T) {
	set, b := sealed(t, agent())
	again, err := profiles.DecodeSet(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&set, again); diff != "" {
		t.Errorf("(-sealed +decoded)\n%s", diff)
	}
	if enc, err := again.Encode(); err != nil || string(enc) != string(b) {
		t.Errorf("encoded again: %v", err)
	}
	library, err := jcs.Transform(b)
	if err != nil || string(library) != string(b) {
		t.Errorf("jcs has other bytes: %v", err)
	}
}

func TestDecodeSetRefuses(t *testing.T) {
	set, good := sealed(t, agent())
	text := string(good)
	reseal := func(s string) string { // a forger can compute digests
		unsealed := strings.Replace(s, set.Revision, "", 1)
		return strings.Replace(s, set.Revision, profiles.Digest([]byte(unsealed)), 1)
	}
	for name, bad := range map[string]string{
		"empty": "", "null": "null", "cut": text[:len(text)-5], "tail": text + " ", "two": text + text, "space": reseal(strings.Replace(text, ":", ": ", 1)),
		"revision":         strings.Replace(text, set.Revision, profiles.Digest(nil), 1),
		"no revision":      strings.Replace(text, set.Revision, "", 1),
		"changed":          strings.Replace(text, "spawnSubagent", "spawnSubagenT", 2),
		"format":           reseal(strings.Replace(text, profiles.Format, "ringd.set/v2", 1)),
		"unknown field":    reseal(strings.Replace(text, `{"agents"`, `{"admin":true,"agents"`, 1)),
		"field in case":    reseal(strings.Replace(text, `"modules"`, `"Modules"`, 1)),
		"repeated field":   reseal(strings.Replace(text, `"format":`, `"format":"x","format":`, 1)),
		"module's source":  reseal(strings.Replace(text, "export const x = 1", "export const x = 2", 1)),
		"order":            reseal(strings.Replace(text, `"column":3,"file":"policy.yaml"`, `"file":"policy.yaml","column":3`, 1)),
		"number form":      reseal(strings.Replace(text, `"column":3`, `"column":3.0`, 1)),
		"escaped text":     reseal(strings.Replace(text, `"default"`, `"\u0064efault"`, 1)),
		"too large number": reseal(strings.Replace(text, `"callsPerRun":8`, `"callsPerRun":9007199254740993`, 1)),
	} {
		if bad == text {
			t.Fatalf("%s: the attack changed nothing", name)
		}
		if _, err := profiles.DecodeSet([]byte(bad)); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

func TestCanonicalIsJCS(t *testing.T) {
	for _, text := range []string{
		`{"b":1,"a":[true,null,"\u20ac\/\b\u001f<>&\u2028"],"\ud83d\ude00":1,"\ufb33":2,"é":1.0e2}`, `[]`, `{}`, `"x"`,
		`[0,-0,1e21,1e-7,9007199254740993,123456789012345678901234567890,0.1,4.5,2e-3]`} {
		want, err := jcs.Transform([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := profiles.Canonical([]byte(text))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{``, `{`, `{} {}`, `{}}`, `1]`, `[] x`, `[1e999]`, "\"\xff\""} {
		if got, err := profiles.Canonical([]byte(text)); err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}
