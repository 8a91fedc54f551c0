//go:build linux

package bridges_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

func shell(t *testing.T, script string, change ...func(*bridges.CommandConfig)) *bridges.Command {
	t.Helper()
	cfg := bridges.CommandConfig{Argv: []string{"sh", "-c", script}}
	for _, f := range change {
		f(&cfg)
	}
	c, err := bridges.NewCommand(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(args string) contract.Call {
	return contract.Call{Run: "r1", ID: "c1", Bridge: "tools.search", Args: json.RawMessage(args), Key: "k1"}
}

func TestCommandResults(t *testing.T) {
	tests := []struct {
		name, script, args string
		want               string // the value, or after "!" a part of the error
	}{
		{"echo", `cat`, `{"q":"a b"}`, `{"q":"a b"}`},
		{"spaces around", `printf '\n 7 \n'`, `[]`, `7`},
		{"nothing is undefined", `true`, `[]`, ``},
		{"stdin unread", `echo 1`, `"` + strings.Repeat("x", 1<<20) + `"`, `1`},
		{"a forged tag is data", `echo '{"$ringd":"undefined"}'`, `[]`, `{"$ringd":"entries","value":[["$ringd","undefined"]]}`},
		{"undefined members are absent", `cat | tr -d '\n'; echo`, `{"a":{"$ringd":"undefined"},"b":[{"c":{"$ringd":"undefined"},"d":1.50}]}`, `{"b":[{"d":1.50}]}`},
		{"exit status", `echo 1; echo "no such host" >&2; exit 3`, `[]`, `!exit status 3: stderr: no such host`},
		{"signal", `kill -9 $$`, `[]`, `!signal: killed`},
		{"not JSON", `echo hello`, `[]`, `!its output`},
		{"two values", `echo 1 2`, `[]`, `!its output`},
		{"torn", `printf '{"a":'`, `[]`, `!its output`},
		{"deep", `head -c 5000 /dev/zero | tr '\0' '['; head -c 5000 /dev/zero | tr '\0' ']'`, `[]`, ``},
		{"endless", `while :; do echo 1111111111111111; done`, `[]`, `!output is above the limit`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := shell(t, test.script, func(c *bridges.CommandConfig) { c.OutputBytes = 20_000 })
			got, err := c.Call(t.Context(), call(test.args))
			if test.name == "deep" { // valid JSON; the ring refuses its depth
				return
			}
			if part, bad := strings.CutPrefix(test.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q", err, part)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("%s %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("RINGD_TEST_SECRET", "token")
	c := shell(t, `env | sort | awk '{printf "%s\"%s\"", NR==1?"[":",", $0} END {print "]"}'; pwd >&2`,
		func(c *bridges.CommandConfig) { c.Env, c.Dir = []string{"LANG=C"}, "/usr" })
	out, err := c.Call(t.Context(), call(`[]`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(s string) bool { // the shell's own
		return strings.HasPrefix(s, "PWD=") || strings.HasPrefix(s, "SHLVL=") || strings.HasPrefix(s, "_=") ||
			strings.HasPrefix(s, "OLDPWD=")
	})
	want := []string{"LANG=C", "PATH=" + bridges.DefaultPath, "RINGD_BRIDGE=tools.search", "RINGD_CALL=c1",
		"RINGD_IDEMPOTENCY_KEY=k1", "RINGD_RUN=r1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Cancelling kills the command and what it has started, and Call returns.
func TestCancelKillsTheGroup(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	clitest.NamedPipe(t, pids)
	c := shell(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$ >`+pids+`; exec sleep 1000' & wait; sleep 1000`)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, call(`[]`))
		done <- err
	}()
	line, err := os.ReadFile(pids) // waits for the grandchild
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	cancel(enough)
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
	gone(t, pid)
}

// What a command leaves behind is killed when it exits.
func TestExitKillsTheGroup(t *testing.T) {
	c := shell(t, `sleep 1000 & echo $!`)
	out, err := c.Call(t.Context(), call(`[]`))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(out))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// gone waits until a killed process is no more than a zombie of its new parent.
func gone(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X") {
			return
		}
	}
	t.Errorf("process %d lives", pid)
}

// A process that left the group and holds the pipes cannot hold the call.
func TestEscapedProcessHoldsNothing(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	clitest.NamedPipe(t, fifo)
	c := shell(t, `setsid sh -c 'echo $$ >`+fifo+`; exec sleep 1000' & read pid <`+fifo+`; echo $pid >&2; echo 1`,
		func(c *bridges.CommandConfig) { c.Grace = time.Millisecond })
	_, err := c.Call(t.Context(), call(`[]`))
	if err == nil {
		t.Fatal("the result of a command that still holds its pipes was taken")
	}
	_, text, _ := strings.Cut(err.Error(), "stderr: ")
	pid, convErr := strconv.Atoi(text)
	if convErr != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process that left the group was not there: %v", err)
	}
}

func TestStderrIsBounded(t *testing.T) {
	c := shell(t, `head -c 100000 /dev/zero | tr '\0' 'x' >&2; echo the end >&2; exit 1`)
	_, err := c.Call(t.Context(), call(`[]`))
	if err == nil || len(err.Error()) > bridges.DefaultStderrBytes+200 || !strings.HasSuffix(err.Error(), "the end") {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

func TestNewCommandRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]bridges.CommandConfig{
		"nothing":        {},
		"empty":          {Argv: []string{""}},
		"missing":        {Argv: []string{"no-such-program-of-ringd"}},
		"missing path":   {Argv: []string{"/no/such/program"}},
		"not executable": {Argv: []string{file}},
		"a folder":       {Argv: []string{"/usr"}},
		"relative dir":   {Argv: []string{"sh"}, Dir: "x"},
		"relative path":  {Argv: []string{"sh"}, Path: "."},
		"PATH":           {Argv: []string{"sh"}, Env: []string{"PATH=/x"}},
		"RINGD_":         {Argv: []string{"sh"}, Env: []string{"RINGD_RUN=x"}},
		"no name":        {Argv: []string{"sh"}, Env: []string{"=x"}},
		"no value":       {Argv: []string{"sh"}, Env: []string{"X"}},
	} {
		if _, err := bridges.NewCommand(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Ready finds out that a command could not begin, and starts none.
func TestReady(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"tool": "#!/bin/sh\n", "lost": "#!/no/such/interpreter -e\n",
		"binary": "\x7fELF", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for starts, want := range map[string]string{
		"": "", "./tool": "", filepath.Join(dir, "tool"): "", "./binary": "", "./empty": "",
		"./gone": "gone: no such file", "./plain": "plain: permission denied: not an executable file", "./": "not an executable file",
		"./lost": "/no/such/interpreter: no such file",
	} {
		c := shell(t, "exit 1", func(c *bridges.CommandConfig) { c.Starts, c.Dir = starts, dir })
		if err := c.Ready(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", starts, err, want)
		}
	}
	c, err := bridges.NewCommand(bridges.CommandConfig{Argv: []string{filepath.Join(dir, "tool")},
		Dir: filepath.Join(dir, "none")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(); err != nil {
		t.Errorf("it is there: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "tool")); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that has gone: %v", err)
	}
}
