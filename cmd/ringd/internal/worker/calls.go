package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
	maxCallQuestion = 8 << 20
	maxCallReply    = 1 << 20
)

// CallsConfig says how to start the children. Path and Args have no default: without them every
// condition asks and every guardrail refuses.
type CallsConfig struct {
	Path     string        // the binary, absolute
	Args     []string      // the hidden subcommand, which calls CallsMain
	Wall     time.Duration // for one question; 0 means 1 s
	Children int           // that answer at once; 0 means 2
}

// Calls evaluates the Rego of policies on calls of bridges: whether a call needs its approval, and
// whether a guardrail refuses it. Without an answer the call needs its approval and the guardrail
// refuses it. It is safe for concurrent use.
type Calls struct {
	cfg  CallsConfig
	pool *childPool
	none error // why there is no pool
}

// NewCalls starts no child yet. The caller closes the Calls.
func NewCalls(cfg CallsConfig) *Calls {
	if cfg.Wall <= 0 {
		cfg.Wall = RaceSlowdown * callWall
	}
	if cfg.Children <= 0 {
		cfg.Children = 2
	}
	c := &Calls{cfg: cfg}
	c.pool, c.none = newChildPool(
		poolConfig{Path: cfg.Path, Args: cfg.Args, Wall: cfg.Wall, MemoryBytes: callMemoryBytes,
			Children: cfg.Children, MaxReply: maxCallReply},
	)
	return c
}

// Close ends the processes.
func (c *Calls) Close() error {
	if c.pool == nil {
		return nil
	}
	return c.pool.Close()
}

// callQuestion asks a condition or a guardrail about one call.
type callQuestion struct {
	Guardrail bool          `json:"guardrail,omitempty"`
	Text      string        `json:"text"`
	Call      profiles.Call `json:"call"`
}

// callReply is the answer. Known is set in each answer, unlike in an empty message.
type callReply struct {
	Known   bool     `json:"known"`
	Asks    bool     `json:"asks,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func (c *Calls) ask(ctx context.Context, q callQuestion) (callReply, error) {
	if c == nil || c.none != nil {
		return callReply{}, errors.New("nothing here evaluates it")
	}
	if len(q.Call.Args) > condition.MaxArgs {
		return callReply{}, fmt.Errorf("the arguments have more than %d bytes", condition.MaxArgs)
	}
	if !json.Valid(q.Call.Args) {
		return callReply{}, errors.New("the arguments are not plain JSON")
	}
	var r callReply
	err := c.pool.Ask(ctx, func(*poolChild) any { return q }, &r)
	var died *childDeath
	switch {
	case err == nil && !r.Known:
		return callReply{}, errors.New("it was not answered")
	case err == nil && r.Error != "":
		return r, errors.New(r.Error)
	case err == nil:
		return r, nil
	case errors.Is(err, errTooSlow) || ctx.Err() != nil:
		return callReply{}, condition.ErrTimeout
	case errors.As(err, &died) && died.RanOut():
		return callReply{}, errors.New("it needs more memory than it may take")
	default:
		return callReply{}, errors.New("it could not be evaluated")
	}
}

// Asks reports whether a call needs the approval that has the condition when. With an error it does.
func (c *Calls) Asks(ctx context.Context, when string, call profiles.Call) (bool, error) {
	r, err := c.ask(ctx, callQuestion{Text: when, Call: call})
	return err != nil || r.Asks, err
}

// Denies returns the reasons of a guardrail to refuse a call. If there are none, it does not refuse.
// An error refuses as well.
func (c *Calls) Denies(ctx context.Context, rego string, call profiles.Call) ([]string, error) {
	r, err := c.ask(ctx, callQuestion{Guardrail: true, Text: rego, Call: call})
	return r.Reasons, err
}

// Condition returns [Calls.Asks] for a decision without a run. Once ctx has ended, every call needs
// its approval.
func (c *Calls) Condition(ctx context.Context) func(when string, call profiles.Call) (bool, error) {
	return func(when string, call profiles.Call) (bool, error) { return c.Asks(ctx, when, call) }
}

// Guardrail returns [Calls.Denies] for a decision without a run. Once ctx has ended, no guardrail
// lets a call pass.
func (c *Calls) Guardrail(ctx context.Context) func(rego string, call profiles.Call) ([]string, error) {
	return func(rego string, call profiles.Call) ([]string, error) { return c.Denies(ctx, rego, call) }
}

// CallsMain is the child's side; see servePool.
func CallsMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	w := &callsEvaluator{known: map[string]compiledGuardrail{}}
	return servePool(stdin, stdout, stderr, 0, maxCallQuestion, func(next, tell func(v any) error) error {
		var q callQuestion
		if err := next(&q); err != nil {
			return err
		}
		return tell(w.answer(ctx, q))
	})
}

// maxCompiledGuardrails bounds the guardrails that a child keeps compiled.
const maxCompiledGuardrails = 100

// callsEvaluator answers questions and compiles each text once.
type callsEvaluator struct {
	conditions condition.Cache
	mu         sync.Mutex
	known      map[string]compiledGuardrail
}

type compiledGuardrail struct {
	guardrail *guardrail.Guardrail
	err       error
}

func (w *callsEvaluator) answer(ctx context.Context, q callQuestion) callReply {
	if !q.Guardrail {
		asks, err := w.conditions.Ask(ctx, q.Text, q.Call)
		return callReply{Known: true, Asks: asks, Error: errorText(err)}
	}
	g := w.compiled(q.Text)
	if g.err != nil {
		return callReply{Known: true, Error: "the guardrail does not compile"}
	}
	call := guardrail.Call{Agent: q.Call.Agent, Bridge: q.Call.Bridge, Executor: q.Call.Executor,
		Powers: guardrail.Powers(q.Call.Powers), Args: q.Call.Args}
	denials, err := g.guardrail.DenyCall(ctx, call)
	out := callReply{Known: true, Error: errorText(err)}
	for _, d := range denials {
		out.Reasons = append(out.Reasons, d.Msg)
	}
	return out
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (w *callsEvaluator) compiled(text string) compiledGuardrail {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, ok := w.known[text]
	if !ok {
		got.guardrail, got.err = guardrail.Compile(guardrail.OnCall, text)
		if len(w.known) >= maxCompiledGuardrails {
			clear(w.known)
		}
		w.known[text] = got
	}
	return got
}
