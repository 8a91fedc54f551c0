package kernel_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// TestProgramsOfAShell: a set whose programs others may change, or that do not
// start, is refused with the line of the policy.
func TestProgramsOfAShell(t *testing.T) {
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: zeroes{},
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
	truth, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := under(t, map[string]string{"ws/tool": string(truth), "bin/tool": string(truth), "bin/script": "#!/bin/sh\n",
		"open/tool": string(truth), "core/tool": string(truth)})
	for p, mode := range map[string]os.FileMode{"ws/tool": 0o755, "bin/tool": 0o755, "bin/script": 0o755,
		"open/tool": 0o757, "bin": 0o755, "core": 0o755, "core/tool": 0o755} {
		if err := os.Chmod(filepath.Join(dir, p), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(dir+"/ws/tool", dir+"/bin/link"),
		os.Symlink(dir+"/bin/tool", dir+"/ws/link")); err != nil {
		t.Fatal(err)
	}
	binary := func(path string, helpers ...string) profiles.Binary {
		return profiles.Binary{Path: path, Rule: profiles.Rule{File: "policy.yaml", Line: 14},
			Helpers: granted(helpers...)}
	}
	for _, tt := range []struct {
		name   string
		binary profiles.Binary
		want   string // "": it is taken
	}{
		{"a program", binary(dir + "/bin/tool"), ""},
		{"a shell that is interpreted", profiles.Binary{Path: dir + "/open/tool", Interpreted: true}, ""},
		{"a folder of helpers", binary(dir+"/bin/tool", dir+"/core"), ""},
		{"in the workspace", binary(dir + "/ws/tool"), "a guest may change it"},
		{"a link into the workspace", binary(dir + "/bin/link"), "a guest may change it"},
		{"a link of the workspace", binary(dir + "/ws/link"), "which a guest may change"},
		{"everyone may change it", binary(dir + "/open/tool"), "everyone may change"},
		{"a script for a shell", binary(dir + "/bin/script"), "read by ringd and never started"},
		{"helpers of the workspace", binary(dir+"/bin/tool", dir+"/ws"), "a guest may change it"},
		{"helpers that everyone may change", binary(dir+"/bin/tool", dir+"/open"), "everyone may change"},
		{"a folder as a program", binary(dir + "/bin"), "is no file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := profiles.Agent{Shell: &profiles.Shell{Binaries: []profiles.Binary{tt.binary}},
				Files: profiles.Files{Write: granted(dir + "/ws")}}
			_, err := r.Prepare(t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{"a": a}})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "(policy.")):
				t.Errorf("%v, want %q and the line", err, tt.want)
			}
		})
	}
}

// TestLibrariesOfAnInterpreter: modules that an interpreter loads are granted as
// its helpers, and start nothing.
func TestLibrariesOfAnInterpreter(t *testing.T) {
	found, _ := filepath.Glob("/usr/lib/python3.*/lib-dynload")
	if len(found) == 0 || len(exists("/usr/bin/python3")) == 0 {
		t.Skip("no python3 of this system's packages")
	}
	r, _ := recording(t)
	needKernel(t, r)
	k := scripted("/usr/bin/python3")
	k.Read = granted(filepath.Dir(found[0]))
	use := start{Argv: []string{"/usr/bin/python3", "-I", "-c", "import ssl, zlib, _hashlib; print('loaded')"}}
	if e := drive(t, r, k).run(t, use); e.Code == 0 {
		t.Skip("this python3 has its modules inside")
	}
	k.Helpers = granted(found[0])
	if e := drive(t, r, k).run(t, use); e.Out != "loaded\n" {
		t.Errorf("%+v", e)
	}
}
