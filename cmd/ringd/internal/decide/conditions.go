package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/childproc"
	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles"
)

// The limits of one question about a call.
const (
	callWall        = time.Second // with a child to start
	callMemoryBytes = 128 << 20
)

const (
	maxQuestion = 8 << 20
	maxReply    = 1 << 20
)

// CallsConfig says how to start what is asked about calls. Path and Args have no
// default; without them every condition asks and every guardrail refuses.
type CallsConfig struct {
	Path     string        // the binary, absolute
	Args     []string      // what makes it call CallsMain: the hidden subcommand
	Wall     time.Duration // for one question; 0: CallWall
	Children int           // that answer at once; 0 is 2
}

// Calls is asked about calls of bridges: whether they need their approvals, and
// whether a guardrail refuses them. Rego is evaluated in a process that can be
// killed: what no answer comes of asks, or refuses. It is safe for concurrent use.
type Calls struct {
	cfg  CallsConfig
	pool *childproc.Pool
	none error // why there is no pool
}

// NewCalls starts nothing yet. The caller closes the Calls.
func NewCalls(cfg CallsConfig) *Calls {
	if cfg.Wall <= 0 {
		cfg.Wall = childproc.Slowdown * callWall
	}
	if cfg.Children <= 0 {
		cfg.Children = 2
	}
	c := &Calls{cfg: cfg}
	c.pool, c.none = childproc.New(childproc.Config{Path: cfg.Path, Args: cfg.Args, Wall: cfg.Wall, MemoryBytes: callMemoryBytes,
		Children: cfg.Children, MaxReply: maxReply})
	return c
}

// Close ends the processes.
func (c *Calls) Close() error {
	if c.pool == nil {
		return nil
	}
	return c.pool.Close()
}

// question is about one call, by a condition or a guardrail.
type question struct {
	Guardrail bool          `json:"guardrail,omitempty"`
	Text      string        `json:"text"`
	Call      profiles.Call `json:"call"`
}

// reply is the answer. Known tells it from a message that says nothing.
type reply struct {
	Known   bool     `json:"known"`
	Asks    bool     `json:"asks,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func (c *Calls) ask(ctx context.Context, q question) (reply, error) {
	if c == nil || c.none != nil {
		return reply{}, errors.New("nothing here evaluates it")
	}
	if len(q.Call.Args) > condition.MaxArgs {
		return reply{}, fmt.Errorf("the arguments have more than %d bytes", condition.MaxArgs)
	}
	if !json.Valid(q.Call.Args) {
		return reply{}, errors.New("the arguments are not plain JSON")
	}
	var r reply
	err := c.pool.Ask(ctx, func(*childproc.Child) any { return q }, &r)
	var died *childproc.Death
	switch {
	case err == nil && !r.Known:
		return reply{}, errors.New("it was not answered")
	case err == nil && r.Error != "":
		return r, errors.New(r.Error)
	case err == nil:
		return r, nil
	case errors.Is(err, childproc.ErrTook) || ctx.Err() != nil:
		return reply{}, condition.ErrTimeout
	case errors.As(err, &died) && died.RanOut():
		return reply{}, errors.New("it needs more memory than it may take")
	default:
		return reply{}, errors.New("it could not be evaluated")
	}
}

// Asks tells whether a call needs the approval whose condition is when; with an
// error it does.
func (c *Calls) Asks(ctx context.Context, when string, call profiles.Call) (bool, error) {
	r, err := c.ask(ctx, question{Text: when, Call: call})
	return err != nil || r.Asks, err
}

// Denies gives the reasons of a guardrail on calls to refuse one; none: it does not.
// An error refuses as well.
func (c *Calls) Denies(ctx context.Context, rego string, call profiles.Call) ([]string, error) {
	r, err := c.ask(ctx, question{Guardrail: true, Text: rego, Call: call})
	return r.Reasons, err
}

// Condition and Guardrail are what a decision without a run asks. Once ctx has ended,
// every call needs its approval, and no guardrail lets one pass.
func (c *Calls) Condition(ctx context.Context) func(when string, call profiles.Call) (bool, error) {
	return func(when string, call profiles.Call) (bool, error) { return c.Asks(ctx, when, call) }
}

// Guardrail is said above.
func (c *Calls) Guardrail(ctx context.Context) func(rego string, call profiles.Call) ([]string, error) {
	return func(rego string, call profiles.Call) ([]string, error) { return c.Denies(ctx, rego, call) }
}

// CallsMain is the child's side; see childproc.Serve.
func CallsMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	w := &callsWorker{known: map[string]rule{}}
	return childproc.Serve(stdin, stdout, stderr, 0, maxQuestion, func(next, tell func(v any) error) error {
		var q question
		if err := next(&q); err != nil {
			return err
		}
		return tell(w.answer(ctx, q))
	})
}

// maxKnown bounds the guardrails that a child keeps compiled.
const maxKnown = 100

// callsWorker answers, and compiles each text once.
type callsWorker struct {
	conditions condition.Cache
	mu         sync.Mutex
	known      map[string]rule
}

type rule struct {
	guardrail *guardrail.Guardrail
	err       error
}

func (w *callsWorker) answer(ctx context.Context, q question) reply {
	if !q.Guardrail {
		asks, err := w.conditions.Ask(ctx, q.Text, q.Call)
		return reply{Known: true, Asks: asks, Error: words(err)}
	}
	g := w.compiled(q.Text)
	if g.err != nil {
		return reply{Known: true, Error: "the guardrail does not compile"}
	}
	call := guardrail.Call{Agent: q.Call.Agent, Bridge: q.Call.Bridge, Executor: q.Call.Executor,
		Powers: guardrail.Powers(q.Call.Powers), Args: q.Call.Args}
	denials, err := g.guardrail.DenyCall(ctx, call)
	out := reply{Known: true, Error: words(err)}
	for _, d := range denials {
		out.Reasons = append(out.Reasons, d.Msg)
	}
	return out
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (w *callsWorker) compiled(text string) rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, ok := w.known[text]
	if !ok {
		got.guardrail, got.err = guardrail.Compile(guardrail.OnCall, text)
		if len(w.known) >= maxKnown {
			clear(w.known)
		}
		w.known[text] = got
	}
	return got
}
