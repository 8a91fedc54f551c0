package kernel_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

func granted(paths ...string) (out []profiles.PathRule) {
	for i, p := range paths {
		out = append(out, profiles.PathRule{Path: p, Rule: profiles.Rule{File: "policy.cue", Line: i + 1}})
	}
	return out
}

// under makes files by their path below a new folder that guests may reach.
func under(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for d := dir; strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(p, 0o777) // a guest of root is another user
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shell runs a script of bash with the grants of k and coreutils.
func shell(t *testing.T, r *kernel.Ring, k profiles.Kernel, script string) (string, executors.Exit) {
	t.Helper()
	s := program("/usr/bin/bash", "-c", "exec 2>&1\n"+script)
	s.Kernel.Read, s.Kernel.Write, s.Kernel.Deny, s.Kernel.Libraries = k.Read, k.Write, k.Deny, k.Libraries
	s.Kernel.Exec = append(granted("/usr/bin/cat", "/usr/bin/mv", "/usr/bin/mkdir", "/usr/bin/rm", "/usr/bin/ln",
		"/usr/bin/ls", "/usr/bin/cp", "/usr/bin/chmod"), k.Exec...)
	s.Kernel.FileBytes, s.Env = 1<<20, []string{"PATH=/usr/bin", "LC_ALL=C"}
	g, err := r.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Kill() })
	return end(t, g)
}

// TestGrantsHold runs a guest against its grants: each line of its script says
// what it got.
func TestGrantsHold(t *testing.T) {
	r := ring(t)
	needKernel(t, r)
	dir := under(t, map[string]string{
		"read/a": "A", "read/secret/key": "S", "read/.env": "S", "read/out/x": "", "w/deep/er/secret/key": "S", "w/b": "B", "other/c": "C",
	})
	got, exit := shell(t, r, profiles.Kernel{
		Read: granted(dir+"/read", dir+"/w"), Write: granted(dir+"/read/out", dir+"/w"),
		Deny: granted(dir+"/read/secret", dir+"/read/.env", dir+"/w/deep/er/secret"),
	}, strings.ReplaceAll(`
say() { echo "$1: $(eval "$2" 2>&1)"; }
say read 'cat D/read/a'
say secret 'cat D/read/secret/key D/read/.env'
say list 'ls -A D/read/secret'
say new 'echo x > D/read/new'
say out 'echo O > D/read/out/y && cat D/read/out/y'
say other 'cat D/other/c'
say decoy 'mv D/w/deep D/w/shallow'
say decoy2 'mv D/w/deep/er D/w/deep/re'
say decoy3 'rm -rf D/w/deep/er/secret'
say decoy4 'cat D/w/deep/er/secret/key'
say hard 'ln D/w/b D/read/out/b'
say unlink 'rm D/w/b && echo gone'
`, "D", dir))
	want := map[string]string{
		"read": "A", "secret": "!S", "list": "!key", "new": "Read-only file system", "out": "O", "other": "No such file",
		"decoy": "busy", "decoy2": "busy", "decoy3": "busy", "decoy4": "!S", "hard": "cross-device", "unlink": "gone",
	}
	lines := map[string]string{}
	name := ""
	for line := range strings.Lines(got) {
		if head, tail, ok := strings.Cut(line, ": "); ok && want[head] != "" {
			name = head
			lines[name] = tail
		} else {
			lines[name] += line
		}
	}
	for name, text := range want {
		not, refused := strings.CutPrefix(text, "!")
		has := lines[name]
		if refused && (has == "" || strings.Contains(strings.ReplaceAll(has, dir, ""), not+"\n")) || !refused &&
			!strings.Contains(strings.ToLower(has), strings.ToLower(text)) {
			t.Errorf("%s: %q, want %q", name, has, text)
		}
	}
	if exit.Code != 0 || exit.Signal != 0 {
		t.Errorf("exit %+v\n%s", exit, got)
	}
	if b, err := os.ReadFile(dir + "/w/deep/er/secret/key"); err != nil || string(b) != "S" {
		t.Errorf("the denied file is %q, %v", b, err)
	}
}

// TestLibraryFolder holds that a program which lies in a folder of libraries does
// not start, by itself or through the loader, while the libraries are loaded.
func TestLibraryFolder(t *testing.T) {
	const python = "/usr/bin/python3"
	found, err := filepath.Glob("/usr/lib/python3*/lib-dynload/_sqlite3*.so")
	if _, absent := os.Stat(python); err != nil || absent != nil || len(found) == 0 {
		if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
			t.Fatal("no python3 of this system's packages")
		}
		t.Skip("no python3 of this system's packages")
	}
	r := ring(t)
	needKernel(t, r)
	folder := filepath.Dir(filepath.Dir(found[0]))
	s := program(python, "-I", "-S", "-c", `
import json, sqlite3, ssl, zlib, hashlib
print(json.dumps(sqlite3.connect(":memory:").execute("select 6*7").fetchall()), ssl.OPENSSL_VERSION_INFO[0] > 0)`)
	s.Kernel.Read, s.Kernel.Libraries, s.Kernel.MemoryBytes = granted(folder), granted(folder+"/lib-dynload"), 512<<20
	g, err := r.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Kill() })
	out, exit := end(t, g)
	if out != "[[42]] True\n" {
		text := ""
		if e, ok := g.(executors.Streamer); ok {
			b := make([]byte, 2000)
			n, _ := e.Stderr().Read(b)
			text = string(b[:n])
		}
		t.Errorf("python said %q, %+v: %s", out, exit, text)
	}

	truth, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := under(t, map[string]string{"lib/tool": string(truth)})
	if err := os.Chmod(dir+"/lib/tool", 0o755); err != nil {
		t.Fatal(err)
	}
	script := `D/lib/tool && echo started
/lib64/ld-linux-x86-64.so.2 D/lib/tool && echo loaded
/lib64/ld-linux-x86-64.so.2 /usr/bin/cat D/mark`
	if _, err := os.Stat("/lib64/ld-linux-x86-64.so.2"); err != nil {
		t.Skip("another loader")
	}
	if err := os.WriteFile(dir+"/mark", []byte("granted\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := shell(t, r, profiles.Kernel{Read: granted(dir), Libraries: granted(dir + "/lib")},
		strings.ReplaceAll(script, "D", dir))
	if strings.Contains(got, "started") || strings.Contains(got, "loaded") || !strings.Contains(got, "granted") {
		t.Errorf("got %q", got)
	}
	got, _ = shell(t, r, profiles.Kernel{Read: granted(dir), Exec: granted(dir + "/lib/tool")},
		strings.ReplaceAll(script, "D", dir))
	if !strings.Contains(got, "started") || !strings.Contains(got, "loaded") { // the same, granted
		t.Errorf("got %q", got)
	}
}

// TestNoWayThroughAnotherGuest holds that one agent is not granted what another
// agent's guest has put in its way.
func TestNoWayThroughAnotherGuest(t *testing.T) {
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Executors: []string{profiles.ExecutorShell}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	dir := under(t, map[string]string{"w/x": "", "secret/key": "S"})
	if err := os.Symlink(dir+"/secret", dir+"/w/data"); err != nil {
		t.Fatal(err)
	}
	reader := profiles.Agent{Shell: &profiles.Shell{}, Files: profiles.Files{Read: granted(dir + "/w/data")}}
	writer := profiles.Agent{Shell: &profiles.Shell{}, Files: profiles.Files{Write: granted(dir + "/w")}}
	if _, err := r.Prepare(t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{
		"reader": reader}}); err != nil {
		t.Errorf("without the writer: %v", err)
	}
	_, err = r.Prepare(t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{
		"reader": reader, "writer": writer}})
	if err == nil || !strings.Contains(err.Error(), "leads through the link "+dir+
		"/w/data, which a guest may change (policy.cue:1") {
		t.Errorf("with the writer: %v", err)
	}
}
