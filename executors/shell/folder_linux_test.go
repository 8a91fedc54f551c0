package shell_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
)

// A script that is to start where nothing is granted does not start, and reads why.
func TestNoFolder(t *testing.T) {
	e := executor(t, nil)
	for _, dir := range []string{"/nowhere", "/etc/passwd", "/root"} {
		r := run(agent("ls"), "echo ran")
		r.Program.Dir = dir
		o, _ := play(t, e, r)
		if text := printed(o, "stderr"); o.State != executors.StateDenied || o.ExitCode != 126 ||
			printed(o, "stdout") != "" ||
			!strings.Contains(text, "cannot start in "+dir) || !strings.Contains(text, executors.Workspace) {
			t.Errorf("%s: %s", dir, brief(o))
		}
	}
}
