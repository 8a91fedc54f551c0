package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/rings/kernel"
)

func TestRead(t *testing.T) {
	d := func(v time.Duration) *config.Duration { c := config.Duration(v); return &c }
	got, err := config.Read("ringd.yaml", strings.NewReader(`
sync: /etc/ringd/policy
state: /var/lib/ringd
socket: /run/ringd/ringd.sock
staleness: 0s
audit: strict
roles: {harness: ["uid:1000"], viewer: ["gid:4"]}
bridges:
  spawnSubagent: {provider: command, command: [/usr/bin/review, --json], dir: /srv, env: {A: b}}
  ask: {provider: harness}
  note: {provider: log}
limits: {runs: 8, runsPerActor: 2, drain: "5s"}
workspace: {default: /srv/work, agents: {a: /srv/a}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.File{
		Sync: "/etc/ringd/policy", State: "/var/lib/ringd", Socket: "/run/ringd/ringd.sock",
		Staleness: d(0), Audit: config.Audit{Strict: true},
		Roles: config.Roles{Harness: []string{"uid:1000"}, Viewer: []string{"gid:4"}},
		Bridges: map[string]config.Bridge{
			"spawnSubagent": {Provider: "command", Command: []string{"/usr/bin/review", "--json"}, Dir: "/srv", Env: map[string]string{"A": "b"}},
			"ask":           {Provider: "harness"},
			"note":          {Provider: "log"},
		},
		Limits:    config.Limits{Runs: 8, RunsPerActor: 2, Drain: d(5 * time.Second)},
		Workspace: config.Workspace{Default: "/srv/work", Agents: map[string]string{"a": "/srv/a"}},
	}
	if got.Workspace.Of("a") != "/srv/a" || got.Workspace.Of("b") != "/srv/work" || (config.Workspace{}).Of("a") != "" {
		t.Error("the workspace of an agent")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a workspace that is not absolute", "workspace: {default: work}\n", `workspace.default: "work" is not an absolute, clean path`},
		{"a workspace that is everything", "workspace: {agents: {a: /}}\n", `workspace.agents.a: "/" is not an absolute, clean path`},
		{"a workspace with dots", "workspace: {agents: {a: /srv/../etc}}\n", `workspace.agents.a: "/srv/../etc"`},
		{"unknown field", "sync: /a\nstat: /b\n", `c.yaml:2:1: unknown field "stat"`},
		{"unknown field inside", "limits:\n  run: 3\n", `c.yaml:2:3: unknown field "run"`},
		{"unknown field of a bridge", "bridges:\n  x: {provider: log, cmd: [A]}\n", `c.yaml:2:22: unknown field "cmd"`},
		{"repeated key", "sync: /a\nsync: /b\n", "c.yaml:2:1: mapping key \"sync\" already defined"},
		{"wrong type", "limits:\n  runs: many\n", "c.yaml:2:9: want a whole number"},
		{"a number too large", "limits: {runs: 99999999999999999999}\n", "c.yaml:1:16: want a whole number"},
		{"fields for a text", "sync: {dir: /a}\n", "c.yaml:1:7: want a text"},
		{"a number for a switch", "bridges: {x: {idempotent: 5}}\n", "want true or false"},
		{"audience", "trust: {audience: 'A b', roles: {policy: {threshold: 1, keys: [/a.pub]}}}\n", "trust.audience"},
		{"lift without a role", "trust: {lift: {threshold: 1}, roles: {policy: {threshold: 1, keys: [/a.pub]}}}\n", "trust.lift: threshold 1"},
		{"lift below closing", "trust: {lift: {threshold: 1}, roles: {policy: {threshold: 1, keys: [/a.pub]}, lockdown: {threshold: 2, keys: [/a.pub, /b.pub]}}}\n", "trust.lift: threshold 1"},
		{"lift above the keys", "trust: {lift: {threshold: 2}, roles: {policy: {threshold: 1, keys: [/a.pub]}, lockdown: {threshold: 1, keys: [/a.pub]}}}\n", "trust.lift: threshold 2"},
		{"deaf", "watch: {poll: 5m}\n", "watch.poll: 5m0s is not from 100ms to 1m0s"},
		{"busy", "watch: {poll: 1ms}\n", "watch.poll"},
		{"endless", "watch: {settle: 1h}\n", "watch.settle"},
		{"no duration", "staleness: 10\n", `"10" is not a duration`},
		{"negative duration", "staleness: -1s\n", `"-1s" is not a duration`},
		{"syntax", "sync: [\n", "c.yaml:1:"},
		{"two documents", "sync: /a\n---\nsync: /b\n", "more than one document"},
		{"relative sync", "sync: policy\n", `sync: "policy" is not an absolute path`},
		{"relative socket", "socket: ringd.sock\n", `socket: "ringd.sock" is not an absolute path`},
		{"audit", "audit: loose\n", `audit: "loose"`},
		{"audit of another kind", "audit: [strict]\n", "c.yaml:1:8: sequence was used where mapping is expected"},
		{"audit with an unknown key", "audit:\n  archives: /a\n", "c.yaml:2:3: unknown field \"archives\""},
		{"what is kept without an archive", "audit: {keep: {age: 720h}}\n", "set a folder with audit.archive"},
		{"next to nothing kept", "audit: {archive: /a, keep: {bytes: 4KiB}}\n", "audit.keep.bytes"},
		{"no time kept", "audit: {archive: /a, keep: {age: 1s}}\n", "audit.keep.age"},
		{"archive by a relative path", "audit: {archive: srv}\n", "audit.archive: \"srv\" is not an absolute"},
		{"role", "roles: {harness: [root]}\n", `roles.harness: "root": want uid:NUMBER`},
		{"harness approves", "roles: {harness: [\"uid:7\"], approver: [\"uid:7\"]}\n", "a harness can never approve"},
		{"no provider", "bridges: {x: {}}\n", `bridges.x: provider ""`},
		{"unknown provider", "bridges: {x: {provider: http}}\n", `bridges.x: provider "http": want command, harness or log`},
		{"command without argv", "bridges: {x: {provider: command}}\n", "needs command"},
		{"relative command", "bridges: {x: {provider: command, command: [sh]}}\n", `command "sh" is not an absolute path`},
		{"relative dir", "bridges: {x: {provider: command, command: [/bin/sh], dir: srv}}\n", `dir "srv" is not an absolute path`},
		{"reserved variable", "bridges: {x: {provider: command, command: [/bin/sh], env: {RINGD_RUN: a}}}\n", `env "RINGD_RUN"`},
		{"harness with a command", "bridges: {x: {provider: harness, command: [/bin/sh]}}\n", "takes no command"},
		{"an interpreter by its name", "python: {interpreter: python3}\n", `python.interpreter: "python3" is not an absolute path`},
		{"fewer sessions than none", "python: {sessions: -1}\n", "python: ready is at most 64"},
		{"too many interpreters", "python: {ready: 65}\n", "python: ready is at most 64"},
		{"sessions that nobody can use", "python: {idle: 0s}\n", "set sessions to 0 instead"},
		{"memory below nothing", "python: {memory: -1}\n", "python.memory"},
		{"guests as a name", "guests: {uid: nobody}\n", "want a whole number"},
		{"guests as a negative number", "guests: {uid: -1}\n", "guests.uid: -1 is not a user"},
		{"guests beyond all users", "guests: {uid: 4294967295}\n", "is not a user"},
		{"guests who approve", "guests: {uid: 1001}\nroles: {approver: [\"uid:1001\"]}\n", "guests.uid: 1001 has a role as uid:1001"},
		{"guests of a range who approve", "guests: {uid: 1001, count: 10}\nroles: {approver: [\"uid:1010\"]}\n", "guests.uid: 1010 has a role as uid:1010"},
		{"guests of too few users", "guests: {uid: 1001, count: 2}\n", "guests.count: 2 users from 1001 on are not enough"},
		{"guests of a negative number of users", "guests: {uid: 1001, count: -1}\n", "guests.count: -1 users"},
		{"guests of more users than there are", "guests: {uid: 2147483000, count: 65536}\n", "guests.count: 65536 users"},
		{"guests of less than a processor", "guests: {processors: -1}\n", "guests.processors: -1 is not a number"},
		{"guests whose group reads", "guests: {uid: 1001}\nroles: {viewer: [\"gid:1001\"]}\n", "has a role as gid:1001"},
		{"guests of a range from the default on", "guests: {count: 2147483000}\n", "guests.count: 2147483000 users from 1879048192 on"},
		{"negative runs", "limits: {runs: -1}\n", "negative"},
		{"no retention", "limits: {retention: 0s}\n", "limits.retention"},
		{"too large", strings.Repeat("#", config.MaxFile+1), "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Read("c.yaml", strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestRolesOfGuests: nobody has a role by the number of a guest, also where the file names
// none; the numbers below and above are free.
func TestRolesOfGuests(t *testing.T) {
	const first, count = kernel.DefaultGuestID, kernel.DefaultGuestCount
	for _, tt := range []struct {
		guests string
		id     string
		no     bool
	}{
		{"", fmt.Sprintf("uid:%d", first), true},
		{"", fmt.Sprintf("uid:%d", first+count-1), true},
		{"", fmt.Sprintf("gid:%d", first), true},
		{"", fmt.Sprintf("uid:%d", first-1), false},
		{"", fmt.Sprintf("uid:%d", first+count), false},
		{"", "uid:1000", false},
		{"guests: {processors: 2}\n", fmt.Sprintf("uid:%d", first+1), true},
		{"guests: {count: 10}\n", fmt.Sprintf("uid:%d", first+9), true},
		{"guests: {count: 10}\n", fmt.Sprintf("uid:%d", first+10), false},
		{"guests: {uid: 1001}\n", fmt.Sprintf("uid:%d", first), false},
	} {
		_, err := config.Read("c.yaml", strings.NewReader(tt.guests+"roles: {approver: [\""+tt.id+"\"]}\n"))
		if no := err != nil && strings.Contains(err.Error(), "has a role as "+tt.id); no != tt.no || err != nil && !no {
			t.Errorf("%q with %s: %v, want refused: %t", tt.guests, tt.id, err, tt.no)
		}
	}
}

// TestAudit: the word is the fields in short.
func TestAudit(t *testing.T) {
	for text, want := range map[string]config.Audit{
		"audit: strict\n":                                          {Strict: true},
		"audit: {strict: true, archive: /srv}\n":                   {Strict: true, Archive: "/srv"},
		"audit: {archive: /srv, keep: {bytes: 2MiB, age: 720h}}\n": {Archive: "/srv", Keep: config.Keep{Bytes: 2 << 20, Age: config.Duration(720 * time.Hour)}},
		"audit: {archive: /srv}\n":                                 {Archive: "/srv"},
	} {
		if f, err := config.Read("c.yaml", strings.NewReader(text)); err != nil || f.Audit != want {
			t.Errorf("%q: %+v, %v, want %+v", text, f.Audit, err, want)
		}
	}
}

// TestArchiveApart: no guest gets the archive, and it does not lie in the state folder,
// by name or by a link.
func TestArchiveApart(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"state", "archive"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "state"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for to, apart := range map[string]bool{"archive": true, "state": false, "state/archive": false, "link": false,
		"none": true} {
		f := config.File{State: filepath.Join(dir, "state"), Audit: config.Audit{Archive: filepath.Join(dir, to)}}
		if err := f.Apart(); (err == nil) != apart {
			t.Errorf("archive in %s: %v", to, err)
		}
		if !slices.Contains(f.Private(), f.Audit.Archive) {
			t.Errorf("%s is not private: %v", to, f.Private())
		}
	}
}

func TestEmptyFile(t *testing.T) {
	got, err := config.Read("c.yaml", strings.NewReader("# nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.File{}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name   string
		env    map[string]string
		want   config.Environment
		socket string
	}{
		{"nothing", nil, config.Environment{Dumb: true}, ""},
		{"home", map[string]string{"HOME": "/home/a", "TERM": "xterm", "NO_COLOR": "1"}, config.Environment{
			NoColor: true, Home: "/home/a", State: "/home/a/.local/state/ringd", Cache: "/home/a/.cache/ringd",
		}, "/home/a/.local/state/ringd/ringd.sock"},
		{"xdg", map[string]string{"TERM": "x", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r"}, config.Environment{
			State: "/s/ringd", Cache: "/c/ringd", Runtime: "/r/ringd",
		}, "/r/ringd/ringd.sock"},
		{"relative folders are ignored", map[string]string{"TERM": "x", "HOME": "h", "XDG_STATE_HOME": "s"}, config.Environment{}, ""},
		{"systemd", map[string]string{"TERM": "x", "STATE_DIRECTORY": "/var/lib/ringd", "CACHE_DIRECTORY": "/var/cache/ringd", "RUNTIME_DIRECTORY": "/run/ringd"}, config.Environment{
			State: "/var/lib/ringd", Cache: "/var/cache/ringd", Runtime: "/run/ringd",
		}, "/run/ringd/ringd.sock"},
		{"socket", map[string]string{"TERM": "x", "RINGD_SOCKET": "/x.sock"}, config.Environment{Socket: "/x.sock"}, "/x.sock"},
		{"empty NO_COLOR", map[string]string{"TERM": "x", "NO_COLOR": ""}, config.Environment{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := config.ReadEnvironment(func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if s := got.DefaultSocket(); s != tt.socket {
				t.Errorf("socket %q, want %q", s, tt.socket)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("sync: /a\nbridges: {x: {provider: log}}\n")
	f.Add("staleness: 1m\nroles: {harness: ['uid:1']}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		got, err := config.Read("c.yaml", strings.NewReader(text))
		if err != nil {
			if diff := cmp.Diff(config.File{}, got); diff != "" {
				t.Errorf("a refused file gave values: %s", diff)
			}
		}
	})
}

// TestPrivate holds that every path of the file that leads to a secret, or to
// what the daemon goes by, is kept from guests.
func TestPrivate(t *testing.T) {
	f, err := config.Read("ringd.yaml", strings.NewReader(`
sync: /srv/policy
state: /var/lib//ringd/
snapshots: {key: {file: /etc/ringd/key}, previous: [{file: /etc/ringd/old}, {env: OLD}]}
notify: [{webhook: {url: "https://a.example", secret: {file: /etc/ringd/hook}}}, {command: [/bin/true]}]
listen: [{tcp: "127.0.0.1:1", tls: {cert: /etc/ringd/cert, key: /etc/ringd/tls}}]
tokens: [{name: ann, file: /etc/ringd/ann, roles: [viewer]}, {name: bob, env: BOB, roles: [viewer]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/srv/policy", "/var/lib/ringd", "/etc/ringd/key", "/etc/ringd/old", "/etc/ringd/hook",
		"/etc/ringd/tls", "/etc/ringd/ann"}
	if diff := cmp.Diff(want, f.Private()); diff != "" {
		t.Error(diff)
	}
	if got := (config.File{}).Private(); len(got) != 0 {
		t.Errorf("the zero File: %q", got)
	}
}

// TestUnsaid: a section that is there without a value is not one that is left out. An
// empty trust would let anybody push.
func TestUnsaid(t *testing.T) {
	for text, at := range map[string]string{
		"trust:\n":          "trust is empty",
		"trust: ~\n":        "trust is empty",
		"trust: null # x\n": "trust is empty",
		"trust: {roles: {policy: {threshold: 1, keys: [k]}}, inOrder: }\n": "trust.inOrder is empty",
		"audit:\n": "audit is empty",
		"tokens:\n- {name: ci, env: T, roles: [viewer], expires: }\n": "tokens[0].expires is empty",
	} {
		if _, err := config.Read("c.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "bridges:\nroles:\nlimits: # none\n"} {
		if f, err := config.Read("c.yaml", strings.NewReader(text)); err != nil || f.Trust != nil {
			t.Error(err)
		}
	}
}
