package bashcompat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/bashcompat"
	"github.com/ringd/ringd/executors/shell/script"
)

// run runs a tree with builtins alone.
func run(t *testing.T, f *syntax.File) string {
	t.Helper()
	var out bytes.Buffer
	none := func(context.Context, []string) error { return errors.New("no programs here") }
	r, err := interp.New(interp.StdIO(nil, &out, io.Discard), interp.Dir(t.TempDir()),
		interp.Params("--", "p1", "p two"),
		interp.Env(expand.ListEnviron("HOME=/home/agent", "PATH=/none")),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return none }),
		interp.OpenHandler(func(_ context.Context, path string, _ int, _ os.FileMode) (io.ReadWriteCloser, error) {
			if path == "/dev/null" {
				return os.OpenFile(path, os.O_RDWR, 0)
			}
			return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrPermission}
		}))
	if err != nil {
		t.Fatal(err)
	}
	code := 0
	var status interp.ExitStatus
	if err := r.Run(t.Context(), f); errors.As(err, &status) {
		code = int(status)
	} else if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d\n%s", code, out.String())
}

func parse(t *testing.T, text string) *syntax.File {
	t.Helper()
	s, r := script.Parse(text)
	if r != nil {
		t.Fatalf("%q: %v", text, r)
	}
	return s.File
}

func printed(t *testing.T, f *syntax.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := syntax.NewPrinter().Print(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAsBash holds that each script of the list, whose output bash 5.2 wrote, runs
// as in bash when it was rewritten, also when it was printed and read again; and
// that without it does not, or the rewriting would be for nothing.
func TestAsBash(t *testing.T) {
	b, err := os.ReadFile("testdata/bash.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block := range strings.SplitSeq(strings.TrimSuffix(string(b), "---\n"), "\n---\n") {
		text, want, ok := strings.Cut(block+"\n", "\n=> ")
		if !ok {
			t.Fatalf("not a case: %q", block)
		}
		n++
		plain := trimmed(run(t, parse(t, text)))
		f := parse(t, text)
		bashcompat.Rewrite(f, text)
		again := printed(t, f)
		got := trimmed(run(t, f))
		if want = trimmed(want); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
		if plain == want {
			t.Errorf("%s\nruns as in bash without being rewritten", text)
		}
		if got := trimmed(run(t, parse(t, again))); got != want {
			t.Errorf("%s\nprinted as %s\ngot  %q\nwant %q", text, again, got, want)
		}
	}
	if n < 40 {
		t.Errorf("%d scripts", n)
	}
}

// trimmed takes the ends of lines off, which the list does not have.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func FuzzRewrite(f *testing.F) {
	b, err := os.ReadFile("testdata/bash.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(b), "\n---\n") {
		text, _, _ := strings.Cut(block, "\n=> ")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, r := script.Parse(text)
		if r != nil {
			t.Skip(r)
		}
		if readsBack(s.File) != nil {
			t.Skip("the printer does not print it as it was")
		}
		bashcompat.Rewrite(s.File, text)
		if err := readsBack(s.File); err != nil {
			t.Fatalf("%q does not read back: %v", text, err)
		}
	})
}

func readsBack(f *syntax.File) error {
	var out bytes.Buffer
	if err := syntax.NewPrinter().Print(&out, f); err != nil {
		return err
	}
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(&out, "")
	return err
}
