package python_test

import (
	"testing"

	"github.com/ringd/ringd/executors"
)

func TestRun(t *testing.T) {
	e := executor(t, nil)
	o := play(t, e, run(agent(), "import sys, json\nprint('out')\nprint('err', file=sys.stderr)\n[1+1, json.dumps({})]"))
	if o.State != executors.StateDone || string(o.Value) != `[2,"{}"]` || printed(o, executors.LevelStdout) != "out\n" ||
		printed(o, executors.LevelStderr) != "err\n" {
		t.Error(brief(o))
	}
}
