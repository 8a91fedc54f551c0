package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/schema"
)

// TestRemedies: a value that a schema refuses is one finding, on its line, that shows the
// value and says what to write; and what it says to write is taken.
func TestRemedies(t *testing.T) {
	const policy = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: one, revision: 1, owner: " +
		"team:x@acme.example}\nspec:\n  %s\n"
	for _, tc := range []struct{ field, was, fix string }{
		{"limits: {memory: %s}", "1GB", "1GiB"}, {"limits: {memory: %s}", "512M", "512MiB"}, {"limits: {memory: %s}", "512 mb", "512MiB"},
		{"limits: {memory: %s}", "1.5GB", "1536MiB"}, {"limits: {memory: %s}", "64Mi", "64MiB"}, {"limits: {memory: %s}", "100 bytes", "100B"},
		{"limits: {wall: %s}", "5 minutes", "5m"}, {"limits: {wall: %s}", "1 day", "1d"}, {"limits: {wall: %s}", "1h30m", "90m"},
		{"limits: {wall: %s}", "2 weeks", "14d"}, {"limits: {wall: %s}", "PT5M", "5m"}, {"limits: {wall: %s}", "30sec", "30s"},
		{"network: {egress: [{host: %s}]}", `"https://api.example.com/v1"`, "api.example.com"},
		{"network: {egress: [{host: %s}]}", "api.example.com/v1", "api.example.com"},
		{"network: {egress: [{host: %s}]}", `"http://api.example.com:8080"`, "api.example.com:8080"},
		{"network: {egress: [{host: %s}]}", `'^api\.example\.com$'`, "api.example.com"},
		{"network: {egress: [{host: %s}]}", `'.*\.example\.com'`, `"*.example.com"`},
		{"network: {egress: [{host: %s}]}", `“api.example.com”`, "api.example.com"},
		{"network: {egress: [{host: a.b, limits: {rate: %s}}]}", "60/min", "60/m"},
		{"network: {egress: [{host: a.b, methods: [%s]}]}", "get", "GET"},
		{"network: {gateways: [{name: a, upstream: %s}]}", "api.example.com", "https://api.example.com"},
		{"filesystem: {read: [%s]}", "./data", "$WORKSPACE/data"}, {"filesystem: {read: [%s]}", "data", "$WORKSPACE/data"},
		{"filesystem: {read: [%s]}", "$HOME/data", "~/data"}, {"filesystem: {read: [%s]}", "/srv/../data", "/data"},
		{"filesystem: {read: [%s]}", `"${WORKSPACE}/a"`, "$WORKSPACE/a"}, {"filesystem: {read: [%s]}", "file:///srv", "/srv"},
		{"executors: {allowed: [shell], shell: {binaries: [{path: %s}]}}", "git", "/usr/bin/git"},
		{"executors: {allowed: [%s]}", "javascript", "js"}, {"executors: {allowed: [%s]}", "bash", "shell"}, {"executors: {allowed: [%s]}", "Python3", "python"},
		{"executors: {allowed: [js], minTier: %s}", "docker", "container"},
		{"executors: {allowed: [python], python: {imports: {allow: [%s]}}}", "scikit-learn", "scikit_learn"},
		{"executors: {allowed: [python], python: {imports: {allow: [%s]}}}", "requests>=2", "requests"},
		{"bridges: [{name: a, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true, from: [%s]}}]", "leads", "group:leads@acme.example"},
		{"bridges: [{name: a, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true, from: [%s]}}]", "ana@acme.example", "user:ana@acme.example"},
		{"bridges: [{name: %s, powers: {sensitive: false, untrusted: false, external: true}}]", "read-diff", "readDiff"},
		{"bridges: [{name: %s, powers: {sensitive: false, untrusted: false, external: true}}]", "ReadDiff", "readDiff"},
		{"agents: [{match: %s}]", "My Agent", "my-agent"},
		{"network: {egress: [{host: a.b, expires: %s}]}", "31.12.2026", `"2026-12-31"`},
		{"network: {egress: [{host: a.b, expires: %s}]}", `"2026-12-31T10:00:00+02:00"`, `"2026-12-31T08:00:00Z"`},
	} {
		t.Run(tc.was, func(t *testing.T) {
			read := func(value string) schema.Diagnostics {
				text := fmt.Sprintf(policy, fmt.Sprintf(tc.field, value))
				_, found := schema.Decode([]schema.Source{{Name: "a.yaml", Data: []byte(text)}})
				return found
			}
			found := read(tc.was)
			if len(found) != 1 || found[0].Pos.Line != 5 {
				t.Fatalf("want one finding on line 5: %v", found)
			}
			plain := strings.Trim(tc.fix, `"`)
			was := strings.Trim(tc.was, `"'“”`)
			if !strings.Contains(found[0].Hint, plain) && !strings.Contains(found[0].Hint, "curly") ||
				!strings.Contains(strings.ReplaceAll(found[0].Msg, `\\`, `\`), was) {
				t.Errorf("want %s of %s: %v", tc.fix, tc.was, found[0])
			}
			if left := read(tc.fix); len(left) > 0 {
				t.Errorf("%s is refused as well: %v", tc.fix, left)
			}
		})
	}
}

// TestRemediesKeepSecrets: what may be a credential is not repeated.
func TestRemediesKeepSecrets(t *testing.T) {
	for _, field := range []string{`gateways: [{name: a, credential: "Bearer hunter2"}]`,
		`gateways: [{name: a, upstream: "https://u:hunter2@api.example.com"}]`,
		`gateways: [{name: a, upstream: "https://api.example.com?key=hunter2"}]`, `egress: [{host: "https://u:hunter2@api.example.com"}]`} {
		_, found := schema.Decode([]schema.Source{{Name: "a.yaml", Data: []byte("apiVersion: ringd/v1\nkind: " +
			"AgentPolicy\nmetadata: {name: one, revision: 1, owner: team:x@acme.example}\nspec:\n  network: {" + field + "}\n")}})
		if len(found) != 1 || strings.Contains(found.Error(), "hunter2") {
			t.Errorf("%s: %v", field, found)
		}
	}
}
