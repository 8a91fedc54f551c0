package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema"
)

// Ring is a position where policy is enforced. The daemon calls Prepare for one
// set at a time, and each commit at most once.
type Ring interface {
	Name() string
	// Prepare builds what set needs, and nothing visible changes. commit makes it
	// visible, cannot fail and does not wait. An error that has a method
	// Executor() string names the one executor that rejects its profile.
	Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error)
	// Close refuses everything from then on and waits for what the ring started.
	Close() error
}

// Compiler turns a verified push into a set. It ends when ctx does. The findings
// are complete whether or not they refuse; err is for a compiler that could not
// be run at all.
type Compiler interface {
	Compile(ctx context.Context, p Push) (*profiles.Set, schema.Diagnostics, error)
}

// Starter starts runs; see FromRing.
type Starter interface {
	// Start binds a run to the generation in force and starts it. The run ends
	// when ctx does.
	Start(ctx context.Context, r interpreter.StartRequest) (Live, error)
}

// Live is a run that has started. Its methods are those of interpreter.Run.
type Live interface {
	View() interpreter.View
	Done() <-chan struct{}
	Talker
}

// Talker is the part of Live that callers of the API reach.
type Talker interface {
	Settled(ctx context.Context) (interpreter.View, error)
	Events(ctx context.Context, after int64) ([]interpreter.Event, error)
	Answer(ctx context.Context, a interpreter.Reply) error
	Cancel(ctx context.Context, by, reason string)
}

// FromRing makes the interpreter ring a Starter.
func FromRing(r *interpreter.Ring) Starter { return ringStarter{r} }

type ringStarter struct{ ring *interpreter.Ring }

func (s ringStarter) Start(ctx context.Context, r interpreter.StartRequest) (Live, error) {
	run, err := s.ring.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return run, nil
}

// Reporter is a ring that tells how its executors are.
type Reporter interface {
	Status() []interpreter.ExecutorStatus
}

// RunStore keeps runs.
type RunStore interface {
	Start(ctx context.Context, r store.Run) error
	Advance(ctx context.Context, id string, to store.State, c store.Change) (store.Run, error)
	Run(ctx context.Context, id string) (store.Run, error)
	Runs(ctx context.Context, f store.Filter) ([]store.Run, error)
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// GenerationStore keeps generations, and ends the runs a crash left behind.
type GenerationStore interface {
	PutGeneration(ctx context.Context, g store.Generation) error
	Freshen(ctx context.Context, number int64, at time.Time) error
	LastGeneration(ctx context.Context) (store.Generation, error)
	Recover(ctx context.Context) ([]store.Recovered, error)
	Err() error
}

// Clock is time. After is time.After.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Quota bounds live runs, paused ones included. Zero allows none.
type Quota struct {
	PerActor int
	Total    int
}

// Config is what a daemon needs. New refuses one that lacks anything but
// Metrics; durations and counts that are zero are the strictest.
type Config struct {
	Version     string
	Interpreter Starter
	Rings       []Ring // every ring, the interpreter's too, in the order of commits
	Compiler    Compiler
	Runs        RunStore
	Generations GenerationStore
	Recorder    *records.Recorder // the same one that the interpreter ring writes to
	Journal     *records.Journal  // the same one that the interpreter ring commits to
	Group       *Group            // the same one that rings and executors start goroutines with
	Clock       Clock
	Random      io.Reader // for the ids of runs
	Logger      *slog.Logger
	Metrics     *metrics.Metrics // nil: none

	// Environment is what the decisions of Decide know of the host.
	Environment profiles.Environment

	// Staleness is how long a generation stays in force while its source is
	// gone or refused. 0: it is closed at once.
	Staleness time.Duration
	// Retention is how long runs that have ended are kept. 0: an hour.
	Retention time.Duration
	Quota     Quota
}

// DefaultStaleness is what a configuration that does not name one should give.
const DefaultStaleness = 10 * time.Minute

func (c *Config) check() error {
	var missing []error
	need := func(ok bool, name string) {
		if !ok {
			missing = append(missing, errors.New("daemon.Config."+name+" is missing"))
		}
	}
	need(c.Interpreter != nil, "Interpreter")
	need(len(c.Rings) > 0, "Rings")
	need(c.Compiler != nil, "Compiler")
	need(c.Runs != nil, "Runs")
	need(c.Generations != nil, "Generations")
	need(c.Recorder != nil, "Recorder")
	need(c.Journal != nil, "Journal")
	need(c.Group != nil, "Group")
	need(c.Clock != nil, "Clock")
	need(c.Random != nil, "Random")
	need(c.Logger != nil, "Logger")
	need(c.Staleness >= 0, "Staleness")
	return errors.Join(missing...)
}
