// Package script has scripts read in processes that can be killed. Shell text of
// a few bytes can nest, double and repeat without end, so nothing of it is parsed
// in the daemon or in a command: a child of the same binary reads it, with an empty
// environment, limits on memory and processor time, and nothing open but its pipes.
//
// Whatever the text does to the child, there is a decision: the child's, or a
// denial that says which limit ended it. cmd/ringd constructs the Reader and gives
// it to deciders as their Environment.Script; the hidden subcommand calls Main.
package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/confine"
	"github.com/ringd/ringd/profiles"
)

// The limits of one script that a Config does not set.
const (
	DefaultWall        = 1500 * time.Millisecond // with a child to start, an answer takes 2 s at most
	DefaultMemoryBytes = 320 << 20
)

// perChild is how many scripts a child reads before another takes its place, and
// lifeTime the processor time it has for them.
const (
	perChild = 2000
	lifeTime = 120 * time.Second
)

// MaxTextBytes bounds the text of a script that is sent to a child. What a script
// may have is less, and the child's to say.
const MaxTextBytes = 1 << 20

// Config says how to start the children. Path and Args have no default.
type Config struct {
	Path        string        // the binary, absolute
	Args        []string      // what makes it call Main: the hidden subcommand
	Wall        time.Duration // for one script; 0: DefaultWall
	MemoryBytes int64         // 0: DefaultMemoryBytes
	Children    int           // how many read at once; 0 is 2
	Workspace   string        // what $WORKSPACE stands for, and Home what ~ does
	Home        string
}

// Reader reads scripts. It is safe for concurrent use.
type Reader struct {
	cfg  Config
	room chan struct{}

	mu     sync.Mutex
	closed bool
	idle   []*child
	last   encoded // of the decider that asked last: most ask often
}

// encoded is what a child needs to know of a decider.
type encoded struct {
	of   *profiles.Decider
	text []byte
	n    int64 // names it
}

// Answer is what a child says of a script. Tree is JSON, as Main's Decide made it.
type Answer struct {
	Decision profiles.Decision `json:"decision"`
	Tree     json.RawMessage   `json:"tree,omitempty"`
}

// New starts nothing yet. The caller closes the Reader.
func New(cfg Config) (*Reader, error) {
	if cfg.Path == "" || len(cfg.Args) == 0 {
		return nil, errors.New("script reader: no binary or no subcommand is configured")
	}
	if cfg.Wall <= 0 {
		cfg.Wall = confine.Slowdown * DefaultWall
	}
	if cfg.MemoryBytes <= 0 {
		cfg.MemoryBytes = DefaultMemoryBytes
	}
	if cfg.Children <= 0 {
		cfg.Children = 2
	}
	return &Reader{cfg: cfg, room: make(chan struct{}, cfg.Children)}, nil
}

// Decide is an Environment.Script: it decides until ctx ends, and then denies.
func (r *Reader) Decide(ctx context.Context) func(*profiles.Decider, profiles.ShellAction) profiles.Decision {
	return func(d *profiles.Decider, a profiles.ShellAction) profiles.Decision {
		return r.Read(ctx, d, a, false).Decision
	}
}

// Read has one script read and decided, with the tree of its commands when that is
// wanted. It always answers.
func (r *Reader) Read(ctx context.Context, d *profiles.Decider, a profiles.ShellAction, tree bool) Answer {
	if len(a.Script) > MaxTextBytes {
		return deny(profiles.CodeShellSize, fmt.Sprintf("the script has %d bytes, more than anything that is read", len(a.Script)))
	}
	select {
	case r.room <- struct{}{}:
		defer func() { <-r.room }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return deny(profiles.CodeShellUnsettled, "the script was not read in time")
	}
	ans, fresh, err := r.try(ctx, d, a, tree)
	if err != nil && !fresh && !errors.Is(err, errTime) && ctx.Err() == nil {
		// A child that waited may have died on its own: another one knows.
		ans, _, err = r.try(ctx, d, a, tree)
	}
	if err != nil {
		return died(err)
	}
	return ans
}

// try asks one child, and keeps it when it answered.
func (r *Reader) try(ctx context.Context, d *profiles.Decider, a profiles.ShellAction, tree bool) (ans Answer, fresh bool, err error) {
	e, err := r.encode(d)
	if err != nil {
		return Answer{}, true, err
	}
	c, fresh, err := r.take()
	if err != nil {
		return Answer{}, true, err
	}
	ans, err = c.ask(ctx, r.cfg, e, request{Action: a, Tree: tree})
	if err == nil && r.keep(c) {
		return ans, fresh, nil
	}
	return ans, fresh, errors.Join(err, c.end(err))
}

// encode gives the text of a decider's agent, made once for as long as the same
// decider asks.
func (r *Reader) encode(d *profiles.Decider) (encoded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.of == d {
		return r.last, nil
	}
	a := d.Profile()
	text, err := json.Marshal(profile{Revision: d.Revision(), Workspace: r.cfg.Workspace, Home: r.cfg.Home,
		Agent: profiles.Agent{Name: a.Name, Shell: a.Shell, Files: a.Files, Limits: a.Limits, Rule: a.Rule, ExecutorsRule: a.ExecutorsRule}})
	if err != nil {
		return encoded{}, fmt.Errorf("encode the profile: %w", err)
	}
	r.last = encoded{of: d, text: text, n: r.last.n + 1}
	return r.last, nil
}

func (r *Reader) take() (c *child, fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, true, errors.New("the reader is closed")
	}
	if n := len(r.idle); n > 0 {
		c, r.idle = r.idle[n-1], r.idle[:n-1]
		return c, false, nil
	}
	c, err = start(r.cfg)
	return c, true, err
}

func (r *Reader) keep(c *child) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || c.served >= perChild {
		return false
	}
	r.idle = append(r.idle, c)
	return true
}

// Close ends the children that wait. One that reads ends with its script.
func (r *Reader) Close() error {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	for _, c := range idle {
		_ = c.end(nil) // it has nothing to lose
	}
	return nil
}

// child is a process that reads scripts, one after the other.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *bytes.Buffer // read only once the process has ended
	known  int64         // the profile it has
	served int
}

// maxStderr bounds what is kept of a dying child's words.
const maxStderr = 16 << 10

func start(cfg Config) (*child, error) {
	c := &child{cmd: exec.Command(cfg.Path, cfg.Args...), stderr: &bytes.Buffer{}}
	c.cmd.Env, c.cmd.Dir = []string{}, "/"
	c.cmd.Stderr = &most{c.stderr, maxStderr}
	confine.Alone(c.cmd)
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		c.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a child to read scripts: %w", err)
	}
	if err := write(c.in, limits{MemoryBytes: uint64(cfg.MemoryBytes), Seconds: uint64(confine.Slowdown * lifeTime / time.Second)}); err != nil {
		return nil, errors.Join(err, c.end(err))
	}
	return c, nil
}

// errTime is the cause of a child's end that took too long.
var errTime = errors.New("it took too long")

// ask has the child read one script, for as long as that may take.
func (c *child) ask(ctx context.Context, cfg Config, e encoded, q request) (Answer, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cfg.Wall, errTime)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = c.cmd.Process.Kill() }) // its pipes end then
	defer stop()
	if c.known != e.n {
		q.Profile = e.text
	}
	c.served++
	err := write(c.in, q)
	var ans Answer
	if err == nil {
		err = read(c.out, maxReply, &ans)
	}
	if cause := context.Cause(limited); err != nil && cause != nil {
		return Answer{}, cause
	}
	c.known = e.n
	return ans, err
}

// end ends the process, and says what it said last when it did not end well.
func (c *child) end(why error) error {
	_ = c.in.Close()
	if why != nil {
		_ = c.cmd.Process.Kill()
	}
	_ = c.out.Close()
	err := c.cmd.Wait()
	if why == nil || errors.Is(why, errTime) {
		return nil
	}
	return &death{words: c.stderr.String(), err: err}
}

// death is a child that ended without an answer.
type death struct {
	words string
	err   error
}

func (d *death) Error() string { return fmt.Sprintf("the child ended without an answer: %v", d.err) }

// died is the decision of a script whose child gave none.
func died(err error) Answer {
	var d *death
	switch {
	case errors.Is(err, errTime):
		return deny(profiles.CodeShellEndless, "what the script would run is not known after the time that a decision may take")
	case errors.As(err, &d) && confine.RanOut(d.words):
		return deny(profiles.CodeShellSize, "to decide the script takes more memory than a decision may take")
	}
	return deny(profiles.CodeShellUnsettled, "the script could not be decided: "+err.Error())
}

func deny(code profiles.Code, reason string) Answer {
	return Answer{Decision: profiles.Decision{Code: code, Reason: reason}}
}

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
