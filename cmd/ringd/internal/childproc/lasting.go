// This file has children that answer one question after the other, and that
// can be killed. A child of the same binary reads what strangers wrote, with an empty
// environment, limits on memory and processor time, and nothing open but its pipes;
// one that does not answer in time is killed, and another one takes its place.
//
// Packages script and decide ask such children; their hidden subcommands call Serve.

package childproc

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// perChild is how many questions a child answers before another takes its place, and
// lifeTime the processor time it has for them.
const (
	perChild = 2000
	lifeTime = 120 * time.Second
)

// maxStderr bounds what is kept of a dying child's words.
const maxStderr = 16 << 10

// maxStack makes runaway recursion a quick death.
const maxStack = 128 << 20

// Config says how to start the children. All is required.
type Config struct {
	Path        string        // the binary, absolute
	Args        []string      // what makes it call Serve: the hidden subcommand
	Wall        time.Duration // for one answer; ten times that under the race detector
	MemoryBytes int64
	Children    int // how many answer at once
	MaxReply    int // bytes of an answer
}

// Pool asks children. It is safe for concurrent use.
type Pool struct {
	cfg  Config
	room chan struct{}

	mu     sync.Mutex
	closed bool
	idle   []*Child
}

// New starts nothing yet. The caller closes the Pool.
func New(cfg Config) (*Pool, error) {
	if cfg.Path == "" || len(cfg.Args) == 0 {
		return nil, errors.New("children that answer: no binary or no subcommand is configured")
	}
	return &Pool{cfg: cfg, room: make(chan struct{}, max(cfg.Children, 1))}, nil
}

// Errors of Ask, beside those of ctx and *Death.
var (
	ErrTook   = errors.New("it took too long") // the child was killed
	errClosed = errors.New("the pool is closed")
)

// Ask has one child answer a question, which may depend on what the child knows, and
// reads its answer. A child that waited may have died by itself: then another one is
// asked, once.
func (p *Pool) Ask(ctx context.Context, question func(*Child) any, answer any) error {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fresh, err := p.try(ctx, question, answer)
	if err != nil && !fresh && !errors.Is(err, ErrTook) && ctx.Err() == nil {
		_, err = p.try(ctx, question, answer)
	}
	return err
}

// try asks one child, and keeps it when it answered.
func (p *Pool) try(ctx context.Context, question func(*Child) any, answer any) (fresh bool, err error) {
	c, fresh, err := p.take()
	if err != nil {
		return true, err
	}
	err = c.ask(ctx, p.cfg, question(c), answer)
	if err == nil && p.keep(c) {
		return fresh, nil
	}
	return fresh, errors.Join(err, c.end(err))
}

func (p *Pool) take() (c *Child, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, true, errClosed
	}
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
		return c, false, nil
	}
	c, err = start(p.cfg)
	return c, true, err
}

func (p *Pool) keep(c *Child) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.served >= perChild {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// Close ends the children that wait. One that works ends with its answer.
func (p *Pool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.end(nil)
	}
	return nil
}

// Child is a process that answers.
type Child struct {
	Known int64 // what it was told before, for who asks

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *bytes.Buffer // read only once the process has ended
	served int
}

// limits is the first message to a child.
type limits struct {
	MemoryBytes uint64 `json:"memoryBytes"`
	Seconds     uint64 `json:"seconds"`
}

func start(cfg Config) (*Child, error) {
	c := &Child{cmd: exec.Command(cfg.Path, cfg.Args...), stderr: &bytes.Buffer{}}
	c.cmd.Env, c.cmd.Dir = []string{}, "/"
	c.cmd.Stderr = &most{c.stderr, maxStderr}
	alone(c.cmd)
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		c.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	if err := write(c.in, limits{MemoryBytes: uint64(cfg.MemoryBytes), Seconds: uint64(Slowdown * lifeTime / time.Second)}); err != nil {
		return nil, errors.Join(err, c.end(err))
	}
	return c, nil
}

// ask has the child answer one question, for as long as that may take.
func (c *Child) ask(ctx context.Context, cfg Config, question, answer any) error {
	limited, cancel := context.WithTimeoutCause(ctx, cfg.Wall, ErrTook)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = c.cmd.Process.Kill() }) // its pipes end then
	defer stop()
	c.served++
	err := write(c.in, question)
	if err == nil {
		err = read(c.out, cfg.MaxReply, answer)
	}
	if cause := context.Cause(limited); err != nil && cause != nil {
		return cause
	}
	return err
}

// end ends the process, and says what it said last when it did not end well.
func (c *Child) end(why error) error {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill() // it has nothing to lose
	_ = c.out.Close()
	err := c.cmd.Wait()
	if why == nil || errors.Is(why, ErrTook) {
		return nil
	}
	return &Death{words: c.stderr.String(), err: err}
}

// Death is a child that ended without an answer.
type Death struct {
	words string
	err   error
}

func (d *Death) Error() string { return fmt.Sprintf("the child ended without an answer: %v", d.err) }

// RanOut reports whether it had no memory left.
func (d *Death) RanOut() bool { return RanOut(d.words) }

// most keeps the first bytes of what is written to it.
type most struct {
	buf  *bytes.Buffer
	left int
}

// Write never fails: a child must not die of what it says.
func (m *most) Write(p []byte) (int, error) {
	n := min(len(p), m.left)
	m.left -= n
	m.buf.Write(p[:n])
	return len(p), nil
}

// Work answers one question: next reads it, and tell writes the answer.
type Work func(next, tell func(v any) error) error

// Serve is the child's side: it takes its limits from stdin, then does work again and
// again until stdin ends, and returns the exit code. files is how many it may hold.
// Its process must not have done anything before, and does nothing after.
func Serve(stdin io.Reader, stdout, stderr io.Writer, files uint64, maxQuestion int, work Work) int {
	var l limits
	err := read(stdin, 1<<10, &l)
	if err == nil && (l.MemoryBytes == 0 || l.Seconds == 0) {
		err = errors.New("no limits")
	}
	if err == nil {
		runtime.GOMAXPROCS(2) // one to work, one to collect garbage
		debug.SetMaxStack(maxStack)
		debug.SetTraceback("single")
		debug.SetMemoryLimit(int64(l.MemoryBytes / 4 * 3))
		err = Under(Limits{MemoryBytes: l.MemoryBytes, Seconds: l.Seconds, Files: files}, func() error {
			for {
				err := work(func(v any) error { return read(stdin, maxQuestion, v) }, func(v any) error { return write(stdout, v) })
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
			}
		})
	}
	if err != nil {
		fmt.Fprintln(stderr, err) // nobody is left to tell
		return 1
	}
	return 0
}

// A message is its length, four bytes big endian, and that much JSON.
func write(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	if _, err := w.Write(append(b, text...)); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// read returns io.EOF where the other side ended between two messages.
func read(r io.Reader, most int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(most) {
		return fmt.Errorf("read a message: %d bytes are above the limit", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return fmt.Errorf("read a message: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	return nil
}
