package seccomp_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// program is one that must run in a guest of its spec.
type program struct {
	name string
	spec seccomp.Spec
	argv func(t *testing.T, dir string) []string // skips when it is not here
	says string
}

func programs() []program {
	shell := seccomp.Spec{Arch: runtime.GOARCH, Processes: true, WX: true}
	network := shell
	network.Network = initproto.NetworkOwn
	jit := seccomp.Spec{Arch: runtime.GOARCH, Processes: true, JIT: true}
	jitNetwork := jit
	jitNetwork.Network = initproto.NetworkOwn
	return []program{
		{"bash", shell, script("bash", "script.bash"), "bash works"},
		{"coreutils", shell, script("bash", "core.bash"), "coreutils work"},
		{"git", shell, script("git", "repo.bash"), "git works"},
		{"python", shell, script("python3", "script.py"), "python works"},
		{"python-network", network, script("python3", "net.py"), "network works"},
		{"jq", shell, jq, "[2]"},
		{"node", jit, script("node", "script.js"), "node works"},
		{"node-network", jitNetwork, script("node", "net.js"), "node network works"},
		{"go", shell, goBinary, "go works"},
		{"rust", shell, rustBinary, "rust works"},
	}
}

// absent skips a test whose tool is missing, unless all are asked for.
func absent(t *testing.T, tool string, err error) {
	t.Helper()
	if os.Getenv("RINGD_REQUIRE_KERNEL") != "" && tool != "rustc" && tool != "strace" {
		t.Fatalf("%s is not here: %v", tool, err)
	}
	t.Skipf("%s is not here: %v", tool, err)
}

func find(t *testing.T, tool string) string {
	t.Helper()
	if tool == "python3" || tool == "bash" { // not a version manager's script
		if _, err := os.Stat("/usr/bin/" + tool); err == nil {
			return "/usr/bin/" + tool
		}
	}
	p, err := exec.LookPath(tool)
	if err != nil {
		absent(t, tool, err)
	}
	return p
}

func script(tool, name string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		at := find(t, tool)
		if strings.HasSuffix(name, ".bash") {
			at = find(t, "bash")
		}
		p, err := filepath.Abs(filepath.Join("testdata/programs", name))
		if err != nil {
			t.Fatal(err)
		}
		return []string{at, p, dir}
	}
}

func jq(t *testing.T, _ string) []string {
	return []string{find(t, "jq"), "-nc", `{"a":[1]} | .a | map(.+1)`}
}

func compiled(t *testing.T, tool string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), find(t, tool), args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		absent(t, tool, fmt.Errorf("%w: %s", err, out))
	}
}

func goBinary(t *testing.T, dir string) []string {
	at := filepath.Join(t.TempDir(), "gobin")
	compiled(t, "go", "build", "-o", at, "./testdata/programs/gobin")
	return []string{at, dir}
}

func rustBinary(t *testing.T, dir string) []string {
	at := filepath.Join(t.TempDir(), "rust")
	compiled(t, "rustc", "-o", at, "testdata/programs/main.rs")
	return []string{at, dir}
}

// TestBenignRun runs each program under the filter that it would have.
func TestBenignRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs many programs")
	}
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			cmd := inside(t, roleRun, &p.spec, p.argv(t, t.TempDir())...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), p.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

const benign = "testdata/benign.txt"

// TestBenignCalls holds the calls that these programs made when they were traced:
// under their spec each is allowed, or refused in the way they go on from. A line
// is program, outcome, call, and those arguments that a rule looks at.
// RINGD_UPDATE=1 traces the programs again, where strace is.
func TestBenignCalls(t *testing.T) {
	if os.Getenv("RINGD_UPDATE") != "" {
		trace(t)
	}
	f, err := os.Open(benign)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	specs := map[string]seccomp.Spec{}
	for _, p := range programs() {
		specs[p.name] = p.spec
	}
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); lines++ {
		w := strings.Fields(in.Text())
		s, ok := specs[w[0]]
		if !ok {
			t.Fatalf("%s: no such program", w[0])
		}
		for _, arch := range architectures() {
			s.Arch = arch
			switch got, ok := outcome(t, s, w[2], arguments(t, w[3:])); {
			case !ok && arch == seccomp.AMD64:
				t.Errorf("%s: no such call", in.Text())
			case ok && got != w[1] && (arch == seccomp.AMD64 || w[2] != "clone"):
				t.Errorf("%s %s: %s", arch, in.Text(), got)
			}
		}
	}
	if lines < 300 {
		t.Errorf("%d lines", lines)
	}
}

// outcome is "allowed", "lacking" when it is refused quietly, or "reported".
func outcome(t *testing.T, s seccomp.Spec, name string, args [6]uint64) (string, bool) {
	t.Helper()
	ret, ok := ask(t, build(t, s), s.Arch, name, args[:]...)
	s.Notify = true
	loud, _ := ask(t, build(t, s), s.Arch, name, args[:]...)
	switch {
	case !ok:
		return "", false
	case ret == seccomp.RetAllow:
		return "allowed", true
	case loud == seccomp.RetNotify:
		return "reported", true
	default:
		return "lacking", true
	}
}

// ruled are the arguments that rules look at.
func ruled() map[string][]int {
	return map[string][]int{
		"prctl": {0}, "ioctl": {1}, "fcntl": {1}, "clone": {0}, "close_range": {2}, "socket": {0, 1, 2}, "socketpair": {0, 1, 2}, "open": {1, 2},
		"openat": {2, 3}, "memfd_create": {1}, "madvise": {2}, "prlimit64": {0}, "arch_prctl": {0}, "setsockopt": {1, 2},
		"sendto": {3}, "sendmsg": {2}, "sendmmsg": {3}, "mmap": {2, 3}, "mprotect": {2}, "chmod": {1}, "fchmod": {1},
		"fchmodat": {2}, "fchmodat2": {2}, "creat": {1}, "mkdir": {1}, "mkdirat": {2}, "mknod": {1}, "mknodat": {2},
		"sched_setscheduler": {1}, "personality": {0}, "unshare": {0}, "execveat": {4}, "pkey_mprotect": {2},
	}
}

// trace runs the programs under strace and writes what they called.
func trace(t *testing.T) {
	if runtime.GOARCH != seccomp.AMD64 {
		t.Fatal("the table is of amd64")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		absent(t, "strace", err)
	}
	lines := map[string]bool{}
	for _, p := range programs() {
		log := filepath.Join(t.TempDir(), "log")
		argv := append([]string{"-f", "-qq", "-e", "raw=all", "-e", "signal=none", "-o", log},
			p.argv(t, t.TempDir())...)
		if out, err := exec.CommandContext(t.Context(), strace, argv...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, out)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\d+ +([a-z_0-9]+)\(([^)<]*)`).FindAllStringSubmatch(string(b), -1) {
			line := shorten(m[1], strings.Split(m[2], ", "))
			got, ok := outcome(t, p.spec, m[1], arguments(t, strings.Fields(line)[1:]))
			if !ok {
				t.Fatalf("%s: %s: no such call", p.name, m[1])
			}
			lines[p.name+" "+got+" "+line] = true
		}
	}
	text := strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n"
	if err := os.WriteFile(benign, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func shorten(name string, args []string) string {
	out := name
	for _, n := range ruled()[name] {
		if n >= len(args) || args[n] == "" || args[n] == "0" {
			continue
		}
		out += fmt.Sprintf(" %d=%s", n, strings.TrimSpace(args[n]))
	}
	return out
}
