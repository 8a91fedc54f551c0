// This file asks a person at a terminal whether a call may happen.
//
// Only a yes that was typed is a yes: an end of input, an interrupt, anything
// else is none. It reads the terminal itself, so that a program on stdin cannot
// answer for the person. It decides nothing; `ringd run` calls it.

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

// maxLine bounds what a person types.
const maxLine = 4 << 10

// ErrNoAnswer is returned when nobody answered: the terminal was closed.
var ErrNoAnswer = errors.New("no answer")

// PromptAnswer is what a person said.
type PromptAnswer struct {
	Allow  bool
	Reason string // of a denial; may be ""
	As     string // the owner that the person answers for; "": the call names none
}

// prompt is the terminal of this process.
type prompt struct {
	f *os.File
	w *safetext.Edge // before f
}

// Open opens the controlling terminal. With colour, it takes styles. The caller closes it.
func Open(colour bool) (*prompt, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return &prompt{f, safetext.NewEdge(f, true, colour)}, nil
}

// Close gives the terminal back.
func (t *prompt) Close() error { return t.f.Close() }

// Ask shows q and waits for an answer. as is the owner that the person has said before;
// where the call does not wait for it, the person says for whom the answer is. It
// returns ctx's cause as soon as ctx ends, and ErrNone at the end of input.
func (t *prompt) Ask(ctx context.Context, page Page, q Question, as string) (PromptAnswer, error) {
	// What was typed before the question was shown answers another one.
	if err := drop(t.f); err != nil {
		return PromptAnswer{}, err
	}
	page.W = t.w
	if whole := page.Question(q); !whole {
		fmt.Fprintln(t.w, page.Bad("Not everything is shown above."))
	}
	stop := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	fmt.Fprint(t.w, "Allow it? [y/N] ")
	said, err := t.line(ctx)
	if err != nil {
		return PromptAnswer{}, err
	}
	answer := PromptAnswer{Allow: slices.Contains([]string{"y", "yes"}, strings.ToLower(said))}
	if !answer.Allow {
		fmt.Fprint(t.w, "Why not? The program reads it (Enter for none): ")
		if answer.Reason, err = t.line(ctx); err != nil {
			return PromptAnswer{}, err
		}
	}
	if answer.As, err = t.whom(ctx, q.Pending.From, as); err != nil {
		return PromptAnswer{}, err
	}
	return answer, nil
}

// whom is the owner that the person answers for: the one said before, the only one there
// is, or the one that the person chooses. It asks until it is one of them.
func (t *prompt) whom(ctx context.Context, owners []string, as string) (string, error) {
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
		said, err := t.line(ctx)
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

// Confirm asks for a yes to what was shown before. It returns ctx's cause as soon as ctx
// ends, and ErrNone at the end of input.
func (t *prompt) Confirm(ctx context.Context, question string) (bool, error) {
	if err := drop(t.f); err != nil { // what was typed before answers another one
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	fmt.Fprint(t.w, question+" [y/N] ")
	said, err := t.line(ctx)
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(said)), err
}

// line reads one line, without what surrounds it.
func (t *prompt) line(ctx context.Context) (string, error) {
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
