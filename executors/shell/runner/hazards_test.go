package runner_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/profiles"
)

// nothing is a host that refuses everything and keeps what was asked.
type nothing struct{ host }

func (n *nothing) Start(_ context.Context, p runner.Program) (uint8, error) {
	n.note("start " + strings.Join(p.Argv, " "))
	return 0, &profiles.Denial{Decision: profiles.Decision{Code: profiles.CodeExecNotGranted, Reason: "no"}}
}

func (n *nothing) Open(_ context.Context, f runner.File) (io.ReadWriteCloser, error) {
	n.note(f.Op + " " + f.Path)
	return nil, &profiles.Denial{Decision: profiles.Decision{Code: profiles.CodeShellRedirect, Reason: "no"}}
}

func (n *nothing) Look(_ context.Context, l runner.Look) (runner.Seen, error) {
	n.note("look " + l.Path)
	return runner.Seen{}, &os.PathError{Op: "stat", Path: l.Path, Err: os.ErrNotExist}
}

// TestDefaultHandlers: what the interpreter's own handlers would do with the real
// files of a folder is not done, and each handler is asked.
func TestDefaultHandlers(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		asks       string                     // what the host is asked instead
		attack     func(dir, out string) bool // it has worked
	}{
		{"exec", "touch made", "start touch made", func(dir, _ string) bool { return exists(dir, "made") }},
		{"a script without a first line", "./plain", "start ./plain", func(dir, _ string) bool { return exists(dir, "ran") }},
		{"open to write", "echo x > made", "write ", func(dir, _ string) bool { return exists(dir, "made") }},
		{"open to read", "read x < real; echo $x", "read ", func(_, out string) bool { return out == "content\n" }},
		{"a file as text", "echo $(<real)", "read ", func(_, out string) bool { return out == "content\n" }},
		{"source", ". ./text", "read ", func(_, out string) bool { return out == "sourced\n" }},
		{"glob", "echo re*", "look ", func(_, out string) bool { return out == "real\n" }},
		{"stat", "[ -f real ] && echo there", "look ", func(_, out string) bool { return out == "there\n" }},
		{"access", "[ -r real ] && echo there", "look ", func(_, out string) bool { return out == "there\n" }},
		{"cd", "cd sub && echo in", "look ", func(_, out string) bool { return out == "in\n" }},
		{"call", "eval 'touch made'", "start touch made", func(dir, _ string) bool { return exists(dir, "made") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(t, dir)
			n := &nothing{}
			r := runText(t, dir, tt.text, func(c *runner.Config) { c.Host = n })
			if tt.attack(dir, r.out) {
				t.Errorf("%s worked without the host", tt.text)
			}
			if !slices.ContainsFunc(n.notes(), func(s string) bool { return strings.HasPrefix(s, tt.asks) }) {
				t.Errorf("the host was asked %q, want %q", n.notes(), tt.asks)
			}
			dir = t.TempDir()
			prepare(t, dir)
			if out := bare(t, dir, tt.text); !tt.attack(dir, out) {
				t.Errorf("%s does not work with the interpreter's own handlers: this proves nothing (output %q)",
					tt.text, out)
			}
		})
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func prepare(t *testing.T, dir string) {
	t.Helper()
	for name, content := range map[string]string{"real": "content\n", "text": "echo sourced\n",
		"plain": "touch ran\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil { //nolint:gosec // to be started
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// bare runs a text by the interpreter as it comes, in a folder of the test.
func bare(t *testing.T, dir, text string) string {
	t.Helper()
	f, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	var out locked
	r, err := interp.New(interp.Dir(dir),
		interp.Env(expand.ListEnviron("PATH=/usr/bin:/bin", "HOME="+dir, "TMPDIR="+dir)),
		interp.StdIO(nil, &out, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	var status interp.ExitStatus
	if err := r.Run(t.Context(), f); err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return out.String()
}

// TestOwnFiles: a path that the interpreter takes for one of its own is asked
// about as every other.
func TestOwnFiles(t *testing.T) {
	const text = "echo x > $TMPDIR/sh-interp-1; TMPDIR=/x; echo x > /x/sh-interp-2; echo x > $TMPDIR/sh-interp-3; " +
		"echo done"
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := &nothing{}
	r := runText(t, dir, text, func(c *runner.Config) { c.Host = n })
	if len(n.notes()) != 1 || !strings.HasPrefix(n.notes()[0], "write ") || len(r.res.Refused) != 1 ||
		exists(dir, "tmp/sh-interp-1") {
		t.Errorf("asked %q, refused %v", n.notes(), r.res.Refused)
	}
	if bare(t, dir, "echo x > $TMPDIR/sh-interp-1"); !exists(dir, "sh-interp-1") {
		t.Error("the interpreter does not open such a file itself any more: this proves nothing")
	}
}

// TestRefusalStops: wherever the first refusal happens, nothing after it runs.
func TestRefusalStops(t *testing.T) {
	for _, text := range []string{
		"evil", "(evil)", "{ evil; }", "evil &\nwait", "evil | cat", "cat | evil", "x=$(evil)", "echo $(evil)", "echo `evil`",
		"[[ $(evil) ]]", "[ \"$(evil)\" ]", "case $(evil) in *) ;; esac", "cat <<EOF\n$(evil)\nEOF", "cat <<< $(evil)", "echo ${x:-$(evil)}",
		"echo $(( $(evil) + 1 ))", "export A=$(evil)", "declare A=$(evil)", "echo > $(evil)", "for i in $(evil); do :; done", "for ((i=$(evil);i<0;)); do :; done",
		"if evil; then :; fi", "while evil; do :; done", "until evil; do break; done", "! evil", "evil || true", "true && evil", "f() { evil; }; f",
		"eval evil", "eval 'echo $(evil)'", "trap evil ERR; false", "a=($(evil))", "a[$(evil)]=1", "cat <(evil)", "while read x; do :; done < <(evil)",
		"command evil", "exec evil", "bash -c evil", "bash -c 'evil; true' || true", "echo evil | bash", "timeout 5 bash -c evil", "time evil",
		"set +e; evil", "x=1 evil", "let x=$(evil)", "((x=$(evil)))", "echo ${x/$(evil)/}", "[[ a =~ $(evil) ]]", "{ evil; } 2>/dev/null", "(evil) 2>&1 | cat",
		"sleep 100 | evil", "evil & sleep 100", "sleep 100 & evil", "echo x > secret", "PATH=/x true", "read PATH <<< x", "echo ok; cat < secret",
		"printf -v LD_PRELOAD x", "eval 'a=('", "source <(echo evil)", "f() { f; }; f 2>/dev/null; true; evil",
		"evil | cat; echo ${PIPESTATUS[0]}", "cat | evil; x=${PIPESTATUS[1]}", "true | cat; if [ ${PIPESTATUS[0]} = $(evil) ]; then :; fi",
		"set -e; true | (evil) | cat || true; true | cat; echo ${PIPESTATUS[0]}",
	} {
		t.Run("", func(t *testing.T) {
			r := runText(t, t.TempDir(), text+"\ntouch after\necho after", nil)
			if r.err != nil || len(r.res.Refused) != 1 && r.res.Endless == "" || r.res.Exit == 0 {
				t.Errorf("%s: ended with %+v, %v", text, r.res, r.err)
			}
			if strings.Contains(r.out, "after") || slices.Contains(r.asked, "start touch after") {
				t.Errorf("%s: the script went on: %q %q", text, r.out, r.asked)
			}
			if r.res.State != nil {
				t.Errorf("%s: a refused script leaves a state", text)
			}
		})
	}
	r := runText(t, t.TempDir(), "trap 'touch after' EXIT\nevil", nil)
	if slices.Contains(r.asked, "start touch after") || r.res.Exit != profiles.ExitRefused {
		t.Errorf("the exit trap of a refused script ran: %q, %+v", r.asked, r.res)
	}
}

// TestBounds: what would not end, or outgrow the memory, is stopped.
func TestBounds(t *testing.T) {
	for _, text := range []string{
		"a=xx; while :; do a=$a$a; done", "while :; do :; done", "for ((;;)); do :; done", "f() { f; }; f", "f() { f | f; }; f",
		"f() { eval f; }; f", "f() { f 2>&1; }; f", "a=x; for i in {1..60}; do a=${a//x/xxxxxxxx}; done",
		"a=x; for i in {1..60}; do a=${a//x/$a$a}; done", "a=(1 2); while :; do a=(${a[@]} ${a[@]}); done", "until false; do :; done",
		"x=$(while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done)", "f() { local a=$1$1; f $a; }; f xxxx",
		"a=xxxxxxxx; " + strings.Repeat("a=$a$a$a$a; ", 20),
	} {
		r := runText(t, t.TempDir(), text, func(c *runner.Config) {
			c.Limits = runner.Limits{Steps: 6000, Depth: 300, Bytes: 1 << 20, Shell: 4}
		})
		if r.res.Endless == "" && len(r.res.Refused) == 0 || r.res.Exit < runner.ExitBound || r.err != nil {
			t.Errorf("%.60s: ended with %+v, %v", text, r.res, r.err)
		}
	}
	for _, text := range []string{"for i in {1..1000}; do :; done", "x=$(seq 1 2000); echo ${#x}",
		"f() { (( $1 > 0 )) && f $(( $1 - 1 )); }; f 50"} {
		r := runText(t, t.TempDir(), text, func(c *runner.Config) {
			c.Limits = runner.Limits{Steps: 6000, Depth: 300, Bytes: 1 << 20, Shell: 4}
		})
		if r.res.Endless != "" || r.err != nil {
			t.Errorf("%.60s: ended with %+v, %v", text, r.res, r.err)
		}
	}
}

// TestShift: a number below none is too many parameters, however shift is said: the
// interpreter would break over it.
func TestShift(t *testing.T) {
	for _, shift := range []string{
		"shift -1", "builtin shift -1", "command shift -1", "s=shift; $s -1", `"shift" -1`, `\shift -1`, "builtin command shift -1",
		"eval 'shift -1'", "n=-1; shift $n", "f() { shift -1; }; f a", "shift -1 | cat", "(shift -1)", "set -- shift -1; \"$@\"; set -- a b",
	} {
		r := runText(t, t.TempDir(), "set -o pipefail; set -- a b\n"+shift+"\necho $? $#", nil)
		if r.err != nil || r.out != "1 2\n" && r.out != "0 2\n" {
			t.Errorf("%s: %q, %+v, %v", shift, r.out, r.res, r.err)
		}
	}
	r := runText(t, t.TempDir(), "set -- a b c; builtin shift; command shift 1; echo $*; shift; shift; echo $?", nil)
	if r.err != nil || r.out != "c\n1\n" {
		t.Errorf("%q, %v", r.out, r.err)
	}
}

// TestFault: a fault of the host ends the script, and is no exit code of it.
func TestFault(t *testing.T) {
	r := runText(t, t.TempDir(), "cat || true; touch after", func(c *runner.Config) { c.Host = &broken{} })
	if !errors.Is(r.err, errBroken) || r.res.State != nil {
		t.Errorf("ended with %+v, %v", r.res, r.err)
	}
	if _, err := runner.Run(t.Context(), runner.Config{}, nil); err == nil {
		t.Error("the zero config runs")
	}
}

var errBroken = errors.New("broken")

type broken struct{ host }

func (*broken) Start(context.Context, runner.Program) (uint8, error) { return 0, errBroken }

// TestState: variables, functions and the folder go on in a later run.
func TestState(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := runText(t, dir, "x='a b'; export Y=2; a=(1 '2 3'); declare -A m=([k]=v); f() { echo f \"$1\" $x; }; cd "+
		"sub; set -u", nil)
	if first.res.State == nil {
		t.Fatalf("no state: %+v %v", first.res, first.err)
	}
	again := func(text string) ran {
		return runText(t, first.res.State.Dir, text, func(c *runner.Config) { c.State = first.res.State })
	}
	r := again("echo \"$x\" $Y ${#a[@]} ${m[k]} ${PWD##*/}; f q; printenv Y; for i in 1 2; do if [ $i = 1 ]; then " +
		"continue; fi; echo $i; done")
	if want := "a b 2 2 v sub\nf q a b\n2\n2\n"; r.out != want || r.err != nil {
		t.Errorf("got %q %v %s, want %q", r.out, r.err, r.errs, want)
	}
	bad := &runner.State{Dir: dir, Variables: []runner.Variable{{Name: "LD_PRELOAD", Value: "x", Exported: true}}}
	r = runText(t, dir, "echo in", func(c *runner.Config) { c.State = bad })
	if len(r.res.Refused) != 1 || r.out != "" {
		t.Errorf("a state with a refused variable runs: %+v %q", r.res, r.out)
	}
	bad = &runner.State{Dir: dir, Functions: map[string]string{"f": "touch made"}}
	r = runText(t, dir, "echo in", func(c *runner.Config) { c.State = bad })
	if r.err == nil || r.out != "" || len(r.asked) > 0 {
		t.Errorf("a state with a command for a function runs: %+v %q %q", r.res, r.out, r.asked)
	}
}
