package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/profiles"
)

// next is a script in the session that o left.
func next(a *profiles.Agent, o executors.Outcome, script string) executors.Run {
	r := run(a, script)
	r.Session = true
	if o.Snapshot != nil {
		r.Resume = &executors.Resume{Engine: o.Engine, Snapshot: o.Snapshot, Session: true}
	}
	return r
}

// Folder, variables, functions and options go from script to script of a session,
// each in a guest of its own.
func TestSession(t *testing.T) {
	e := executor(t, nil)
	a := agent("ls", "env", "grep")
	first, _ := play(t, e, next(a, executors.Outcome{}, `
		cd /tmp; a="one  two"; export B=exported; list=(x "y z"); declare -A map=([k]=v)
		greet() { echo "hello $1"; }
		set -o pipefail
		readonly C=3`))
	if first.State != executors.StateDone || len(first.Snapshot) == 0 {
		t.Fatal(brief(first))
	}
	script := `pwd; echo "$a"; env | grep ^B=; echo "${list[1]} ${#list[@]} ${map[k]}"; greet you; false | true; echo $?`
	want := "/tmp\none  two\nB=exported\ny z 2 v\nhello you\n1\n"
	second, _ := play(t, e, next(a, first, script))
	if second.State != executors.StateDone || printed(second, "stdout") != want {
		t.Errorf("got %s", brief(second))
	}
	// A script that fails by itself keeps its state too; one without a session sees
	// nothing of it.
	third, _ := play(t, e, next(a, second, "a=new; false"))
	fourth, _ := play(t, e, next(a, third, `echo "$a"`))
	if third.State != executors.StateFailed || third.ExitCode != 1 || printed(fourth, "stdout") != "new\n" {
		t.Errorf("%s\n%s", brief(third), brief(fourth))
	}
	if o, _ := play(t, e, run(a, `pwd; echo "${a:-unset}"`)); printed(o, "stdout") != "/workspace\nunset\n" ||
		o.Snapshot != nil {
		t.Errorf("a session leaks: %s", brief(o))
	}
}

// A script that was refused, or ended by a limit, leaves nothing: what was there
// before it stands.
func TestSessionKeepsNothingOfARefusal(t *testing.T) {
	e := executor(t, nil)
	a := agent("ls", "sleep")
	before, _ := play(t, e, next(a, executors.Outcome{}, "a=good"))
	refused, _ := play(t, e, next(a, before, "a=bad; p=$(printf %s curl); $p x"))
	r := next(a, before, "a=bad; sleep 1000")
	r.Limits.WallMillis = ptr(300)
	ended, _ := play(t, e, r)
	for _, o := range []executors.Outcome{refused, ended} {
		if o.Snapshot != nil || o.State == executors.StateDone {
			t.Errorf("got %s", brief(o))
		}
	}
	if refused.Unkept == "" {
		t.Error("nothing says why it was not kept")
	}
	if after, _ := play(t, e, next(a, before, `echo "$a"`)); printed(after, "stdout") != "good\n" {
		t.Errorf("got %s", brief(after))
	}
	if o, _ := play(t, e, next(a, before, `a=$'\xff'`)); o.Snapshot != nil || o.Unkept == "" {
		t.Errorf("kept what is no text: %s", brief(o))
	}
}

// A state that is not of a session, or was forged, is no start.
func TestForgedSnapshots(t *testing.T) {
	e := executor(t, nil)
	a := agent("ls")
	good, _ := play(t, e, next(a, executors.Outcome{}, "a=1; f() { echo hi; }"))
	if good.Snapshot == nil {
		t.Fatal(brief(good))
	}
	for name, forge := range map[string]func([]byte) []byte{
		"cut":            func(b []byte) []byte { return b[:len(b)-1] },
		"longer":         func(b []byte) []byte { return append(b, ' ', 'x') },
		"another format": func(b []byte) []byte { return []byte(strings.Replace(string(b), `"format":1`, `"format":9`, 1)) },
		"another folder": func(b []byte) []byte {
			return []byte(strings.Replace(string(b), `"dir":"/workspace"`, `"dir":"../workspac"`, 1))
		},
		"no function":       func(b []byte) []byte { return []byte(strings.Replace(string(b), `echo hi`, `$((1+`+"`", 1)) },
		"another command":   func(b []byte) []byte { return []byte(strings.Replace(string(b), `"name":"a"`, `"name":"$"`, 1)) },
		"nothing but zeros": func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		o := good
		o.Snapshot = forge(append([]byte(nil), good.Snapshot...))
		if string(o.Snapshot) == string(good.Snapshot) {
			t.Errorf("%s: the forgery changes nothing", name)
		}
		out, err := e.Run(t.Context(), next(a, o, "echo ran"), &daemon{agent: a})
		if !errors.Is(err, executors.ErrSnapshot) || printed(out, "stdout") != "" {
			t.Errorf("%s: %v %s", name, err, brief(out))
		}
	}
	r := next(a, good, "echo ran")
	r.Resume.Engine = "shell/0"
	if _, err := e.Run(t.Context(), r, &daemon{agent: a}); !errors.Is(err, executors.ErrEngine) {
		t.Errorf("another engine: %v", err)
	}
	r = next(a, good, "echo ran")
	r.Resume.Session, r.Resume.Open = false, nil
	if out, err := e.Run(t.Context(), r, &daemon{agent: a}); err == nil || printed(out, "stdout") != "" {
		t.Errorf("a session as a script that waits: %v %s", err, brief(out))
	}
}

// approver is an agent whose push and fetch people have to approve.
func approver() *profiles.Agent {
	a := agent("git", "ls", "echo")
	for i := range a.Shell.Binaries {
		if b := &a.Shell.Binaries[i]; b.Path == "/usr/bin/git" {
			for _, word := range []string{"version", "help"} {
				b.Ask = append(b.Ask, profiles.AskRule{Pattern: profiles.Pattern{Words: []string{word}, Text: word},
					Approval: profiles.Approval{Count: 1, ExpiresMillis: 60_000}})
			}
		}
	}
	return a
}

// desk answers what needs an approval when it is told to.
type desk struct {
	*daemon
	mu     sync.Mutex
	ahead  []executors.Question
	say    func(executors.Question) profiles.Verdict // Ask: it waits for the end
	idles  [][]string
	onIdle func()
}

func (d *desk) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if !q.Ahead {
		return d.daemon.Ask(ctx, q)
	}
	d.mu.Lock()
	d.ahead = append(d.ahead, q)
	d.mu.Unlock()
	switch d.say(q) {
	case profiles.Allow:
		return executors.Answer{Value: json.RawMessage(`{"verdict":"allow","code":"allowed","reason":"approved"}`)}, nil
	case profiles.Ask:
		<-ctx.Done()
		return executors.Answer{}, context.Cause(ctx)
	default:
		return executors.Answer{
			Value: json.RawMessage(`{"verdict":"deny","code":"approval_denied","reason":"not today"}`)}, nil
	}
}

func (d *desk) Idle(open []string) {
	d.mu.Lock()
	d.idles = append(d.idles, open)
	d.mu.Unlock()
	if d.onIdle != nil {
		d.onIdle()
	}
}

func (d *desk) words() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.ahead {
		out = append(out, strings.Join(q.Action.Exec.Argv, " "))
	}
	slices.Sort(out) // they are asked at once
	return out
}

const asking = "echo before; git version; ls -d /tmp; git help -g"

// What needs an approval and is known before the start is asked before anything
// runs.
func TestAhead(t *testing.T) {
	e := executor(t, nil)
	a := approver()
	for name, tt := range map[string]struct {
		say   map[string]profiles.Verdict
		state executors.State
		out   bool
	}{
		"approved": {map[string]profiles.Verdict{"git version": profiles.Allow, "git help -g": profiles.Allow}, executors.StateDone, true},
		"one not":  {map[string]profiles.Verdict{"git version": profiles.Allow}, executors.StateDenied, false},
		"none":     {nil, executors.StateDenied, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{daemon: &daemon{agent: a}, say: func(q executors.Question) profiles.Verdict {
				return tt.say[strings.Join(q.Action.Exec.Argv, " ")]
			}}
			d.answer = func(_ context.Context, q executors.Question) (executors.Answer, error) { return started(q) }
			o, err := e.Run(t.Context(), run(a, asking), d)
			if err != nil || o.State != tt.state || strings.Contains(printed(o, "stdout"), "before") != tt.out {
				t.Errorf("%v %s", err, brief(o))
			}
			if diff := cmp.Diff([]string{"git help -g", "git version"}, d.words()); diff != "" {
				t.Error(diff)
			}
			if !tt.out && len(d.acts()) > 0 || o.State == executors.StateDenied && o.ExitCode != 126 {
				t.Errorf("asked for %q, %s", d.acts(), brief(o))
			}
		})
	}
}

// started allows a start as it is asked, as of something that was approved.
func started(q executors.Question) (executors.Answer, error) {
	dec := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Reason: "approved"}
	if x := q.Action.Exec; x != nil {
		dec.Start = &profiles.Start{Path: "/usr/bin/" + x.Argv[0], Argv: x.Argv}
	}
	b, err := json.Marshal(dec)
	return executors.Answer{Value: b}, err
}

// A script that waits for its approvals pauses; another guest goes on with it.
func TestAheadPauses(t *testing.T) {
	e := executor(t, func(c *shell.Config) { c.Blank = 1 })
	a := approver()
	wish := make(chan struct{}, 1)
	d := &desk{daemon: &daemon{agent: a}, say: func(executors.Question) profiles.Verdict { return profiles.Ask }}
	d.onIdle = func() {
		select {
		case wish <- struct{}{}:
		default:
		}
	}
	r := run(a, asking)
	r.Pause = wish
	paused, err := e.Run(t.Context(), r, d)
	if err != nil || paused.State != executors.StatePaused || paused.Snapshot == nil || len(paused.Snapshot) > 2000 ||
		len(paused.Console) > 0 {
		t.Fatalf("%v %s", err, brief(paused))
	}
	d.mu.Lock()
	open := d.ahead
	d.mu.Unlock()
	resume := func(open []executors.Question, script string, say map[string]profiles.Verdict) (
		executors.Outcome, *desk, error) {
		d := &desk{daemon: &daemon{agent: a}, say: func(q executors.Question) profiles.Verdict {
			return say[strings.Join(q.Action.Exec.Argv, " ")]
		}}
		d.answer = func(_ context.Context, q executors.Question) (executors.Answer, error) { return started(q) }
		r := run(a, script)
		r.Resume = &executors.Resume{Engine: paused.Engine, Snapshot: paused.Snapshot, Open: open, Used: paused.Usage}
		o, err := e.Run(t.Context(), r, d)
		return o, d, err
	}
	yes := map[string]profiles.Verdict{"git version": profiles.Allow, "git help -g": profiles.Allow}
	if o, d, err := resume(open, asking, yes); err != nil || o.State != executors.StateDone ||
		!strings.HasPrefix(printed(o, "stdout"), "before\ngit version") || len(d.words()) != 2 {
		t.Errorf("%v %s", err, brief(o))
	}
	if o, d, err := resume(open, asking, nil); err != nil || o.State != executors.StateDenied ||
		strings.Contains(printed(o, "stdout"), "before") || len(d.acts()) > 0 {
		t.Errorf("%v %s", err, brief(o))
	}
	// The approvals of one script are not those of another.
	if o, d, err := resume(open, "echo before; git version; git help -a", yes); err != nil ||
		o.State != executors.StateFailed || len(d.acts()) > 0 || strings.Contains(printed(o, "stdout"), "before") {
		t.Errorf("%v %s", err, brief(o))
	}
	if _, _, err := resume(open[:1], asking, yes); !errors.Is(err, executors.ErrSnapshot) {
		t.Errorf("an approval was dropped: %v", err)
	}
}
