package ask_test

import (
	"bytes"
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

	"github.com/ringd/ringd/cmd/ringd/internal/ask"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/schema/wire"
)

// TestMain is the asking process when it is started as one: a terminal has to
// be a process's own to be asked at.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "ask-here" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		answer, err := here(ctx)
		fmt.Fprintf(os.Stdout, "RESULT %v %q %v\n", answer.Allow, answer.Reason, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func here(ctx context.Context) (ask.Answer, error) {
	tty, err := ask.Open()
	if err != nil {
		return ask.Answer{}, err
	}
	defer tty.Close()
	return tty.Ask(ctx, render.Page{}, render.Question{Run: "r1", Pending: wire.Pending{ID: "c1", Bridge: "pay", Args: json.RawMessage(`{"euro":5}`)}})
}

// person is one end of a terminal: it waits for text and types.
type person struct {
	t    *testing.T
	tty  *os.File
	seen bytes.Buffer
}

func (p *person) until(text string) {
	p.t.Helper()
	buf := make([]byte, 1024)
	for !strings.Contains(p.seen.String(), text) {
		n, err := p.tty.Read(buf)
		p.seen.Write(buf[:n])
		if err != nil {
			p.t.Fatalf("waiting for %q: %v in %q", text, err, p.seen.String())
		}
	}
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.tty, text); err != nil {
		p.t.Fatal(err)
	}
}

func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(p *person)
		want string
	}{
		{"yes", func(p *person) { p.types("y\n") }, `RESULT true "" <nil>`},
		{"yes in full", func(p *person) { p.types(" YES \n") }, `RESULT true "" <nil>`},
		{"no, with a reason", func(p *person) { p.types("n\n"); p.until("Why not?"); p.types("too much\n") }, `RESULT false "too much" <nil>`},
		{"Enter is no", func(p *person) { p.types("\n"); p.until("Why not?"); p.types("\n") }, `RESULT false "" <nil>`},
		{"anything else is no", func(p *person) { p.types("yy\n"); p.until("Why not?"); p.types("\n") }, `RESULT false "" <nil>`},
		{"end of input is none", func(p *person) { p.types("\x04") }, `RESULT false "" nobody answered`},
		{"Ctrl-C is none", func(p *person) { p.types("\x03") }, `RESULT false ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, nil, "")
			p.until("Allow it? [y/N] ")
			tt.act(p)
			p.until("RESULT")
			p.until("\n")
			if got := p.seen.String(); !strings.Contains(got, tt.want) || !strings.Contains(got, `"euro": 5`) {
				t.Errorf("want %q in %q", tt.want, got)
			}
		})
	}
}

func start(t *testing.T, stdin io.Reader, ahead string) *person {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "ask-here") // the clean-up ends it
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
	return &person{t: t, tty: master}
}

// What stands on stdin, or was typed ahead, is no answer.
func TestAskTakesNoAnswerFromElsewhere(t *testing.T) {
	p := start(t, strings.NewReader("y\ny\n"), "y\n")
	p.until("Allow it? [y/N] ")
	p.types("n\n")
	p.until("Why not?")
	p.types("mine\n")
	p.until("RESULT")
	p.until(`"mine"`)
	if !strings.Contains(p.seen.String(), `RESULT false "mine"`) {
		t.Errorf("%q", p.seen.String())
	}
}

// Without a terminal there is nobody to ask.
func TestOpenWithoutTerminal(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "ask-here")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	if !strings.Contains(string(out), `RESULT false "" open terminal`) {
		t.Errorf("%s", out)
	}
}
