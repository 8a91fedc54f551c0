package worker

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

// A child is replaced after perChild questions. lifeTime is its processor time for all of them.
const (
	perChild = 2000
	lifeTime = 120 * time.Second
)

// maxPoolStderr bounds the stderr that is kept of a child.
const maxPoolStderr = 16 << 10

// maxPoolStack ends runaway recursion quickly.
const maxPoolStack = 128 << 20

// poolConfig says how to start the children. All fields are required.
type poolConfig struct {
	Path        string        // the binary, absolute
	Args        []string      // the hidden subcommand, which calls servePool
	Wall        time.Duration // for one answer
	MemoryBytes int64
	Children    int // how many answer at once
	MaxReply    int // bytes of an answer
}

// childPool asks children. It is safe for concurrent use.
type childPool struct {
	cfg  poolConfig
	room chan struct{}

	mu     sync.Mutex
	closed bool
	idle   []*poolChild
}

// newChildPool starts no child yet. The caller closes the pool.
func newChildPool(cfg poolConfig) (*childPool, error) {
	if cfg.Path == "" || len(cfg.Args) == 0 {
		return nil, errors.New("start worker children: no binary or no subcommand is configured")
	}
	return &childPool{cfg: cfg, room: make(chan struct{}, max(cfg.Children, 1))}, nil
}

// Errors of [childPool.Ask], besides those of ctx and *childDeath.
var (
	errTooSlow = errors.New("it took too long") // the child was killed
	errClosed  = errors.New("the pool is closed")
)

// Ask sends a question to one child and reads its answer. The question may depend on what the
// child knows already. An idle child may have died by itself. Ask then retries once with another.
func (p *childPool) Ask(ctx context.Context, question func(*poolChild) any, answer any) error {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fresh, err := p.try(ctx, question, answer)
	if err != nil && !fresh && !errors.Is(err, errTooSlow) && ctx.Err() == nil {
		_, err = p.try(ctx, question, answer)
	}
	return err
}

// try asks one child and keeps it if it answered. fresh reports whether the child was new.
func (p *childPool) try(ctx context.Context, question func(*poolChild) any, answer any) (fresh bool, err error) {
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

func (p *childPool) take() (c *poolChild, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, true, errClosed
	}
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
		return c, false, nil
	}
	c, err = startChild(p.cfg)
	return c, true, err
}

func (p *childPool) keep(c *poolChild) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.served >= perChild {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// Close ends the idle children. A busy one ends after its answer.
func (p *childPool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.end(nil)
	}
	return nil
}

// poolChild is a process that answers questions.
type poolChild struct {
	Known int64 // number of the data that the caller has sent already

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *bytes.Buffer // read only once the process has ended
	served int
}

// limitsMessage is the first message to a child.
type limitsMessage struct {
	MemoryBytes uint64 `json:"memoryBytes"`
	Seconds     uint64 `json:"seconds"`
}

func startChild(cfg poolConfig) (*poolChild, error) {
	c := &poolChild{cmd: exec.Command(cfg.Path, cfg.Args...), stderr: &bytes.Buffer{}}
	c.cmd.Env, c.cmd.Dir = []string{}, "/"
	c.cmd.Stderr = &boundedBuffer{c.stderr, maxPoolStderr}
	ownGroup(c.cmd)
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
	limits := limitsMessage{
		MemoryBytes: uint64(cfg.MemoryBytes),
		Seconds:     uint64(RaceSlowdown * lifeTime / time.Second),
	}
	if err := writeMessage(c.in, limits); err != nil {
		return nil, errors.Join(err, c.end(err))
	}
	return c, nil
}

// ask sends one question and waits for the answer for at most cfg.Wall.
func (c *poolChild) ask(ctx context.Context, cfg poolConfig, question, answer any) error {
	limited, cancel := context.WithTimeoutCause(ctx, cfg.Wall, errTooSlow)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = c.cmd.Process.Kill() }) // which closes its pipes
	defer stop()
	c.served++
	err := writeMessage(c.in, question)
	if err == nil {
		err = readMessage(c.out, cfg.MaxReply, answer)
	}
	if cause := context.Cause(limited); err != nil && cause != nil {
		return cause
	}
	return err
}

// end kills the process. It returns a *childDeath with its stderr if why is an error other than a
// timeout.
func (c *poolChild) end(why error) error {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill() // it has nothing to lose
	_ = c.out.Close()
	err := c.cmd.Wait()
	if why == nil || errors.Is(why, errTooSlow) {
		return nil
	}
	return &childDeath{words: c.stderr.String(), err: err}
}

// childDeath is the error of a child that ended without an answer.
type childDeath struct {
	words string
	err   error
}

func (d *childDeath) Error() string {
	return fmt.Sprintf("the child ended without an answer: %v", d.err)
}

// RanOut reports whether the child had no memory left.
func (d *childDeath) RanOut() bool { return outOfMemory(d.words) }

// boundedBuffer keeps the first bytes that are written to it.
type boundedBuffer struct {
	buf  *bytes.Buffer
	left int
}

// Write never fails: a child must not die of its own output.
func (m *boundedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), m.left)
	m.left -= n
	m.buf.Write(p[:n])
	return len(p), nil
}

// poolWork answers one question: next reads it, and tell writes the answer.
type poolWork func(next, tell func(v any) error) error

// servePool is the child's side. It reads its limits from stdin, repeats work until stdin ends,
// and returns the exit code. files is the number of files that it may open. The process must not
// have done anything before, and does nothing after.
func servePool(stdin io.Reader, stdout, stderr io.Writer, files uint64, maxQuestion int, work poolWork) int {
	var l limitsMessage
	err := readMessage(stdin, 1<<10, &l)
	if err == nil && (l.MemoryBytes == 0 || l.Seconds == 0) {
		err = errors.New("no limits")
	}
	if err == nil {
		runtime.GOMAXPROCS(2) // one to work, one to collect garbage
		debug.SetMaxStack(maxPoolStack)
		debug.SetTraceback("single")
		debug.SetMemoryLimit(int64(l.MemoryBytes / 4 * 3))
		err = withLimits(processLimits{MemoryBytes: l.MemoryBytes, Seconds: l.Seconds, Files: files}, func() error {
			for {
				err := work(
					func(v any) error { return readMessage(stdin, maxQuestion, v) },
					func(v any) error { return writeMessage(stdout, v) },
				)
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
		fmt.Fprintln(stderr, err) // the parent reads it
		return 1
	}
	return 0
}

// writeMessage writes a message: its length, four bytes big endian, and that much JSON.
func writeMessage(w io.Writer, v any) error {
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

// readMessage returns io.EOF if the other side ended between two messages.
func readMessage(r io.Reader, most int, v any) error {
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
