package convert_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/convert"
	"github.com/ringd/ringd/schema/format"
)

func config() convert.Config {
	known := map[string]string{"awk": "/usr/bin/mawk", "mawk": "/usr/bin/mawk", "docker": "/usr/bin/docker",
		"git": "/usr/bin/git", "npm": "/usr/bin/npm", "ls": "/usr/bin/ls", "curl": "/usr/bin/curl"}
	return convert.Config{Name: "adopted", Owner: "team:devex@acme.example", Find: func(name string) (string, bool) {
		path, ok := known[name]
		return path, ok
	}}
}

// read adopts a file of testdata.
func read(t *testing.T, name string) (schema.Policy, []convert.Line) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	format := convert.Guess(name)
	for _, f := range convert.Formats() {
		if strings.HasPrefix(name, f) {
			format = f
		}
	}
	p, lines, err := convert.Policy(config(), format, name, text)
	if err != nil {
		t.Fatal(err)
	}
	return p, lines
}

// TestGolden: each file of settings becomes the policy, with the lines, beside it.
func TestGolden(t *testing.T) {
	for _, name := range []string{"claude-code.json", "claude-code-strict.json", "codex.toml", "srt.json",
		"srt-closed.json", "compact.yaml", "compact-names.yaml"} {
		t.Run(name, func(t *testing.T) {
			p, lines := read(t, name)
			written, err := format.YAML(p)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, l := range lines {
				fmt.Fprintf(&out, "# %s %s %s: %s\n", l.Outcome, l.Path, l.Value, l.Why)
			}
			out.Write(written)
			golden := filepath.Join("testdata", "want", name+".yaml")
			if os.Getenv("RINGD_UPDATE") == "1" {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Error(diff)
			}
			compiled(t, written)
		})
	}
}

// compiled compiles what was written; warnings are fine.
func compiled(t *testing.T, written []byte) profiles.Agent {
	t.Helper()
	policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: written}})
	if found.Refused() {
		t.Fatalf("%v\n%s", found, written)
	}
	set, found := compiler.Compile(compiler.Config{Policies: policies})
	if found.Refused() {
		t.Fatalf("%v\n%s", found, written)
	}
	for _, a := range set.Agents {
		return a
	}
	t.Fatal("no agent")
	return profiles.Agent{}
}

// TestNeverWider: what settings refuse, or ask about, is not allowed by the policy.
func TestNeverWider(t *testing.T) {
	file := func(op, path string) profiles.Action {
		return profiles.Action{File: &profiles.FileAction{Op: op, Path: path}}
	}
	start := func(words ...string) profiles.Action {
		return profiles.Action{Exec: &profiles.ExecAction{Argv: words}}
	}
	for _, tc := range []struct {
		settings string
		action   profiles.Action
		want     profiles.Verdict
	}{
		{"claude-code.json", start("/usr/bin/git", "diff", "HEAD"), profiles.Allow},
		{"claude-code.json", start("/usr/bin/git", "log"), profiles.Allow},
		{"claude-code.json", start("/usr/bin/git", "status"), profiles.Deny},
		{"claude-code.json", start("/usr/bin/git", "push", "origin"), profiles.Ask},
		{"claude-code.json", start("/usr/bin/git", "push", "--force"), profiles.Deny}, // asks there, which no rule here says of a flag
		{"claude-code.json", start("/usr/bin/curl", "https://x"), profiles.Deny},
		{"claude-code.json", start("/usr/bin/npm", "run", "test"), profiles.Allow},
		{"claude-code.json", start("/usr/bin/npm", "install"), profiles.Deny},
		{"claude-code.json", file("read", "/w/secrets/key"), profiles.Deny},
		{"claude-code.json", file("read", "/w/src/a.go"), profiles.Allow},
		{"claude-code.json", file("write", "/w/src/a.go"), profiles.Allow},
		{"claude-code.json", file("write", "/w/README.md"), profiles.Deny},
		{"claude-code.json", file("read", "/opt/data/x"), profiles.Allow},
		{"claude-code-strict.json", start("/usr/bin/git", "status"), profiles.Deny}, // a pattern asks, so nothing starts
		{"claude-code-strict.json", file("read", "/w/.env"), profiles.Deny},
		{"claude-code-strict.json", file("read", "/w/sub/.env"), profiles.Deny},
		{"claude-code-strict.json", file("write", "/w/out/x.lock"), profiles.Deny},
		{"srt.json", file("read", "/home/u/.ssh/id"), profiles.Deny},
		{"srt.json", file("read", "/w/a"), profiles.Allow},
		{"srt.json", file("read", "/etc/hosts"), profiles.Deny}, // read there, and no host grants all that it has
		{"srt.json", file("write", "/w/.env"), profiles.Deny},
		{"srt.json", file("write", "/srv/out/a"), profiles.Allow},
		{"srt.json", file("write", "/tmp/a"), profiles.Deny},              // a guest has its own
		{"srt.json", file("write", "/w/.git/hooks/x"), profiles.Deny},     // which srt protects without a word
		{"srt.json", file("write", "/w/src/.git/hooks/x"), profiles.Deny}, // nor there
		{"srt.json", file("write", "/w/src/a"), profiles.Deny},
		{"srt.json", file("write", "/other"), profiles.Deny},
		{"srt-closed.json", file("read", "/w/a"), profiles.Deny},
		{"srt-closed.json", file("write", "/w/a"), profiles.Deny},
		{"codex.toml", file("read", "/w/a"), profiles.Allow},
		{"codex.toml", file("write", "/w/.git/hooks/x"), profiles.Deny},
		{"codex.toml", file("write", "/srv/cache/.git/config"), profiles.Deny},
		{"codex.toml", file("write", "/tmp/x"), profiles.Deny},
	} {
		p, _ := read(t, tc.settings)
		written, err := format.YAML(p)
		if err != nil {
			t.Fatal(err)
		}
		d := profiles.NewDecider(compiled(t, written), "", profiles.Environment{Workspace: "/w", Home: "/home/u"})
		if got := d.Decide(tc.action); got.Verdict != tc.want {
			t.Errorf("%s: %+v %+v: %v (%s), want %v", tc.settings, tc.action.Exec, tc.action.File, got.Verdict,
				got.Reason, tc.want)
		}
	}
	p, _ := read(t, "srt-closed.json")
	if p.Spec.Network.Mode != "off" || len(p.Spec.Network.Egress) > 0 {
		t.Errorf("a denial of every host left %+v", p.Spec.Network)
	}
}

// TestCompactMeansTheSame: the full language says what the compact form said.
func TestCompactMeansTheSame(t *testing.T) {
	text, err := os.ReadFile("testdata/compact.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := read(t, "compact.yaml")
	written, err := format.YAML(p)
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmp.FilterValues(func(_, _ profiles.Rule) bool { return true }, cmp.Ignore())
	was, is := compiled(t, text), compiled(t, written)
	was.Name, was.Policy = is.Name, is.Policy
	was.JS.Imports.Absent, is.JS.Imports.Absent = nil, nil // of what is in no modules/, which its lines say
	if diff := cmp.Diff(was, is, ignore); diff != "" {
		t.Error(diff)
	}
}

// TestNotTheSettings: what is no settings is an error that says so, and gives nothing.
func TestNotTheSettings(t *testing.T) {
	for _, tc := range []struct{ format, text string }{
		{convert.Claude, `[]`}, {convert.Claude, `null`}, {convert.Claude, `{"permissions": []}`}, {convert.Claude, `{"permissions": {"allow": "Bash"}}`},
		{convert.Claude, `{"permissions": {"allow": [1]}}`}, {convert.Claude, `{`}, {convert.Srt, `{"network": {"allowedDomains": {}}}`},
		{convert.Srt, `{"filesystem": []}`}, {convert.Codex, `sandbox_mode = 1`}, {convert.Codex, `sandbox_mode = "loose"`}, {convert.Codex, `=`},
		{convert.Compact, `apiVersion: ringd/v1`}, {convert.Compact, `x: 1`}, {"other", ``},
	} {
		if p, _, err := convert.Policy(config(), tc.format, "f", []byte(tc.text)); !errors.Is(err, convert.ErrFormat) ||
			p.Kind != "" {
			t.Errorf("%s %s: %v, %+v", tc.format, tc.text, err, p.Kind)
		}
	}
}

// FuzzPolicy: no settings make it panic, or write what does not read back.
func FuzzPolicy(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := range convert.Formats() {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, formatName int, text []byte) {
		formats := convert.Formats()
		p, _, err := convert.Policy(config(), formats[(formatName%len(formats)+len(formats))%len(formats)], "f.yaml",
			text)
		if err != nil {
			return
		}
		written, err := format.YAML(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: written}}); found.Refused() {
			t.Skip(found) // such as a path that the language refuses: it is told, and nothing is granted
		}
	})
}

// TestHostileSettings: settings whose denial, question or protection is easily lost. Each
// row has what the settings keep from a program, and a benign action beside it.
func TestHostileSettings(t *testing.T) {
	read := func(path string) profiles.Action {
		return profiles.Action{File: &profiles.FileAction{Op: "read", Path: path}}
	}
	write := func(path string) profiles.Action {
		return profiles.Action{File: &profiles.FileAction{Op: "write", Path: path}}
	}
	start := func(words ...string) profiles.Action {
		return profiles.Action{Exec: &profiles.ExecAction{Argv: words}}
	}
	to := func(target string) profiles.Action {
		return profiles.Action{Egress: &egress.Action{Kind: "connect", Target: target,
			ResolvesTo: []string{"93.184.216.34"}}}
	}
	for _, tc := range []struct {
		name, format, settings string
		keeps                  profiles.Action
		without                string // the settings without what keeps it: then it is let through
	}{
		{"a folder's name with a slash behind means every depth", convert.Claude,
			`{"permissions": {"deny": ["Read(secrets/)"]}}`, read("/w/sub/secrets/k"), `{}`},
		{"the same, asked about", convert.Claude,
			`{"permissions": {"ask": ["Read(secrets/)"]}}`, read("/w/sub/secrets/k"), `{}`},
		{"a denial of the whole host", convert.Claude,
			`{"permissions": {"deny": ["Read(//**)"], "additionalDirectories": ["/data"]}}`, read("/data/x"),
			`{"permissions": {"additionalDirectories": ["/data"]}}`},
		{"a denial of every tool", convert.Claude,
			`{"permissions": {"deny": ["*"], "allow": ["Bash(ls:*)"]}}`, start("/usr/bin/ls"), `{"permissions": {"allow": ["Bash(ls:*)"]}}`},
		{"a denial of tools by a pattern", convert.Claude,
			`{"permissions": {"deny": ["Ed*"], "allow": ["Edit(out/**)"]}}`, write("/w/out/x"), `{"permissions": {"allow": ["Edit(out/**)"]}}`},
		{"a question about every command", convert.Claude,
			`{"permissions": {"ask": ["Bash"], "allow": ["Bash(ls:*)"]}}`, start("/usr/bin/ls"), `{"permissions": {"allow": ["Bash(ls:*)"]}}`},
		{"what may not be read may not be edited", convert.Claude,
			`{"permissions": {"deny": ["Read(**/.env)"], "allow": ["Edit(out/**)"]}}`, write("/w/out/.env"), `{"permissions": {"allow": ["Edit(out/**)"]}}`},
		{"a denial of every host before the hosts", convert.Claude,
			`{"permissions": {"deny": ["WebFetch(domain:*)"]}, "sandbox": {"network": {"allowedDomains": ["example.com"]}}}`, to("example.com:443"),
			`{"sandbox": {"network": {"allowedDomains": ["example.com"]}}}`},
		{"a hook before each command", convert.Claude,
			`{"permissions": {"allow": ["Bash(ls:*)"]}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}`, start("/usr/bin/ls"),
			`{"permissions": {"allow": ["Bash(ls:*)"]}, "hooks": {"PreToolUse": [{"matcher": "mcp__x", "hooks": []}], "PostToolUse": [{"matcher": "Bash"}]}}`},
		{"a hook before every tool", convert.Claude, `{"hooks": {"PreToolUse": [{}]}}`, read("/w/a"), `{"hooks": {"PreToolUse": [{}]}, "disableAllHooks": true}`},
		{"a hook whose matcher is of another language", convert.Claude,
			`{"hooks": {"PreToolUse": [{"matcher": "(?=Read)"}]}}`, read("/w/a"), `{"hooks": {}}`},
		{"a file of credentials", convert.Claude,
			`{"permissions": {"additionalDirectories": ["/data"]}, "sandbox": {"credentials": {"files": [{"path": "/data/token", "mode": "mask"}]}}}`,
			read("/data/token"), `{"permissions": {"additionalDirectories": ["/data"]}}`},
		{"a file of credentials", convert.Srt, `{"credentials": {"files": [{"path": "sub/.netrc", "mode": "deny"}]}}`, read("/w/sub/.netrc"), `{}`},
		{"a denial that leads out of the home folder", convert.Srt, `{"filesystem": {"denyRead": ["~/../data"]}}`, read("/w/a"), `{}`},
		{"a file of credentials without a path", convert.Srt, `{"credentials": {"files": [{}]}}`, read("/w/a"), `{}`},
		{"a profile in the place of the mode", convert.Codex,
			"sandbox_mode = 'workspace-write'\nprofile = 'p'\n[profiles.p]\nsandbox_mode = 'read-only'", read("/w/x"), "sandbox_mode = 'workspace-write'"},
		{"a profile that denies reading", convert.Codex,
			"default_permissions = 'p'\n[permissions.p.filesystem]\n'/w/secret' = 'none'", read("/w/secret"), ""},
		{"a denial of everything", convert.Srt, `{"filesystem": {"denyRead": ["/"]}}`, read("/w/a"), `{}`},
		{"a denial of a command with a variable", convert.Claude, `{"permissions": {"allow": ["Bash(npm:*)"], "deny": ["Bash(NODE_ENV=production npm:*)"]}}`,
			start("/usr/bin/npm", "install"), `{"permissions": {"allow": ["Bash(npm:*)"]}}`},
		{"a denial of a variable alone", convert.Claude, `{"permissions": {"allow": ["Bash(npm:*)"], "deny": ["Bash(NODE_ENV=production:*)"]}}`,
			start("/usr/bin/npm", "install"), `{"permissions": {"allow": ["Bash(npm:*)"]}}`},
		{"a program whose file has another name than its denials", convert.Claude, `{"permissions": {"allow": ["Bash(awk:*)"], "deny": ["Bash(awk -f:*)"]}}`,
			start("/usr/bin/mawk", "-f", "x"), `{"permissions": {"allow": ["Bash(mawk:*)"]}}`},
		{"another repository in front of a sub-command", convert.Claude, `{"permissions": {"allow": ["Bash(git diff:*)"]}}`,
			start("/usr/bin/git", "--git-dir=/w/other", "diff"),
			`{"permissions": {"allow": ["Bash(git diff:*)", "Bash(git:*)"]}}`},
		{"another host in front of a sub-command", convert.Claude, `{"permissions": {"allow": ["Bash(docker ps:*)"]}}`,
			start("/usr/bin/docker", "-H", "tcp://other", "ps"), `{"permissions": {"allow": ["Bash(docker:*)"]}}`},
		{"another file in front of a sub-command", convert.Claude, `{"permissions": {"allow": ["Bash(docker compose up:*)"]}}`,
			start("/usr/bin/docker", "compose", "-f", "other.yml", "up"),
			`{"permissions": {"allow": ["Bash(docker:*)"]}}`},
		{"a list of which Python has no name", convert.Compact, `{interpreter_ring: {allowed_imports: [lodash-lite]}}`,
			profiles.Action{Import: &profiles.ImportAction{Executor: "python", Module: "json"}},
			`{interpreter_ring: {denied_imports: [left-pad]}}`},
		{"a proxy that decides", convert.Srt, `{"network": {"allowedDomains": ["example.com"], "httpProxyPort": 3128}}`, to("example.com:443"),
			`{"network": {"allowedDomains": ["example.com"]}}`},
	} {
		t.Run(tc.format+": "+tc.name, func(t *testing.T) {
			decide := func(text string) (profiles.Decision, []convert.Line) {
				p, lines, err := convert.Policy(config(), tc.format, "f.yaml", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				written, err := format.YAML(p)
				if err != nil {
					t.Fatal(err)
				}
				d := profiles.NewDecider(compiled(t, written), "",
					profiles.Environment{Workspace: "/w", Home: "/home/u"})
				return d.Decide(tc.keeps), lines
			}
			got, lines := decide(tc.settings)
			if got.Verdict == profiles.Allow {
				t.Errorf("%+v was let through", tc.keeps)
			}
			said := false
			for _, l := range lines {
				said = said || l.Outcome != convert.Exact &&
					(l.Path[0] != '(' || l.Path == "(git)" || l.Path == "(docker)")
			}
			if !said {
				t.Errorf("all of it is said to be exact: %+v", lines)
			}
			if got, _ := decide(tc.without); got.Verdict != profiles.Allow {
				t.Errorf("without it: %v (%s)", got.Verdict, got.Reason)
			}
		})
	}
}

// TestCompiles: what is imported compiles, whatever the settings name that a policy has no
// place for.
func TestCompiles(t *testing.T) {
	for _, tc := range []struct{ format, text, left string }{
		{convert.Codex, "[shell_environment_policy]\nset = {PATH = '/bin', CI = '1'}", "shell_environment_policy.set.PATH"},
		{convert.Claude, `{"env": {"HOME": "/x", "CI": "1"}}`, "env.HOME"},
		{convert.Claude, `{"env": {"BANNER": "a\nb", "CI": "1"}}`, "env.BANNER"},
		{convert.Claude, `{"permissions": {"allow": ["Read(//**)", "Edit(//tmp/**)", "Read(//proc/self/**)"]}, "env": {"CI": "1"}}`, "permissions.allow[0]"},
		{convert.Claude, `{"sandbox": {"filesystem": {"denyRead": ["/"]}}, "env": {"CI": "1"}}`, "sandbox.filesystem.denyRead[0]"},
		{convert.Claude, `{"permissions": {"ask": ["Bash(A=1 git push:*)"], "allow": ["Bash(git:*)"]}, "env": {"CI": "1"}}`, "permissions.ask[0]"},
	} {
		p, lines, err := convert.Policy(config(), tc.format, "f", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		written, err := format.YAML(p)
		if err != nil {
			t.Fatal(err)
		}
		compiled(t, written)
		if env := p.Spec.Executors.Shell.Env; len(env) != 1 || env["CI"] != "1" {
			t.Errorf("%s: variables %v", tc.text, env)
		}
		if slices.Contains(p.Spec.Filesystem.Deny, "/") {
			t.Errorf("%s: a denial of everything, which no host can hold", tc.text)
		}
		for _, list := range [][]string{p.Spec.Filesystem.Read, p.Spec.Filesystem.Write} {
			if len(list) > 1 || len(list) == 1 && list[0] != "$WORKSPACE" {
				t.Errorf("%s: files %v, which no host grants", tc.text, list)
			}
		}
		for _, l := range lines {
			if l.Path == tc.left && l.Outcome == convert.Exact {
				t.Errorf("%s: %s is said to be exact", tc.text, l.Path)
			}
		}
	}
}

// TestCompactNames: names of modules that one language alone has are left out of the lists
// of the other, and the rest of the lists stays.
func TestCompactNames(t *testing.T) {
	for _, name := range []string{"lodash-lite", "policy:math", "@acme/plan", "PIL", "google.cloud", "os.*", "_x",
		"a/b", "A-b", "json"} {
		for _, list := range []string{"allowed_imports: [pandas, %q]", "denied_imports: [requests, %q]",
			"allowed_imports: [%q]"} {
			text := "interpreter_ring: {" + fmt.Sprintf(list, name) + "}"
			p, lines, err := convert.Policy(config(), convert.Compact, "f.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			written, err := format.YAML(p)
			if err != nil {
				t.Fatal(err)
			}
			a := compiled(t, written)
			said := slices.ContainsFunc(lines, func(l convert.Line) bool {
				return l.Value == name && l.Outcome != convert.Exact
			})
			if !said && strings.HasPrefix(list, "allowed") {
				t.Errorf("%s: nothing is said of %s", text, name)
			}
			d := profiles.NewDecider(a, "", profiles.Environment{})
			if got := d.Import("python", "pandas").Verdict == profiles.Allow; got != strings.Contains(list, "pandas") {
				t.Errorf("%s: pandas is allowed: %t", text, got)
			}
			if d.Import("python", "requests").Verdict == profiles.Allow {
				t.Errorf("%s: requests is allowed", text)
			}
		}
	}
}

// TestRoot: a path with one slash starts from the folder of the settings.
func TestRoot(t *testing.T) {
	for root, want := range map[string]string{"": "$WORKSPACE/src", "~/.claude": "~/.claude/src"} {
		cfg := config()
		cfg.Root = root
		p, _, err := convert.Policy(cfg, convert.Claude, "f", []byte(`{"permissions": {"allow": ["Edit(/src/**)"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Spec.Filesystem.Write; len(got) != 1 || got[0] != want {
			t.Errorf("root %q: writes %v, want %s", root, got, want)
		}
	}
}

// TestHomeFolder: a path that leads out of the home folder grants nothing in it, and the
// home folder itself is none that a rule names.
func TestHomeFolder(t *testing.T) {
	for _, path := range []string{"~/../secret", "~/a/../../secret", "~/", "~/.", "~/a/.."} {
		p, lines, err := convert.Policy(config(), convert.Srt, "f",
			fmt.Appendf(nil, `{"filesystem": {"allowWrite": [%q]}}`, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Spec.Filesystem.Write; len(got) > 0 {
			t.Errorf("%s: writes %v", path, got)
		}
		if !slices.ContainsFunc(lines, func(l convert.Line) bool {
			return l.Value == path && l.Outcome == convert.Left
		}) {
			t.Errorf("%s: %+v", path, lines)
		}
	}
}

// TestListed: a setting that nothing takes over has a line, however deep it stands.
func TestListed(t *testing.T) {
	for _, tc := range []struct{ format, text, path string }{
		{convert.Codex, "[shell_environment_policy]\ninclude_only = ['PATH']\nset = {FOO = '1'}", "shell_environment_policy.set"},
		{convert.Codex, "[shell_environment_policy]\nexclude = ['A*']", "shell_environment_policy.exclude"},
		{convert.Codex, "[sandbox_workspace_write]\nother = 1", "sandbox_workspace_write.other"},
		{convert.Srt, `{"filesystem": {"allowWrite": ["./src/.Git/hooks"]}}`, "filesystem.allowWrite[0]"},
		{convert.Srt, `{"credentials": {"envVars": []}}`, "credentials.envVars"},
		{convert.Claude, `{"hooks": {"Stop": []}}`, "hooks.Stop"},
	} {
		p, lines, err := convert.Policy(config(), tc.format, "f", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, l := range lines {
			found = found || l.Path == tc.path && l.Outcome != convert.Exact
		}
		if !found {
			t.Errorf("%s %s: no line for %s: %+v", tc.format, tc.text, tc.path, lines)
		}
		if s := p.Spec.Executors.Shell; s != nil && len(s.Env) > 0 {
			t.Errorf("%s: variables that are filtered: %v", tc.text, s.Env)
		}
		if f := p.Spec.Filesystem; f != nil && len(f.Write) > 0 {
			t.Errorf("%s: writes %v", tc.text, f.Write)
		}
	}
}
