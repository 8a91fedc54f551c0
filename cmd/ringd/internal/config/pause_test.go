package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
)

var engineDigest = "sha256:" + strings.Repeat("a1", 32)

func TestReadPauses(t *testing.T) {
	got, err := config.Read("c.yaml", strings.NewReader(`
snapshots:
  key: {credential: snapshot-key}
  previous: [{file: /etc/ringd/old.key}, {env: RINGD_OLD_KEY}]
  engines: {"`+engineDigest+`": [/opt/ringd-1/bin/ringd, js-guest]}
approvers:
  group:leads@acme.example: ["uid:1001", "gid:500"]
notify:
  - webhook: {url: "https://hooks.acme.example/r", secret: {file: /etc/ringd/hook}, args: true, timeout: 3s}
  - command: [/usr/bin/mail-people]
bridges:
  pay: {provider: command, command: [/usr/bin/pay], idempotent: true}
limits: {paused: 500, pausedPerActor: 50, waitingCalls: 5, waitingBytes: 1KiB}
`))
	if err != nil {
		t.Fatal(err)
	}
	within := config.Duration(3 * time.Second)
	want := config.File{
		Snapshots: config.Snapshots{
			Key:      &config.Secret{Credential: "snapshot-key"},
			Previous: []config.Secret{{File: "/etc/ringd/old.key"}, {Env: "RINGD_OLD_KEY"}},
			Engines:  map[string][]string{engineDigest: {"/opt/ringd-1/bin/ringd", "js-guest"}},
		},
		Approvers: map[string][]string{"group:leads@acme.example": {"uid:1001", "gid:500"}},
		Notify: []config.Notification{
			{Webhook: &config.Webhook{URL: "https://hooks.acme.example/r", Secret: &config.Secret{File: "/etc/ringd/hook"}, Args: true, Within: &within}},
			{Command: []string{"/usr/bin/mail-people"}},
		},
		Bridges: map[string]config.Bridge{
			"pay": {Provider: "command", Command: []string{"/usr/bin/pay"}, Idempotent: true}},
		Limits: config.Limits{Paused: 500, PausedPerActor: 50, WaitingCalls: 5, WaitingBytes: 1 << 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesPauses(t *testing.T) {
	hook := func(rest string) string { return "notify: [{webhook: {" + rest + "}}]\n" }
	for _, tt := range []struct{ name, text, want string }{
		{"key of two sources", "snapshots: {key: {file: /a, env: B}}\n", "snapshots.key: want exactly one"},
		{"key of none", "snapshots: {key: {}}\n", "snapshots.key: want exactly one"},
		{"relative key", "snapshots: {key: {file: a}}\n", `file: "a" is not an absolute path`},
		{"credential with a path", "snapshots: {key: {credential: ../shadow}}\n", "is not a name"},
		{"variable", "snapshots: {previous: [{env: 'A=B'}]}\n", `snapshots.previous[0]: env: "A=B"`},
		{"no digest", "snapshots: {engines: {old: [/bin/ringd]}}\n", `"old" is not the digest of an engine`},
		{"relative engine", "snapshots: {engines: {'" + engineDigest + "': [ringd]}}\n", "with an absolute path"},
		{"engine without argv", "snapshots: {engines: {'" + engineDigest + "': []}}\n", "want [PROGRAM"},
		{"no owner", "approvers: {leads: ['uid:1']}\n", `approvers: "leads" is not an owner`},
		{"nobody", "approvers: {'group:leads@a.example': []}\n", "the list is empty"},
		{"no id", "approvers: {'group:leads@a.example': [root]}\n", `"root": want uid:NUMBER`},
		{"a harness stands for an owner", "roles: {harness: ['uid:7']}\napprovers: {'user:a@a.example': ['uid:7']}\n", "a harness can never approve"},
		{"empty notification", "notify: [{}]\n", "notify[0]: want exactly one of webhook and command"},
		{"both", "notify: [{command: [/bin/a], webhook: {url: 'https://a/'}}]\n", "want exactly one of"},
		{"relative command", "notify: [{command: [mail]}]\n", `command "mail" is not an absolute path`},
		{"no url", hook("secret: {env: A}"), "want https://HOST"},
		{"plain http to another host", hook("url: 'http://hooks.example/', secret: {env: A}"), "http is for this host alone"},
		{"password in the url", hook("url: 'https://u:p@hooks.example/', secret: {env: A}"), "it must not contain a password"},
		{"unsigned", hook("url: 'https://hooks.example/'"), "webhook.secret: it is missing"},
		{"no time", hook("url: 'https://hooks.example/', secret: {env: A}, timeout: 0s"), "leaves no time"},
		{"idempotent harness", "bridges: {x: {provider: harness, idempotent: true}}\n", "takes no command, dir, env or idempotent"},
		{"negative paused", "limits: {pausedPerActor: -1}\n", "negative"},
		{"negative waiting", "limits: {waitingCalls: -1}\n", "negative"},
		{"negative records", "limits: {requestRecords: -1}\n", "negative"},
		{"records without an end", "limits: {requestRecords: 2000000}\n", "at most 1000000"},
		{"unknown field", "snapshots: {keys: []}\n", `unknown field "keys"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Read("c.yaml", strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("RINGD_TEST_SECRET", " whsec_env\n")
	env := config.Environment{Credentials: dir}
	write("cred", "whsec_cred\n", 0o444) // systemd's own mode; the folder guards it
	for _, tt := range []struct {
		name   string
		secret config.Secret
		want   string
		fails  string
	}{
		{"file", config.Secret{File: write("f", "whsec_file\n", 0o600)}, "whsec_file", ""},
		{"credential", config.Secret{Credential: "cred"}, "whsec_cred", ""},
		{"variable", config.Secret{Env: "RINGD_TEST_SECRET"}, "whsec_env", ""},
		{"others can read it", config.Secret{File: write("o", "whsec_open", 0o644)}, "", "chmod 600"},
		{"its group can read it", config.Secret{File: write("g", "whsec_open", 0o640)}, "", "chmod 600"},
		{"empty", config.Secret{File: write("e", " \n", 0o600)}, "", "is empty"},
		{"too large", config.Secret{File: write("l", strings.Repeat("whsec_open", 1000), 0o600)}, "", "larger than"},
		{"a folder", config.Secret{File: dir}, "", "is not a file"},
		{"not there", config.Secret{File: filepath.Join(dir, "none")}, "", "no such file"},
		{"no such variable", config.Secret{Env: "RINGD_TEST_NONE"}, "", "is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.secret.Value(env)
			if (err != nil) != (tt.fails != "") || (err != nil && !strings.Contains(err.Error(), tt.fails)) ||
				got != tt.want {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "whsec_") {
				t.Error("the error holds the secret")
			}
		})
	}
	if _, err := (config.Secret{Credential: "cred"}).Value(config.Environment{}); err == nil ||
		!strings.Contains(err.Error(), "LoadCredential=") {
		t.Errorf("without systemd's folder: %v", err)
	}
}

// A secret that is a pipe is refused, and nothing waits for whoever has its other end.
func TestSecretOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	clitest.NamedPipe(t, path)
	if _, err := (config.Secret{File: path}).Value(config.Environment{}); err == nil ||
		!strings.Contains(err.Error(), "is not a file") {
		t.Errorf("%v", err)
	}
}
