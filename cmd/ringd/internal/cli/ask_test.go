//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/schema/wire"
)

// TestMain is the asking process when it is started as one: a terminal has to
// be a process's own to be asked at.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "ask-here" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		answer, err := here(ctx)
		fmt.Fprintf(os.Stdout, "RESULT %v %q %q %v\n", answer.Allow, answer.Reason, answer.As, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func here(ctx context.Context) (cli.PromptAnswer, error) {
	tty, err := cli.Open(false)
	if err != nil {
		return cli.PromptAnswer{}, err
	}
	defer tty.Close()
	pending := wire.Pending{ID: "c1", Bridge: "pay", Args: json.RawMessage(`{"euro":5}`), From: os.Args[3:]}
	return tty.Ask(ctx, cli.Page{}, cli.Question{Run: "r1", Pending: pending}, os.Args[2])
}

func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(p *clitest.Person)
		want string
	}{
		{"yes", func(p *clitest.Person) { p.Types("y\n") }, `RESULT true "" "" <nil>`},
		{"yes in full", func(p *clitest.Person) { p.Types(" YES \n") }, `RESULT true "" "" <nil>`},
		{"no, with a reason", func(p *clitest.Person) { p.Types("n\n"); p.Until("Why not?"); p.Types("too much\n") }, `RESULT false "too much" "" <nil>`},
		{"Enter is no", func(p *clitest.Person) { p.Types("\n"); p.Until("Why not?"); p.Types("\n") }, `RESULT false "" "" <nil>`},
		{"anything else is no", func(p *clitest.Person) { p.Types("yy\n"); p.Until("Why not?"); p.Types("\n") }, `RESULT false "" "" <nil>`},
		{"end of input is none", func(p *clitest.Person) { p.Types("\x04") }, `RESULT false "" "" no answer`},
		{"Ctrl-C is none", func(p *clitest.Person) { p.Types("\x03") }, `RESULT false "" ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, nil, "", "")
			p.Until("Allow it? [y/N] ")
			tt.act(p)
			p.Until("RESULT")
			p.Until("\n")
			if got := p.Seen.String(); !strings.Contains(got, tt.want) || !strings.Contains(got, `"euro": 5`) {
				t.Errorf("want %q in %q", tt.want, got)
			}
		})
	}
}

func start(t *testing.T, stdin io.Reader, ahead, as string, owners ...string) *clitest.Person {
	t.Helper()
	// the clean-up ends it
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0],
		append([]string{"ask-here", as}, owners...)...)
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(master, ahead); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = tty.Close(), master.Close()
		_ = cmd.Wait() // it ended, or the hang-up ends it
	})
	return &clitest.Person{T: t, TTY: master}
}

// A call that waits for one owner is answered for that one; of several the person says
// which. A name that is none of them is asked for again, and chooses nothing.
func TestAskForWhom(t *testing.T) {
	const leads, legal = "group:leads@acme.example", "group:legal@acme.example"
	for _, tt := range []struct {
		name   string
		as     string
		owners []string
		act    func(p *clitest.Person)
		want   string
	}{
		{"one", "", []string{leads}, func(p *clitest.Person) { p.Types("y\n"); p.Until("You answer as " + leads) }, `RESULT true "" "` + leads + `" <nil>`},
		{"one, and a no", "", []string{leads}, func(p *clitest.Person) { p.Types("n\n"); p.Until("Why not?"); p.Types("dear\n") }, `RESULT false "dear" "` + leads + `" <nil>`},
		{"another was said before", "group:x@acme.example", []string{leads}, func(p *clitest.Person) { p.Types("y\n"); p.Until("[1-1] "); p.Types("1\n") }, `RESULT true "" "` + leads + `" <nil>`},
		{"said before", legal, []string{leads, legal}, func(p *clitest.Person) { p.Types("y\n") }, `RESULT true "" "` + legal + `" <nil>`},
		{"several, by number", "", []string{leads, legal}, func(p *clitest.Person) { p.Types("y\n"); p.Until("[1-2] "); p.Types("2\n") }, `RESULT true "" "` + legal + `" <nil>`},
		{"several, by name", "", []string{leads, legal}, func(p *clitest.Person) { p.Types("y\n"); p.Until("[1-2] "); p.Types(leads + "\n") }, `RESULT true "" "` + leads + `" <nil>`},
		{"asked again", "", []string{leads, legal}, func(p *clitest.Person) {
			p.Types("y\n")
			for _, wrong := range []string{"3", "0", "", "group:x@acme.example", "y"} {
				p.Until("[1-2] ")
				p.Types(wrong + "\n")
			}
			p.Until("[1-2] ")
			p.Types("1\n")
		}, `RESULT true "" "` + leads + `" <nil>`},
		{"nobody", "", []string{leads, legal}, func(p *clitest.Person) { p.Types("y\n"); p.Until("[1-2] "); p.Types("\x04") }, `RESULT false "" "" no answer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, nil, "", tt.as, tt.owners...)
			p.Until("Allow it? [y/N] ")
			tt.act(p)
			p.Until("RESULT")
			p.Until("\n")
			if got := p.Seen.String(); !strings.Contains(got, tt.want) {
				t.Errorf("want %q in %q", tt.want, got)
			}
		})
	}
}

// What stands on stdin, or was typed ahead, is no answer.
func TestAskTakesNoAnswerFromElsewhere(t *testing.T) {
	p := start(t, strings.NewReader("y\ny\n"), "y\n", "")
	p.Until("Allow it? [y/N] ")
	p.Types("n\n")
	p.Until("Why not?")
	p.Types("mine\n")
	p.Until("RESULT")
	p.Until(`"mine"`)
	if !strings.Contains(p.Seen.String(), `RESULT false "mine" ""`) {
		t.Errorf("%q", p.Seen.String())
	}
}

// Without a terminal there is nobody to ask.
func TestOpenWithoutTerminal(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "ask-here", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	if !strings.Contains(string(out), `RESULT false "" "" open terminal`) {
		t.Errorf("%s", out)
	}
}
