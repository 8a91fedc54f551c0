package main // for TestMain, which makes this binary ringd

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/schema/wire"
)

// systemctl stands for that of systemd on a host of a test: it starts and stops
// the one daemon.
const systemctl = `#!/bin/sh
set -eu
case $1 in
start)
	ringd serve --config "$HOST/etc/ringd/ringd.yaml" >"$HOST/ready" 2>>"$HOST/journal" &
	echo $! >"$HOST/pid"
	for i in $(seq 600); do
		grep -q '^ringd ready' "$HOST/ready" && exit 0
		kill -0 "$(cat "$HOST/pid")" || { cat "$HOST/journal" >&2; exit 1; }
		sleep 0.1
	done
	exit 1 ;;
stop)
	kill "$(cat "$HOST/pid")"
	while kill -0 "$(cat "$HOST/pid")" 2>/dev/null; do sleep 0.1; done ;;
*) exit 2 ;;
esac
`

// pageHost is a host of a test: the folders of the shipped unit below a folder.
type pageHost struct {
	dir string
	env []string
}

func newPageHost(t *testing.T) *pageHost {
	t.Helper()
	for _, program := range []string{"sh", "tar", "jq", "install"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the pages use %s: %v", program, err)
		}
	}
	dir, err := os.MkdirTemp("", "ringd-pages") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // a guest of root's is another user
		t.Fatal(err)
	}
	h := &pageHost{dir: dir, env: append(os.Environ(),
		"HOST="+dir, "PATH="+dir+"/usr/local/bin:"+os.Getenv("PATH"), "RINGD_SOCKET="+dir+"/run/ringd/ringd.sock",
		"XDG_CACHE_HOME="+dir+"/var/cache", "XDG_STATE_HOME="+dir+"/var/none")}
	for _, d := range []string{"usr/local/bin", "etc/ringd/policy", "var/lib", "var/cache", "run/ringd", "srv/backup",
		"srv/new", "opt"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"usr/local/bin/ringd": string(self), "srv/new/ringd": string(self), "usr/local/bin/systemctl": systemctl,
		"etc/ringd/ringd.yaml": h.here("sync: /etc/ringd/policy\nstate: /var/lib/ringd\nsocket: /run/ringd/ringd.sock\nbridges: {ask: {provider: harness}}\naudit: {archive: /srv/archive}\n"),
		"etc/ringd/policy/a.yaml": `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges: [{name: ask, powers: {sensitive: false, untrusted: true, external: false}}]
`,
		"srv/wait.js": `["answered", await ask("go on?")]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = exec.Command("sh", "-c", `kill "$(cat "$0"/pid)" 2>/dev/null`, dir).Run() })
	return h
}

// here puts the folders that a text names below the host.
func (h *pageHost) here(text string) string {
	return regexp.MustCompile(`/(var/lib|var/cache|etc/ringd|run/ringd|srv|opt|usr/local/bin)\b`).ReplaceAllString(
		text, h.dir+"$0")
}

func (h *pageHost) sh(t *testing.T, text string) string {
	t.Helper()
	var out, said bytes.Buffer
	c := exec.CommandContext(t.Context(), "sh", "-eu", "-c", h.here(text))
	c.Env, c.Stdout, c.Stderr, c.Dir, c.WaitDelay = h.env, &out, &said, h.dir, time.Second
	if err := c.Run(); err != nil {
		journal, _ := os.ReadFile(filepath.Join(h.dir, "journal")) // not there before the first start
		t.Fatalf("%s\n%v\n%s%s\n%s", text, err, out.String(), said.String(), journal)
	}
	return out.String()
}

// run takes one page from above to below.
func (h *pageHost) run(t *testing.T, page string) (n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		h.sh(t, m[1])
		n++
	}
	return n
}

// TestPagesOfOperators runs what BACKUP and UPGRADE tell an operator to type, with
// a run that waits: it is there after each page, and goes on.
func TestPagesOfOperators(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	if raceDetector {
		t.Skip("make test runs it without the race detector, which makes each command slow")
	}
	for _, tt := range []struct {
		page   string
		blocks int
	}{{"BACKUP.md", 4}, {"UPGRADE.md", 5}} {
		t.Run(tt.page, func(t *testing.T) {
			h := newPageHost(t)
			h.sh(t, "systemctl start ringd")
			var paused wire.Run
			if err := json.Unmarshal([]byte(h.sh(t, "ringd run --socket $RINGD_SOCKET --executor js --agent a --json "+
				"/srv/wait.js || test $? = 75")), &paused); err != nil || paused.State != "paused" {
				t.Fatalf("%+v %v", paused, err)
			}
			if n := h.run(t, tt.page); n < tt.blocks {
				t.Errorf("%d blocks of commands", n)
			}
			if got := h.sh(t, "ringd answer "+paused.ID+" c1 --value 5"); !strings.Contains(got, "done") {
				t.Errorf("the run that waited: %s", got)
			}
			h.sh(t, "systemctl stop ringd; ringd audit verify --state /var/lib/ringd")
		})
	}
}
