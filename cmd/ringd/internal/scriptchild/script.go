// Package scriptchild has scripts read in processes that can be killed. Shell text of
// a few bytes can nest, double and repeat without end, so nothing of it is parsed
// in the daemon or in a command: a child of the same binary reads it, with an empty
// environment, limits on memory and processor time, and nothing open but its pipes.
//
// Whatever the text does to the child, there is a decision: the child's, or a
// denial that says which limit ended it. cmd/ringd constructs the Reader and gives
// it to deciders as their Environment.Script; the hidden subcommand calls Main.
package scriptchild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/childproc"
	"github.com/ringd/ringd/profiles"
)

// The limits of one script that a Config does not set.
const (
	defaultWall        = 1500 * time.Millisecond // with a child to start, an answer takes 2 s at most
	defaultMemoryBytes = 320 << 20
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
	pool *childproc.Pool

	mu   sync.Mutex
	last encoded // of the decider that asked last: most ask often
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
	if cfg.Wall <= 0 {
		cfg.Wall = childproc.Slowdown * defaultWall
	}
	if cfg.MemoryBytes <= 0 {
		cfg.MemoryBytes = defaultMemoryBytes
	}
	if cfg.Children <= 0 {
		cfg.Children = 2
	}
	pool, err := childproc.New(childproc.Config{Path: cfg.Path, Args: cfg.Args, Wall: cfg.Wall, MemoryBytes: cfg.MemoryBytes,
		Children: cfg.Children, MaxReply: maxReply})
	if err != nil {
		return nil, fmt.Errorf("script reader: %w", err)
	}
	return &Reader{cfg: cfg, pool: pool}, nil
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
	e, err := r.encode(d)
	if err != nil {
		return died(err)
	}
	var ans Answer
	err = r.pool.Ask(ctx, func(c *childproc.Child) any {
		q := request{Action: a, Tree: tree}
		if c.Known != e.n {
			q.Profile, c.Known = e.text, e.n // a child that does not answer is asked nothing more
		}
		return q
	}, &ans)
	switch {
	case err == nil:
		return ans
	case ctx.Err() != nil:
		return deny(profiles.CodeShellUnsettled, "the script was not read in time")
	default:
		return died(err)
	}
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
	text, err := json.Marshal(profile{Revision: d.Revision(), Workspace: r.cfg.Workspace, Home: r.cfg.Home, Now: d.Now(),
		Agent: profiles.Agent{Name: a.Name, Shell: a.Shell, Files: a.Files, Limits: a.Limits, Rule: a.Rule, ExecutorsRule: a.ExecutorsRule, Exceptions: a.Exceptions}})
	if err != nil {
		return encoded{}, fmt.Errorf("encode the profile: %w", err)
	}
	r.last = encoded{of: d, text: text, n: r.last.n + 1}
	return r.last, nil
}

// Close ends the children that wait. One that reads ends with its script.
func (r *Reader) Close() error { return r.pool.Close() }

// died is the decision of a script whose child gave none.
func died(err error) Answer {
	var d *childproc.Death
	switch {
	case errors.Is(err, childproc.ErrTook):
		return deny(profiles.CodeShellEndless, "what the script would run is not known after the time that a decision may take")
	case errors.As(err, &d) && d.RanOut():
		return deny(profiles.CodeShellSize, "to decide the script takes more memory than a decision may take")
	}
	return deny(profiles.CodeShellUnsettled, "the script could not be decided: "+err.Error())
}

func deny(code profiles.Code, reason string) Answer {
	return Answer{Decision: profiles.Decision{Code: code, Reason: reason}}
}
