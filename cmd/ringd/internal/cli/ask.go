// The question to a person at a terminal, whether a call is allowed. Only a typed "yes" counts; an end of
// input or an interrupt does not. The terminal is read directly, so a program on stdin cannot answer. `ringd
// run` and `ringd approve` call it.

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
)

// maxLine limits the length of an input line.
const maxLine = 4 << 10

// ErrNoAnswer: the terminal was closed without an answer.
var ErrNoAnswer = errors.New("no answer")

// PromptAnswer is the answer of a person.
type PromptAnswer struct {
	Allow  bool
	Reason string // for a denial; may be empty
	As     string // owner that the person stands for; empty if the call names none
}

// prompt is the terminal of this process.
type prompt struct {
	f *os.File
	w *safetext.Edge // writes to f
}

// Open opens the controlling terminal. The caller closes it.
func Open(colour bool) (*prompt, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return &prompt{f, safetext.NewEdge(f, true, colour)}, nil
}

// Close closes the terminal.
func (t *prompt) Close() error { return t.f.Close() }

// Ask shows q and waits for an answer. as is the owner that the person has chosen before. If the call does
// not accept it, the person chooses an owner. Ask returns ctx's cause as soon as ctx ends, and ErrNoAnswer at
// the end of input.
func (t *prompt) Ask(ctx context.Context, page Page, q Question, as string) (PromptAnswer, error) {
	// Input that was typed before the question does not answer it.
	if err := discardInput(t.f); err != nil {
		return PromptAnswer{}, err
	}
	page.W = t.w
	if whole := page.Question(q); !whole {
		fmt.Fprintln(t.w, page.Bad("Not everything is shown above."))
	}
	stop := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	fmt.Fprint(t.w, "Allow it? [y/N] ")
	said, err := t.readLine(ctx)
	if err != nil {
		return PromptAnswer{}, err
	}
	answer := PromptAnswer{Allow: slices.Contains([]string{"y", "yes"}, strings.ToLower(said))}
	if !answer.Allow {
		fmt.Fprint(t.w, "Why not? The program reads it (Enter for none): ")
		if answer.Reason, err = t.readLine(ctx); err != nil {
			return PromptAnswer{}, err
		}
	}
	if answer.As, err = t.chooseOwner(ctx, q.Pending.From, as); err != nil {
		return PromptAnswer{}, err
	}
	return answer, nil
}

// chooseOwner returns the owner for whom the person answers. That is as, if the call accepts it. If the call
// accepts only one owner, it is that one. Otherwise the person is asked until the answer is one of the owners.
func (t *prompt) chooseOwner(ctx context.Context, owners []string, as string) (string, error) {
	switch {
	case len(owners) == 0, slices.Contains(owners, as):
		return as, nil
	case len(owners) == 1 && as == "":
		fmt.Fprintf(t.w, "You answer as %s.\n", Visible(owners[0]))
		return owners[0], nil
	}
	for {
		for i, o := range owners {
			fmt.Fprintf(t.w, "  %d  %s\n", i+1, Visible(o))
		}
		fmt.Fprintf(t.w, "As which owner do you answer? [1-%d] ", len(owners))
		said, err := t.readLine(ctx)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(owners) {
			return owners[n-1], nil
		}
		if slices.Contains(owners, said) {
			return said, nil
		}
	}
}

// Confirm asks for a yes to what was shown before. It returns ctx's cause as soon as ctx ends, and
// ErrNoAnswer at the end of input.
func (t *prompt) Confirm(ctx context.Context, question string) (bool, error) {
	if err := discardInput(t.f); err != nil { // input typed before does not answer the question
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	fmt.Fprint(t.w, question+" [y/N] ")
	said, err := t.readLine(ctx)
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(said)), err
}

// readLine reads one line and trims it.
func (t *prompt) readLine(ctx context.Context) (string, error) {
	var text []byte
	buf := make([]byte, 256)
	for !bytes.Contains(text, []byte("\n")) {
		n, err := t.f.Read(buf)
		text = append(text, buf[:n]...)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(t.w)
			return "", context.Cause(ctx)
		case errors.Is(err, io.EOF), err == nil && n == 0:
			fmt.Fprintln(t.w)
			return "", ErrNoAnswer
		case err != nil:
			return "", fmt.Errorf("read terminal: %w", err)
		case len(text) > maxLine:
			return "", fmt.Errorf("read terminal: a line of more than %d bytes", maxLine)
		}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")), nil
}
