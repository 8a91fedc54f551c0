package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/profiles"
)

// tools are programs that every Debian has.
var tools = []string{
	"cat", "ls", "seq", "tac", "head", "tail", "wc", "sort", "tr", "cut", "sleep", "yes", "ln", "mkdir", "rm", "cp", "mv",
	"env", "id", "dd", "touch", "grep", "xargs", "find", "basename", "uname", "chmod", "stat", "readlink", "tee", "mkfifo",
}

func TestRuns(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, script string
		stdin        string
		state        executors.State
		exit         int
		out, err     string
	}{
		{"nothing", "", "", executors.StateDone, 0, "", ""},
		{"a builtin", "echo hello", "", executors.StateDone, 0, "hello\n", ""},
		{"a program", "ls -d /tmp", "", executors.StateDone, 0, "/tmp\n", ""},
		{"its failure", "ls /nowhere 2>/dev/null", "", executors.StateFailed, 2, "", ""},
		{"both streams", "echo a; echo b >&2; printf c", "", executors.StateDone, 0, "a\nc", "b\n"},
		{"an exit code", "exit 3", "", executors.StateFailed, 3, "", ""},
		{"a pipe", "seq 3 | tac | head -n 2", "", executors.StateDone, 0, "3\n2\n", ""},
		{"a signal", "set -o pipefail; yes | head -n 1; echo $?", "", executors.StateDone, 0, "y\n141\n", ""},
		{"standard input of a program", "cat", "one\ntwo", executors.StateDone, 0, "one\ntwo", ""},
		{"standard input of the shell", `while read -r l; do echo "<$l>"; done`, "one\ntwo\n", executors.StateDone, 0, "<one>\n<two>\n", ""},
		{"standard input shared", "read -r first; echo $first; cat", "one\ntwo\n", executors.StateDone, 0, "one\ntwo\n", ""},
		{"no standard input", "wc -c", "", executors.StateDone, 0, "0\n", ""},
		{"a here-document", "cat <<EOF | tr a-z A-Z\nhello $((1+2))\nEOF", "", executors.StateDone, 0, "HELLO 3\n", ""},
		{"a substitution", `echo "[$(seq 3)]"`, "", executors.StateDone, 0, "[1\n2\n3]\n", ""},
		{"a workspace of its own", "pwd; ls -A; echo x > f; cat f; mkdir d; cd d; pwd; echo y >> ../f; wc -l < ../f", "", executors.StateDone, 0, "/workspace\nx\n/workspace/d\n2\n", ""},
		{"a glob", "touch b a c.txt; echo *; echo *.txt; rm ?; echo *", "", executors.StateDone, 0, "a b c.txt\nc.txt\nc.txt\n", ""},
		{"the environment", "env -u PWD -u OLDPWD -u SHLVL | sort | grep -v '^_='", "", executors.StateDone, 0,
			"HOME=/tmp/home\nLANG=C.UTF-8\nLOGNAME=agent\nPATH=/run/ringd/bin\nTERM=dumb\nTMPDIR=/tmp/tmp\nUSER=agent\n", ""},
		{"an exported variable", `A=1; export B=2; C=3 env | grep -E '^(A|B|C)=' | sort`, "", executors.StateDone, 0, "B=2\nC=3\n", ""},
		{"files are not for all to write", "touch f; stat -c %a f; mkdir d; stat -c %a d", "", executors.StateDone, 0, "644\n755\n", ""},
		{"a name through the folder of programs", "readlink /run/ringd/bin/ls", "", executors.StateDone, 0, "/usr/bin/ls\n", ""},
		{"a nested shell", `bash -c 'echo "$0 $1"; exit 4' name one; echo $?`, "", executors.StateDone, 0, "name one\n4\n", ""},
		{"in the background", "sleep 0.01 & wait; echo ok", "", executors.StateDone, 0, "ok\n", ""},
		{"left behind", "sleep 1000 & echo ok", "", executors.StateDone, 0, "ok\n", ""},
		{"a trap", "trap 'echo bye' EXIT; echo hi", "", executors.StateDone, 0, "hi\nbye\n", ""},
		{"devices", "head -c 2 /dev/zero | wc -c; echo x > /dev/null; echo y >> /dev/null; head -c 3 /dev/urandom | wc -c; wc -c < /dev/null", "", executors.StateDone, 0, "2\n3\n0\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(agent(append(slices.Clone(tools), "bash", "sh")...), tt.script)
			r.Program.Stdin = []byte(tt.stdin)
			o, _ := play(t, e, r)
			if o.State != tt.state || o.ExitCode != tt.exit || printed(o, "stdout") != tt.out ||
				printed(o, "stderr") != tt.err {
				t.Errorf("got %s", brief(o))
			}
			if o.Attestation.Tier != profiles.TierOS || o.Engine != "shell/1" {
				t.Errorf("%+v %+v %q", o.Usage, o.Attestation, o.Engine)
			}
		})
	}
}

// A refusal stops everything wherever it comes from: what ran is known, nothing
// else runs, and nothing lives on.
func TestRefusals(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	for _, tt := range []struct {
		name, script string
		daemon       string // the program that the daemon refuses, and the guest would not
		out          string
		code         profiles.Code
		acts         []string
	}{
		{"of a program half way", `echo before; sleep 1000 & p=$(printf %s curl); $p x; echo after`, "", "before\n", profiles.CodeExecNotGranted, nil},
		{"by the daemon", `echo before; ls; cat /dev/null; echo after`, "cat", "before\n", "test.no", []string{"exec ls", "exec cat /dev/null"}},
		{"in a pipe", `p=$(printf %s curl); $p x | sleep 1000; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"in a substitution", `p=$(printf %s curl); echo "$($p x)"; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"in the background", `p=$(printf %s curl); $p x & sleep 1000; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"in a condition", `p=$(printf %s curl); if $p x; then echo yes; else echo no; fi; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"before an or", `p=$(printf %s curl); $p x || echo other; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"in a trap", `p=$(printf %s curl); trap '$p x; echo after' EXIT; echo before`, "", "before\n", profiles.CodeExecNotGranted, nil},
		{"in a nested shell", `p=curl; bash -c "$p x; echo after"; echo after`, "", "", profiles.CodeExecNotGranted, nil},
		{"of a file", `f=/etc/x; echo before; echo x > $f; echo after`, "", "before\n", profiles.CodeShellRedirect, nil},
		{"of a variable", `echo before; read -r PAGER < /dev/null; printf -v PAGER %s less; ls; echo after`, "", "before\n", profiles.CodeVariable, []string{"set PAGER"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := agent("ls", "cat", "sleep", "bash")
			d := &daemon{agent: a}
			d.answer = func(_ context.Context, q executors.Question) (executors.Answer, error) {
				if x := q.Action.Exec; x != nil && tt.daemon != "" && x.Argv[0] == tt.daemon {
					return executors.Answer{Value: json.RawMessage(
						`{"verdict":"deny","code":"test.no","reason":"not now"}`)}, nil
				}
				return d.decide(q)
			}
			o, err := e.Run(t.Context(), run(a, tt.script), d)
			if err != nil {
				t.Fatal(err)
			}
			if o.State != executors.StateDenied || o.ExitCode != 126 || printed(o, "stdout") != tt.out ||
				o.Error == nil ||
				!strings.HasPrefix(o.Error.Message, string(tt.code)+": ") || len(o.Denials) != 1 {
				t.Fatalf("got %s", brief(o))
			}
			// Whoever reads the outcome reads the words that stand on standard error.
			if no := o.Denials[0]; no.Code != tt.code || no.Text == "" || printed(o, "stderr") != no.Text+"\n" ||
				no.Evidence == nil || no.Evidence.Line != 1 {
				t.Errorf("told %+v, printed %q", no, printed(o, "stderr"))
			}
			acts := d.acts()
			for _, want := range tt.acts {
				if !slices.Contains(acts, want) {
					t.Errorf("acts %q, want %q", acts, want)
				}
			}
			if live := ring.Status(); len(live) != 0 {
				t.Errorf("%d guests live on", len(live))
			}
		})
	}
}

// A shell that a program would start is no guest's to start: the refusal says so and
// gives the loop to write, which does the same.
func TestShellOfAProgram(t *testing.T) {
	e := executor(t, nil)
	for script, instead := range map[string]string{
		`echo one > one; find . -name one -exec bash -c 'cat "$1"' _ {} ';'`: `find . -name one -print0 | while IFS= read -r -d '' f; do cat "$f"; done`,
		`echo one > one; echo one | xargs bash -c 'cat "$1"' _`:              `echo one | while IFS= read -r line; do cat "$line"; done`,
	} {
		a := agent("find", "xargs", "bash", "cat")
		o, err := e.Run(t.Context(), run(a, script), &daemon{agent: a})
		if err != nil {
			t.Fatal(err)
		}
		loop, _, _ := strings.Cut(instead[strings.Index(instead, "| while"):], "do ")
		if o.State != executors.StateDenied || o.Error == nil ||
			!strings.HasPrefix(o.Error.Message, "shell.opaque: ") ||
			!strings.Contains(o.Error.Message, "would start bash itself, which no guest can") ||
			!strings.Contains(printed(o, "stderr"), loop) {
			t.Errorf("%s: got %s", script, brief(o))
		}
		if o, _ := play(t, e, run(a, "echo one > one; "+instead)); o.State != executors.StateDone ||
			printed(o, "stdout") != "one\n" {
			t.Errorf("%s: got %s", instead, brief(o))
		}
	}
}

// A shell that breaks over a script is a failed run: nothing goes on, wherever in the
// script it was, and what is told is no account of the shell's insides.
func TestBroken(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	const breaks = "set -- -ab; getopts ab o; set -- -a; getopts ab o"
	for _, script := range []string{
		"sleep 1000 & echo before; " + breaks + "; echo after", "echo before; (" + breaks + "; sleep 1000) | cat; echo after",
		"echo before; { " + breaks + "; } & sleep 1000; echo after",
	} {
		a := agent("sleep", "cat")
		o, err := e.Run(t.Context(), run(a, script), &daemon{agent: a})
		if err != nil {
			t.Fatal(err)
		}
		if o.State != executors.StateFailed || o.Error == nil ||
			!strings.Contains(o.Error.Message, "the shell crashed on this script") ||
			strings.Contains(printed(o, "stdout"), "after") {
			t.Errorf("%s: got %s", script, brief(o))
		}
		if errs := printed(o, "stderr"); strings.Contains(errs, ".go:") || strings.Contains(errs, "goroutine ") {
			t.Errorf("%s: printed %s", script, errs)
		}
		if live := ring.Status(); len(live) != 0 {
			t.Errorf("%s: %d guests live on", script, len(live))
		}
	}
}

// What is allowed is done as the daemon says it, not as the guest would.
func TestStartIsTheDaemons(t *testing.T) {
	e := executor(t, nil)
	a := agent("env", "sort")
	d := &daemon{agent: a, answer: func(context.Context, executors.Question) (executors.Answer, error) {
		return executors.Answer{Value: json.RawMessage(`{"verdict":"allow","code":"allowed","reason":"x",
			"start":{"path":"/usr/bin/env","argv":["env","-u","PWD"],"env":["FORCED=1","HOME=/nowhere","A=forced"]}}`)}, nil
	}}
	o, err := e.Run(t.Context(), run(a, "export A=mine; sort -n something"), d)
	out := printed(o, "stdout")
	if err != nil || o.State != executors.StateDone || !strings.Contains(out, "FORCED=1\n") ||
		!strings.Contains(out, "HOME=/nowhere\n") ||
		!strings.Contains(out, "A=forced\n") || strings.Contains(out, "A=mine") {
		t.Errorf("%v %s", err, brief(o))
	}
}

// Nothing that a script starts has the connection, and none looks into the process
// that runs the script.
func TestProgramsCannotReachTheirGuest(t *testing.T) {
	e := executor(t, nil)
	o, _ := play(t, e, run(agent(tools...), `
		readlink /proc/self/fd/* ; echo "--"
		for i in $(seq 40); do cat /proc/$i/environ 2>/dev/null; done | tr '\0' '\n' | sort -u; cat /proc/self/environ | tr '\0' '\n'; echo "--"
		for i in $(seq 40); do p=/proc/$i
			dd if=/dev/zero of=$p/mem bs=1 count=1 seek=4096 2>/dev/null && echo "wrote $p"
			head -c 1 $p/maps >/dev/null 2>&1 && echo "read ${p##*/}" 
		done
		echo "--"`))
	if o.State != executors.StateDone {
		t.Fatal(brief(o))
	}
	parts := strings.Split(printed(o, "stdout"), "--")
	if strings.Contains(parts[0], "socket:") {
		t.Errorf("a program has %s", parts[0])
	}
	// That the environment of cat itself is there shows that it can be read.
	if strings.Contains(parts[1], "GOMAXPROCS") || !strings.Contains(parts[1], "TERM=dumb") {
		t.Errorf("environments of processes: %s", parts[1])
	}
	if strings.Contains(parts[2], "wrote") {
		t.Errorf("memory of processes: %s", parts[2])
	}
}

// files is an agent with a folder of the host that its scripts may write, and one
// beside it that is nobody's.
func files(t *testing.T) (a *profiles.Agent, work, outside string) {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "ringd-shell-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	work, outside = filepath.Join(root, "work"), filepath.Join(root, "outside")
	for _, dir := range []string{work, outside, filepath.Join(work, ".git", "hooks"), filepath.Join(work, "readonly")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for p, text := range map[string]string{
		filepath.Join(outside, "secret"): "secret\n", filepath.Join(work, "a"): "a\n",
		filepath.Join(work, ".git", "config"): "[core]\n",
	} {
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(p, 0o777)
		}
		return os.Chmod(p, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	a = agent(tools...)
	a.Files = profiles.Files{Read: []profiles.PathRule{{Path: work}}, Write: []profiles.PathRule{{Path: work}}}
	return a, work, outside
}

// A redirect writes what was granted, wherever a path leads.
func TestFiles(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, script string
		state        executors.State
		out          string
	}{
		{"where it starts", "pwd | grep -c /work$; cat a", executors.StateDone, "1\na\n"},
		{"a file", "echo b > b; cat < b; echo c >> b; cat b", executors.StateDone, "b\nb\nc\n"},
		{"a link inside", "ln -s a l; echo new > l; cat a", executors.StateDone, "new\n"},
		{"a link to a folder inside", "mkdir d; ln -s $PWD/d l; echo new > l/x; cat d/x", executors.StateDone, "new\n"},
		{"a link that leads out", "ln -s OUT/secret l; echo pwned > l; echo after", executors.StateDenied, ""},
		{"to read through it", "ln -s OUT/secret l; cat < l; echo after", executors.StateDenied, ""},
		{"a folder that leads out", "ln -s OUT l; echo pwned > l/new; echo after", executors.StateDenied, ""},
		{"a link to what is not there", "ln -s OUT/new l; echo pwned > l; echo after", executors.StateDenied, ""},
		{"dots", "p=../outside; echo pwned > $p/new; echo after", executors.StateDenied, ""},
		{"dots behind a link", "mkdir -p d/e; ln -s d/e l; echo x > l/../f; ls d", executors.StateDone, "e\nf\n"},
		{"the configuration of git", "f=.git/config; echo x >> $f; echo after", executors.StateDenied, ""},
		{"a link to it", "ln -s .git/config notes; echo x >> notes; echo after", executors.StateDenied, ""},
		{"a link to its folder", "ln -s .git g; echo x >> g/config; echo after", executors.StateDenied, ""},
		{"that of a repository by another name", "mkdir -p d/objects d/refs; echo 'ref: refs/heads/main' > d/HEAD; echo x > d/config; echo after", executors.StateDenied, ""},
		{"in the other order", "mkdir -p d/objects d/refs; echo x > d/config; echo 'ref: refs/heads/main' > d/HEAD; echo after", executors.StateDenied, ""},
		{"a hook of one", "mkdir -p d/objects d/refs d/Hooks; ln -s a d/x; echo 'ref: refs/heads/main' > d/head; echo after", executors.StateDenied, ""},
		{"a hook where HEAD is", "mkdir -p d/hooks/more; touch d/HEAD; echo x > d/hooks/more/post; echo after", executors.StateDenied, ""},
		{"its folder by a link", "mkdir -p d; touch d/HEAD; ln -s d l; f=l/commondir; echo x >> $f; echo after", executors.StateDenied, ""},
		{"a config of a program", "mkdir -p docs/hooks conf/config; echo x > docs/config; echo y > docs/hooks/list; echo z > conf/config/HEADER; cat docs/config docs/hooks/list", executors.StateDone, "x\ny\n"},
		{"a file called HEAD", "mkdir d; echo x > d/HEAD; echo y > d/other; cat d/HEAD", executors.StateDone, "x\n"},
		{"elsewhere", "f=/tmp/x; echo x > $f; echo after", executors.StateDenied, ""},
		{"nothing there", "cat < none; echo after", executors.StateDone, "after\n"},
		{"a folder", "echo x > readonly; echo after", executors.StateDone, "after\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, work, outside := files(t)
			o, d := play(t, e, run(a, strings.ReplaceAll(tt.script, "OUT", outside)))
			if o.State != tt.state || printed(o, "stdout") != tt.out {
				t.Errorf("got %s", brief(o))
			}
			for p, want := range map[string]string{filepath.Join(outside, "secret"): "secret\n",
				filepath.Join(work, ".git/config"): "[core]\n"} {
				if b, err := os.ReadFile(p); err != nil || string(b) != want {
					t.Errorf("%s is %q, %v", p, b, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(outside, "new")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file was made outside: %v", err)
			}
			for _, act := range d.acts() {
				if p, ok := strings.CutPrefix(act, "write "); ok && !strings.HasPrefix(p, work+"/") {
					t.Errorf("asked for %s", act)
				}
			}
		})
	}
}

// locking is a Python program that takes memory of the kernel by locks of a file.
const locking = `import fcntl, time
f = open("/tmp/held", "w")
for i in range(12000, 0, -1): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)
time.sleep(1000)`

func TestLimits(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	for _, tt := range []struct {
		name, script string
		change       func(*executors.Run)
		error        string
	}{
		{"output", "yes", func(r *executors.Run) { r.Limits.OutputBytes = ptr(100_000) }, "OutputTooLarge"},
		{"output of both streams", "yes >&2 & yes", func(r *executors.Run) { r.Limits.OutputBytes = ptr(100_000) }, "OutputTooLarge"},
		{"output of the profile", "yes", func(r *executors.Run) { r.Agent.Limits.OutputBytes = ptr(100_000) }, "OutputTooLarge"},
		{"wall", "sleep 1000", func(r *executors.Run) { r.Limits.WallMillis = ptr(300) }, "Timeout"},
		{"wall of the shell", "while :; do :; done", func(r *executors.Run) { r.Limits.WallMillis = ptr(300) }, "Timeout"},
		{"cpu of programs", "yes > /dev/null & yes > /dev/null & wait", func(r *executors.Run) { r.Limits.CPUMillis = ptr(300) }, "Timeout"},
		{"locks of files", "python3 -I -S -c '" + locking + "'", func(r *executors.Run) {
			python, err := filepath.EvalSymlinks("/usr/bin/python3")
			if err != nil {
				t.Fatal(err)
			}
			r.Agent = agent(append(tools, "python3")...)
			r.Agent.Files.Read = append(r.Agent.Files.Read, profiles.PathRule{
				Path: "/usr/lib/" + filepath.Base(python)})
		}, "OutOfMemory"},
		{"a text that doubles", "a=xx; while :; do a=$a$a; done", func(*executors.Run) {}, "Endless"},
		{"a function that calls itself", "f() { f; }; f", func(*executors.Run) {}, "Endless"},
		{"processes", "for i in $(seq 100); do sleep 1000 & done; wait", func(r *executors.Run) {
			r.Agent.Limits.Processes = ptr(8)
			r.Limits.WallMillis = ptr(1000)
		}, "Timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(agent(tools...), tt.script)
			tt.change(&r)
			o, _ := play(t, e, r)
			if o.State != executors.StateLimit || o.Error == nil || o.Error.Name != tt.error {
				t.Errorf("got %s", brief(o))
			}
			if strings.HasPrefix(tt.name, "cpu") && o.Usage.CPU < 300*time.Millisecond {
				t.Errorf("it was ended by its limit with %v of processor time", o.Usage.CPU)
			}
			if n := len(printed(o, "stdout")) + len(printed(o, "stderr")); tt.error == "OutputTooLarge" &&
				n != 100_000 {
				t.Errorf("%d bytes, want 100000", n)
			}
			if live := ring.Status(); len(live) != 0 {
				t.Errorf("%d guests live on", len(live))
			}
		})
	}
}

// A script that starts itself for ever ends one way or another, nothing of it lives
// on, and the next one runs.
func TestBomb(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	r := run(agent("sleep"), "bomb() { bomb | bomb & }; bomb; sleep 1000")
	r.Limits.WallMillis = ptr(500)
	if o, _ := play(t, e, r); o.State == executors.StateDone {
		t.Errorf("got %s", brief(o))
	}
	if live := ring.Status(); len(live) != 0 {
		t.Errorf("%d guests live on", len(live))
	}
	if o, _ := play(t, e, run(agent("sleep"), "echo next")); printed(o, "stdout") != "next\n" {
		t.Errorf("got %s", brief(o))
	}
}

// Nothing of what is printed is lost, however much it is.
func TestAllOutputArrives(t *testing.T) {
	e := executor(t, nil)
	o, d := play(t, e, run(agent("seq"), "seq 100000; seq 20000 >&2"))
	var out, errs strings.Builder
	for i := range 100_000 {
		out.WriteString(itoa(i+1) + "\n")
		if i < 20_000 {
			errs.WriteString(itoa(i+1) + "\n")
		}
	}
	if o.State != executors.StateDone || printed(o, "stdout") != out.String() || printed(o, "stderr") != errs.String() {
		t.Errorf("%s: %d and %d bytes", o.State, len(printed(o, "stdout")), len(printed(o, "stderr")))
	}
	for i, entry := range d.console {
		if entry.Seq != int64(i)+1 {
			t.Fatalf("entry %d has number %d", i, entry.Seq)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestCancel(t *testing.T) {
	ring := launcher(t, nil)
	e := executorOver(t, ring, nil)
	ctx, cancel := context.WithCancel(t.Context())
	a := agent("sleep", "cat")
	d := &daemon{agent: a}
	d.answer = func(_ context.Context, q executors.Question) (executors.Answer, error) {
		if q.Action.Exec != nil && q.Action.Exec.Argv[0] == "cat" {
			cancel()
		}
		return d.decide(q)
	}
	o, err := e.Run(ctx, run(a, "trap 'echo trapped' EXIT; sleep 1000 & cat; sleep 1000; echo after"), d)
	if err != nil || o.State != executors.StateCancelled || strings.Contains(printed(o, "stdout"), "after") {
		t.Errorf("%v %s", err, brief(o))
	}
	if live := ring.Status(); len(live) != 0 {
		t.Errorf("%d guests live on", len(live))
	}
}

// A host that cannot decide ends the run, closed.
func TestHostFails(t *testing.T) {
	e := executor(t, nil)
	broken := errors.New("the record cannot be written")
	a := agent("touch", "ls")
	d := &daemon{agent: a, answer: func(context.Context, executors.Question) (executors.Answer, error) {
		return executors.Answer{}, broken
	}}
	o, err := e.Run(t.Context(), run(a, "echo before; ls; echo after"), d)
	if !errors.Is(err, broken) || strings.Contains(printed(o, "stdout"), "after") {
		t.Errorf("%v %s", err, brief(o))
	}
	for _, answer := range []string{`{"verdict":"ask","code":"x","reason":"x"}`, `{}`,
		`{"verdict":"allow","code":"allowed","reason":"no start"}`} {
		d.answer = func(context.Context, executors.Question) (executors.Answer, error) {
			return executors.Answer{Value: json.RawMessage(answer)}, nil
		}
		o, err := e.Run(t.Context(), run(a, "echo before; ls; echo after"), d)
		if err != nil || o.State != executors.StateFailed || o.Error.Name != "GuestError" ||
			printed(o, "stdout") != "before\n" {
			t.Errorf("%s: %v %s", answer, err, brief(o))
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	e := executor(t, func(c *shell.Config) { c.Blank = 2; c.Waiting = 4 })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := run(agent("cat"), `read -r n; echo "mine: $n"; cat`)
			r.Program.Stdin = []byte(itoa(i) + "\nrest\n")
			o, err := e.Run(t.Context(), r, &daemon{agent: r.Agent})
			if err != nil || printed(o, "stdout") != "mine: "+itoa(i)+"\nrest\n" {
				t.Errorf("%d: %v %s", i, err, brief(o))
			}
		})
	}
	wg.Wait()
}

// A host without the layers runs no script.
func TestNeedsTheLayers(t *testing.T) {
	denied := &profiles.Denial{Capability: "executor shell",
		Decision: profiles.Decision{Code: profiles.CodeTierUnavailable, Reason: "x"}}
	var asked []executors.Spec
	e := executorOver(t, launch(func(_ context.Context, s executors.Spec) (executors.Guest, error) {
		asked = append(asked, s)
		return nil, denied
	}), nil)
	for _, tier := range []profiles.Tier{"", profiles.TierProcess, profiles.TierWasm, profiles.TierOS,
		profiles.TierMicroVM} {
		a := agent("ls")
		a.MinTier = tier
		_, err := e.Run(t.Context(), run(a, "ls"), &daemon{agent: a})
		var got *profiles.Denial
		if !errors.As(err, &got) || got.Decision.Code != profiles.CodeTierUnavailable {
			t.Errorf("%s: %v", tier, err)
		}
		want := profiles.TierOS
		if tier == profiles.TierMicroVM {
			want = tier
		}
		if last := asked[len(asked)-1]; last.MinTier != want || !last.Streams || last.Agent != "default" {
			t.Errorf("%s: asked for %+v", tier, last)
		}
	}
	if _, err := e.Run(t.Context(), run(&profiles.Agent{Name: "default"}, "ls"), &daemon{}); err == nil {
		t.Error("an agent without a shell has one")
	}
}

type launch func(context.Context, executors.Spec) (executors.Guest, error)

func (l launch) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	return l(ctx, s)
}
