package runner_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
)

// snippets are the short scripts of testdata/snippets.txt: each begins at the
// start of a line; lines of a here-document, a string or after a backslash belong
// to the one before, as their indentation or the parser tells.
func snippets(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/snippets.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	open := ""
	for line := range strings.Lines(string(b)) {
		open += line
		if whole(open) {
			out = append(out, open)
			open = ""
		}
	}
	if open != "" {
		t.Fatalf("the last snippet is not whole: %q", open)
	}
	return out
}

// whole reports whether a text is a script that needs no further line.
func whole(text string) bool {
	if strings.HasSuffix(text, "\\\n") {
		return false
	}
	c := exec.Command("/bin/bash", "-n", "-c", text)
	var errs bytes.Buffer
	c.Stderr = &errs
	err := c.Run()
	return err == nil && errs.Len() == 0
}

func bash(t *testing.T, dir, text string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/bin/bash", "-c", text)
	c.Dir = dir
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8"}
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// TestAsBash runs each snippet by bash and by the runner. What is refused by name
// is counted; what runs has to have bash's output and exit code.
func TestAsBash(t *testing.T) {
	if _, err := os.Stat("/bin/bash"); err != nil {
		if os.Getenv("RINGD_REQUIRE_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skip("no /bin/bash")
	}
	all := snippets(t)
	if len(all) < 300 {
		t.Errorf("%d snippets, at least 300", len(all))
	}
	var refused []string
	for _, text := range all {
		if _, r := script.Parse(text); r != nil {
			refused = append(refused, text+"  "+r.Error())
			continue
		}
		t.Run("", func(t *testing.T) {
			want, exit := bash(t, t.TempDir(), text)
			r := runText(t, t.TempDir(), text, func(c *runner.Config) { c.Env = append(c.Env, "LC_ALL=C.UTF-8") })
			if r.err != nil || r.out != want || int(r.res.Exit) != exit {
				t.Errorf("%s\n got %q exit %d (%v %v %s)\nwant %q exit %d\nstderr %q", text, r.out, r.res.Exit, r.err,
					r.res.Refused, r.res.Endless, want, exit, r.errs)
			}
		})
	}
	t.Logf("%d of %d run, refused by name:\n%s", len(all)-len(refused), len(all), strings.Join(refused, ""))
	slices.Sort(refused)
}
