package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// The limits of one script that ScriptsConfig does not set.
const (
	defaultScriptWall   = 1500 * time.Millisecond // with a child to start, an answer takes 2 s at most
	defaultScriptMemory = 320 << 20
)

// MaxScriptBytes bounds the text that is sent to a child. The limit of a script is lower, and the
// child checks it.
const MaxScriptBytes = 1 << 20

// ScriptsConfig says how to start the children. Path and Args have no default.
type ScriptsConfig struct {
	Path        string        // the binary, absolute
	Args        []string      // the hidden subcommand, which calls ScriptMain
	Wall        time.Duration // for one script; 0 means 1.5 s
	MemoryBytes int64         // 0 means 320 MiB
	Children    int           // that read at once; 0 means 2
	Workspace   string        // value of $WORKSPACE; Home is the value of ~
	Home        string
}

// Scripts decides scripts in children. cmd/ringd gives it to deciders as Environment.Script. It is
// safe for concurrent use.
type Scripts struct {
	cfg  ScriptsConfig
	pool *childPool

	mu   sync.Mutex
	last encodedProfile // of the last decider: most ask often
}

// encodedProfile is the data of a decider that a child needs.
type encodedProfile struct {
	of   *profiles.Decider
	text []byte
	n    int64 // its number
}

// ScriptAnswer is a child's answer about a script. Tree is the JSON of DecideScript's tree.
type ScriptAnswer struct {
	Decision profiles.Decision `json:"decision"`
	Tree     json.RawMessage   `json:"tree,omitempty"`
}

// NewScripts starts no child yet. The caller closes the Scripts.
func NewScripts(cfg ScriptsConfig) (*Scripts, error) {
	if cfg.Wall <= 0 {
		cfg.Wall = RaceSlowdown * defaultScriptWall
	}
	if cfg.MemoryBytes <= 0 {
		cfg.MemoryBytes = defaultScriptMemory
	}
	if cfg.Children <= 0 {
		cfg.Children = 2
	}
	pool, err := newChildPool(poolConfig{Path: cfg.Path, Args: cfg.Args, Wall: cfg.Wall, MemoryBytes: cfg.MemoryBytes,
		Children: cfg.Children, MaxReply: maxScriptReply})
	if err != nil {
		return nil, fmt.Errorf("script reader: %w", err)
	}
	return &Scripts{cfg: cfg, pool: pool}, nil
}

// Decide returns an Environment.Script that decides until ctx ends, and then denies.
func (r *Scripts) Decide(ctx context.Context) func(*profiles.Decider, profiles.ShellAction) profiles.Decision {
	return func(d *profiles.Decider, a profiles.ShellAction) profiles.Decision {
		return r.Read(ctx, d, a, false).Decision
	}
}

// Read decides one script. If tree is set, the answer has the tree of its commands. A failure is a
// denial.
func (r *Scripts) Read(ctx context.Context, d *profiles.Decider, a profiles.ShellAction, tree bool) ScriptAnswer {
	if len(a.Script) > MaxScriptBytes {
		return denyScript(
			profiles.CodeShellSize,
			fmt.Sprintf("the script has %d bytes, more than anything that is read", len(a.Script)),
		)
	}
	e, err := r.encode(d)
	if err != nil {
		return denyDeath(err)
	}
	var ans ScriptAnswer
	err = r.pool.Ask(ctx, func(c *poolChild) any {
		q := scriptRequest{Action: a, Tree: tree}
		if c.Known != e.n {
			q.Profile, c.Known = e.text, e.n // a child that does not answer is never asked again
		}
		return q
	}, &ans)
	switch {
	case err == nil:
		return ans
	case ctx.Err() != nil:
		return denyScript(profiles.CodeShellUnsettled, "the script was not read in time")
	default:
		return denyDeath(err)
	}
}

// encode returns the profile of a decider as JSON. It is made once for as long as the same decider
// asks.
func (r *Scripts) encode(d *profiles.Decider) (encodedProfile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.of == d {
		return r.last, nil
	}
	a := d.Profile()
	text, err := json.Marshal(
		scriptProfile{Revision: d.Revision(), Workspace: r.cfg.Workspace, Home: r.cfg.Home, Now: d.Now(),
			Agent: profiles.Agent{
				Name:          a.Name,
				Shell:         a.Shell,
				Files:         a.Files,
				Limits:        a.Limits,
				Rule:          a.Rule,
				ExecutorsRule: a.ExecutorsRule,
				Exceptions:    a.Exceptions,
			}},
	)
	if err != nil {
		return encodedProfile{}, fmt.Errorf("encode the profile: %w", err)
	}
	r.last = encodedProfile{of: d, text: text, n: r.last.n + 1}
	return r.last, nil
}

// Close ends the idle children. A busy one ends after its script.
func (r *Scripts) Close() error { return r.pool.Close() }

// denyDeath is the answer to a script whose child gave none.
func denyDeath(err error) ScriptAnswer {
	var d *childDeath
	switch {
	case errors.Is(err, errTooSlow):
		return denyScript(
			profiles.CodeShellEndless,
			"what the script would run is not known after the time that a decision may take",
		)
	case errors.As(err, &d) && d.RanOut():
		return denyScript(profiles.CodeShellSize, "to decide the script takes more memory than a decision may take")
	}
	return denyScript(profiles.CodeShellUnsettled, "the script could not be decided: "+err.Error())
}

func denyScript(code profiles.Code, reason string) ScriptAnswer {
	return ScriptAnswer{Decision: profiles.Decision{Code: code, Reason: reason}}
}
