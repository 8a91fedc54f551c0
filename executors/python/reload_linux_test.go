package python_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// denying is the agent with more denied.
func denying(names ...string) *profiles.Agent {
	return agent(func(p *profiles.Python) {
		for i, n := range names {
			p.Imports.Deny = append(p.Imports.Deny, profiles.ImportRule{
				Name: n, Rule: profiles.Rule{File: "p.yaml", Line: 7, Column: i + 1}})
		}
	})
}

// force puts a policy in force and tells the guests that live.
func force(t testing.TB, e *python.Executor, revision string, a *profiles.Agent) {
	t.Helper()
	e.Reload(revision, func(name string) *profiles.Agent {
		if a == nil || name != a.Name {
			return nil
		}
		return a
	})(t.Context())
}

// notices keeps what an executor says of pushes.
type notices struct {
	mu   sync.Mutex
	list []python.Notice
}

func (n *notices) take(one python.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, one)
}

func (n *notices) all() []python.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list
}

// TestReloadRunning: what a push denies cannot be imported any more, and what it
// allows can, by a program that runs.
func TestReloadRunning(t *testing.T) {
	var told notices
	e := executor(t, func(c *python.Config) { c.Notice = told.take })
	force(t, e, "sha256:1", agent())
	h := &echo{answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		var args []string
		if err := json.Unmarshal(q.Args, &args); err != nil {
			return executors.Answer{}, err
		}
		a := denying("json", "csv")
		a.Python.Imports.Allow = append(a.Python.Imports.Allow, profiles.ImportRule{Name: "socket"})
		a.Python.Imports.Default = false
		a.Python.Imports.Any = &profiles.Rule{}
		force(t, e, "sha256:2", a)
		return executors.Answer{Value: q.Args}, nil
	}}
	o, err := e.Run(t.Context(), run(agent(), `
import ringd, json
def able(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False
before = [able("json"), able("csv"), able("socket")]
ringd.call("push", "x")
[before, [able("json"), able("csv"), able("socket")], json.dumps([])]`), h)
	if err != nil || string(o.Value) != `[[true,true,false],[false,false,true],"[]"]` {
		t.Fatal(err, brief(o))
	}
	if list := told.all(); len(list) == 0 || strings.Join(list[len(list)-1].Loaded, " ") != "csv json" &&
		strings.Join(list[len(list)-1].Loaded, " ") != "json csv" ||
		list[len(list)-1].Ended != "" || list[len(list)-1].Revision != "sha256:2" || list[len(list)-1].Run != "r1" {
		t.Errorf("told of %+v", told.all())
	}
}

// TestReloadEnds: a program that has loaded what a push denies is ended where the
// policy says so, and its session as well.
func TestReloadEnds(t *testing.T) {
	var told notices
	e := executor(t, func(c *python.Config) { c.Notice = told.take })
	force(t, e, "sha256:1", agent())
	ending := denying("csv")
	ending.Python.EndOnDenied = true
	h := &echo{answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		force(t, e, "sha256:2", ending)
		return executors.Answer{Value: q.Args}, nil
	}}
	o, err := e.Run(t.Context(), run(agent(), "import ringd, csv\nringd.call('push')\nringd.call('push')\n1"), h)
	if err != nil || o.State != executors.StateDenied || o.Error.Name != "CapabilityRevoked" ||
		!strings.Contains(o.Error.Message, "csv") {
		t.Error(err, brief(o))
	}

	force(t, e, "sha256:1", agent())
	has, not := begin(t, e, agent(), "import csv"), begin(t, e, agent(), "import json")
	force(t, e, "sha256:2", ending)
	if _, err := e.Run(t.Context(), from(has, ending, "1"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "denies what it has loaded: csv") {
		t.Error(err)
	}
	if o := play(t, e, from(not, ending, "import json\n1")); o.State != executors.StateDone {
		t.Error(brief(o))
	}
}

// TestReloadIdle: a session that waits decides by the policy in force, although the
// run that goes on from it was bound to the one before.
func TestReloadIdle(t *testing.T) {
	e := executor(t, nil)
	old := agent()
	force(t, e, "sha256:1", old)
	first := begin(t, e, old, "import csv")
	force(t, e, "sha256:2", denying("csv"))
	o := play(t, e, from(first, old, "import csv")) // of sha256:1
	if o.State != executors.StateDenied || len(o.Denials) != 1 || !strings.Contains(o.Error.Message, "p.yaml:7:1") {
		t.Error(brief(o))
	}
	if o := play(t, e, run(old, "import csv")); o.State != executors.StateDenied {
		t.Errorf("a program of its own: %s", brief(o))
	}
	force(t, e, "sha256:3", nil)
	var denial *profiles.Denial
	if _, err := e.Run(t.Context(), run(old, "1"), &echo{}); !errors.As(err, &denial) {
		t.Error(err)
	}
}

// TestReloadNarrowed: a push does not give a program what its own grants took away.
func TestReloadNarrowed(t *testing.T) {
	e := executor(t, nil)
	force(t, e, "sha256:1", agent())
	only := profiles.Grants{Imports: []string{"json"}}
	narrow, err := agent().Narrow(only)
	if err != nil {
		t.Fatal(err)
	}
	r := run(&narrow, "import ringd, json\nringd.call('push')\nimport csv")
	r.Grants = []profiles.Grants{only}
	h := &echo{answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		force(t, e, "sha256:2", denying("socket"))
		return executors.Answer{Value: q.Args}, nil
	}}
	o, err := e.Run(t.Context(), r, h)
	if err != nil || o.State != executors.StateDenied || len(o.Denials) == 0 {
		t.Error(err, brief(o))
	}
}

// TestReloadMounts: what was mounted stays, so a session that has what a policy took
// away ends, and one that lacks what it grants goes on and is told of.
func TestReloadMounts(t *testing.T) {
	env := environment(t, interpreter)
	more := env
	more.Own = append(more.Own[:len(more.Own):len(more.Own)], profiles.PathRule{Path: "/usr/share/zoneinfo"})
	more.Digest = "more"
	wide := denying("wide")
	var told notices
	e := executor(t, func(c *python.Config) {
		c.Notice = told.take
		c.Environments = fixed{of: func(a *profiles.Agent) pyproto.Environment {
			if len(a.Python.Imports.Deny) > 0 {
				return more
			}
			return env
		}}
	})
	force(t, e, "sha256:1", agent())
	first := begin(t, e, agent(), "x = 1")
	force(t, e, "sha256:2", wide)
	if list := told.all(); len(list) != 1 || !list[0].Restart || list[0].Ended != "" {
		t.Fatalf("told of %+v", list)
	}
	if o := play(t, e, from(first, wide, "x")); string(o.Value) != "1" {
		t.Error(brief(o))
	}
	second := begin(t, e, wide, "x = 2")
	force(t, e, "sha256:3", agent())
	if _, err := e.Run(t.Context(), from(second, agent(), "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "took away packages") {
		t.Error(err)
	}
	files := agent()
	files.Files.Read = []profiles.PathRule{{Path: "/usr/share/zoneinfo"}}
	force(t, e, "sha256:4", files)
	third := begin(t, e, files, "x = 3")
	force(t, e, "sha256:5", agent())
	if _, err := e.Run(t.Context(), from(third, agent(), "x"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "less of the host") {
		t.Error(err)
	}
}

// TestReloadDeaf: a session that does not take the policy in force within a second
// ends, and does not hold up the others.
func TestReloadDeaf(t *testing.T) {
	e := executor(t, nil)
	force(t, e, "sha256:1", agent())
	busy := begin(t, e, agent(), "import threading, re, time\ndef hang():\n  time.sleep(0.5)\n  re.match('(a+)+b', "+
		"'a' * 60)\nthreading.Thread(target=hang, daemon=True).start()")
	quick := begin(t, e, agent(), "x = 1")
	time.Sleep(time.Second)
	force(t, e, "sha256:2", denying("csv"))
	if _, err := e.Run(t.Context(), from(busy, agent(), "1"), &echo{}); !errors.Is(err, executors.ErrSnapshot) ||
		!strings.Contains(err.Error(), "did not accept") {
		t.Error(err)
	}
	if o := play(t, e, from(quick, agent(), "x")); string(o.Value) != "1" {
		t.Error(brief(o))
	}
}

// TestReloadHammer: pushes, runs and sessions at once; what is denied is never loaded
// by a run that began behind the push.
func TestReloadHammer(t *testing.T) {
	e := executor(t, func(c *python.Config) { c.Blank = 1 })
	old := agent()
	force(t, e, "sha256:1", old)
	first := begin(t, e, old, "x = 1")
	stop := make(chan struct{})
	var pushes sync.WaitGroup
	pushes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			force(t, e, "sha256:1"+strings.Repeat("x", 1+i%50), denying("csv"))
		}
	})
	force(t, e, "sha256:a", denying("csv"))
	for range 10 {
		o := play(t, e, run(old, "import csv"))
		if o.State != executors.StateDenied {
			t.Error(brief(o))
		}
		r := from(first, old, "try:\n  import csv\nexcept ImportError:\n  pass\nx")
		if first = play(t, e, r); string(first.Value) != "1" || first.Snapshot == nil {
			t.Fatal(first.Unkept, brief(first))
		}
	}
	close(stop)
	pushes.Wait()
}

// TestReloadDenied: a push holds for a program that runs also where its guest has what
// the policy took away: a package that it can read, and all of Python.
func TestReloadDenied(t *testing.T) {
	needDebian(t, "requests", "urllib3")
	old := importing("requests urllib3", "")
	for name, tt := range map[string]struct {
		next    *profiles.Agent
		program string
		want    string
	}{
		"a package":      {importing("requests", "urllib3"), "import urllib3", "policy.yaml:20"},
		"python":         {nil, "import json", "not among the grants"},
		"an interpreter": {importing("requests", "json"), "import json", "policy.yaml:20"},
	} {
		t.Run(name, func(t *testing.T) {
			found := environments(t, "")
			e := executor(t, func(c *python.Config) { c.Environments = lost{found, "json"} })
			force(t, e, "sha256:1", old)
			h := &echo{answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
				force(t, e, "sha256:2", tt.next)
				return executors.Answer{Value: q.Args}, nil
			}}
			o, err := e.Run(t.Context(), run(old, "import ringd\nringd.call('push')\n"+tt.program), h)
			if err != nil || o.State != executors.StateDenied || !strings.Contains(o.Error.Message, tt.want) {
				t.Error(err, brief(o))
			}
		})
	}
}

// lost finds no environment for an agent that a module is denied to.
type lost struct {
	python.Environments
	denied string
}

func (l lost) Of(ctx context.Context, a *profiles.Agent) (pyproto.Environment, error) {
	for _, r := range a.Python.Imports.Deny {
		if r.Name == l.denied {
			return pyproto.Environment{}, &executors.Unavailable{Text: "it is gone"}
		}
	}
	return l.Environments.Of(ctx, a)
}

// TestReloadNoSessions: a run that is on when a push takes sessions away is not kept.
func TestReloadNoSessions(t *testing.T) {
	e := executor(t, nil)
	force(t, e, "sha256:1", agent())
	h := &echo{answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		none := agent()
		none.Sessions = nil
		force(t, e, "sha256:2", none)
		return executors.Answer{Value: q.Args}, nil
	}}
	r := run(agent(), "import ringd\nringd.call('push')\n1")
	r.Session = true
	o, err := e.Run(t.Context(), r, h)
	if err != nil || string(o.Value) != "1" || o.Snapshot != nil || !strings.Contains(o.Unkept, "no sessions") {
		t.Error(err, brief(o))
	}
}
