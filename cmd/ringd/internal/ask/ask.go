// Package ask asks a person at a terminal whether a call may happen.
//
// Only a yes that was typed is a yes: an end of input, an interrupt, anything
// else is none. It reads the terminal itself, so that a program on stdin cannot
// answer for the person. It decides nothing; `ringd run` calls it.
package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
)

// maxLine bounds what a person types.
const maxLine = 4 << 10

// ErrNone is returned when nobody answered: the terminal was closed.
var ErrNone = errors.New("nobody answered")

// Answer is what a person said.
type Answer struct {
	Allow  bool
	Reason string // of a denial; may be ""
}

// Terminal is the terminal of this process.
type Terminal struct{ f *os.File }

// Open opens the controlling terminal. The caller closes it.
func Open() (*Terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return &Terminal{f}, nil
}

// Close gives the terminal back.
func (t *Terminal) Close() error { return t.f.Close() }

// Ask shows q and waits for an answer. It returns ctx's cause as soon as ctx
// ends, and ErrNone at the end of input.
func (t *Terminal) Ask(ctx context.Context, page render.Page, q render.Question) (Answer, error) {
	// What was typed before the question was shown answers another one.
	if err := drop(t.f); err != nil {
		return Answer{}, err
	}
	page.W = t.f
	if whole := page.Question(q); !whole {
		fmt.Fprintln(t.f, page.Bad("Not everything is shown above."))
	}
	stop := context.AfterFunc(ctx, func() { _ = t.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	fmt.Fprint(t.f, "Allow it? [y/N] ")
	said, err := t.line(ctx)
	if err != nil {
		return Answer{}, err
	}
	switch strings.ToLower(said) {
	case "y", "yes":
		return Answer{Allow: true}, nil
	}
	fmt.Fprint(t.f, "Why not? The program reads it (Enter for none): ")
	reason, err := t.line(ctx)
	return Answer{Reason: reason}, err
}

// line reads one line, without what surrounds it.
func (t *Terminal) line(ctx context.Context) (string, error) {
	var text []byte
	buf := make([]byte, 256)
	for !bytes.Contains(text, []byte("\n")) {
		n, err := t.f.Read(buf)
		text = append(text, buf[:n]...)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(t.f)
			return "", context.Cause(ctx)
		case errors.Is(err, io.EOF), err == nil && n == 0:
			fmt.Fprintln(t.f)
			return "", ErrNone
		case err != nil:
			return "", fmt.Errorf("read terminal: %w", err)
		case len(text) > maxLine:
			return "", fmt.Errorf("read terminal: a line of more than %d bytes", maxLine)
		}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")), nil
}
