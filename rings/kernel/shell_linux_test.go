package kernel_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
)

// TestOwnProgram: what a guest starts does not start the guest's own program, by
// whatever name. A guest that lets others look into it is where that would work.
func TestOwnProgram(t *testing.T) {
	r, tried := recording(t)
	needKernel(t, r)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string][]string{
		"its path":         {"/usr/bin/env", self, roleEnd},
		"the driver's exe": {"/usr/bin/find", "/", "-maxdepth", "0", "-exec", "/proc/DRIVER/exe", roleEnd, ";"},
		"through xargs":    {"/usr/bin/xargs", "/proc/DRIVER/../DRIVER/exe", roleEnd},
		"a descriptor":     {"/usr/bin/env", "/proc/DRIVER/fd/9", roleEnd},
		"its init":         {"/usr/bin/env", "/proc/1/exe"},
		"a loader":         {"/usr/bin/env", loader(), self, roleEnd},
		"a loader, exe":    {"/usr/bin/env", loader(), "/proc/DRIVER/exe", roleEnd},
	}
	d := drive(t, r, scripted("/usr/bin/env", "/usr/bin/find", "/usr/bin/xargs", "/usr/bin/cat"))
	pid := d.run(t, start{Argv: []string{"/usr/bin/cat", "/proc/self/stat"}})
	fields := strings.Fields(pid.Out)
	if pid.Code != 0 || len(fields) < 4 {
		t.Fatalf("who the driver is: %+v", pid)
	}
	tried.take()
	for name, argv := range ways {
		t.Run(name, func(t *testing.T) {
			line := strings.Split(strings.ReplaceAll(strings.Join(argv, "\x00"), "DRIVER", fields[3]), "\x00")
			e := d.run(t, start{Argv: line})
			if e.Code == 42 || !strings.Contains(e.Out, "Permission denied") &&
				!strings.Contains(e.Out, "No such file") && !strings.Contains(e.Out, "cannot open shared object") {
				t.Errorf("%q: %+v", line, e)
			}
			if got := tried.take(); strings.Contains(strings.Join(line, " "), "/exe") && line[1] != loader() &&
				!strings.Contains(got, "exec: exec") {
				t.Errorf("%q is not on record: %q", line, got)
			}
		})
	}
	open := drive(t, r, scripted("/usr/bin/env", "/usr/bin/cat"))
	who := strings.Fields(open.run(t, start{Argv: []string{"/usr/bin/cat", "/proc/self/stat"}, Open: true}).Out)
	if e := open.run(t, start{Argv: []string{"/usr/bin/env", "/proc/" + who[3] + "/exe", roleEnd},
		Open: true}); e.Code != 42 {
		t.Errorf("where the guest can be looked into its program does not start either: this test shows nothing: %+v",
			e)
	}
}

// TestPlaces: the folder of links, the workspace.
func TestPlaces(t *testing.T) {
	r, tried := recording(t)
	needKernel(t, r)
	d := drive(t, r, scripted("/usr/bin/env", "/usr/bin/readlink", "/usr/bin/touch", "/usr/bin/ls", "/usr/bin/ln",
		"/usr/bin/stat"))
	for _, tt := range []struct{ argv, want string }{
		{"env readlink " + executors.Programs + "/ls", "/usr/bin/ls"},
		{"env touch " + executors.Programs + "/x", "Read-only file system"},
		{"env ln -sf /usr/bin/ls " + executors.Programs + "/env", "Read-only file system"},
		{"env touch " + executors.Workspace + "/x", ""},
		{"env ls " + executors.Workspace, "x"},
		{"env cat /etc/passwd", "No such file"},
		{"env ls " + executors.Programs, "Permission denied"}, // found by name, not listed
	} {
		e := d.run(t, start{Argv: append([]string{"/usr/bin/env"}, strings.Fields(tt.argv)[1:]...),
			Dir: executors.Workspace})
		if !strings.Contains(e.Out, tt.want) || tt.want == "" && e.Out != "" {
			t.Errorf("%s: %+v", tt.argv, e)
		}
	}
	if got := tried.take(); got != "" {
		t.Errorf("violations of what is allowed:\n%s", got)
	}
	owner := d.run(t, start{Argv: []string{"/usr/bin/env", "stat", "-c", "%u %a", executors.Workspace}})
	id := d.run(t, start{Argv: []string{"/usr/bin/env", "stat", "-c", "%u %a", executors.Workspace + "/x"}})
	if u, _, _ := strings.Cut(owner.Out, " "); owner.Out == "" || !strings.HasPrefix(id.Out, u+" ") ||
		!strings.HasSuffix(owner.Out, " 700\n") {
		t.Errorf("the workspace is of %q, a file that was made in it of %q", owner.Out, id.Out)
	}
	k := scripted("/usr/bin/ls")
	k.Scratch = false
	if e := drive(t, r, k).run(t, start{Argv: []string{"/usr/bin/ls", executors.Workspace}}); !strings.Contains(
		e.Out, "No such file") {
		t.Errorf("without a workspace: %+v", e)
	}
}
