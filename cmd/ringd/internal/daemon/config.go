package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/notify"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// runStore keeps runs.
type runStore interface {
	Start(ctx context.Context, r store.Run) error
	Advance(ctx context.Context, id string, to store.State, c store.Change) (store.Run, error)
	Run(ctx context.Context, id string) (store.Run, error)
	Runs(ctx context.Context, f store.Filter) ([]store.Run, error)
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// pauseStore keeps runs that wait.
type pauseStore interface {
	Answered(ctx context.Context, skip, n int) ([]store.Pause, error)
	Claim(ctx context.Context, run string, seq int64, by string) (store.Pause, []store.Call, error)
	Begin(ctx context.Context, run string, seq int64, by string, c store.Change) (store.Run, error)
	Unclaim(ctx context.Context, run string, seq int64, by string, f store.Fault) error
	Expired(ctx context.Context, now time.Time, n int) ([]store.Pause, error)
}

// waitingStore keeps the calls of runs that wait.
type waitingStore interface {
	Calls(ctx context.Context, run string) ([]store.Call, error)
	Approvals(ctx context.Context, run string) ([]store.Approval, error)
	AnswerAll(ctx context.Context, run string, replies []store.Reply) ([]store.Settled, error)
	Revoke(ctx context.Context, run, by string, capabilities []string) error
}

// recordStore keeps the records of runs that wait.
type recordStore interface {
	Pause(ctx context.Context, run string) (store.Pause, []store.Call, error)
	Fault(ctx context.Context, run string) (store.Fault, error)
	Faults(ctx context.Context) (map[string]int64, error)
	Spend(ctx context.Context, run string, seq int64, call string, started, spawned int64) error
}

// sessionStore keeps the states of sessions.
type sessionStore interface {
	Sessions(ctx context.Context, actor string, n int) ([]store.Session, error)
	DropSession(ctx context.Context, actor, name string) error
	ExpireSessions(ctx context.Context, n int) ([]store.Session, error)
}

// generationStore keeps generations, and ends the runs a crash left behind.
type generationStore interface {
	policy.Store
	Recover(ctx context.Context) ([]store.Recovered, error)
	Err() error
}

// Clock is time. After is time.After.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Quota bounds live runs; waiting.Quota those that wait. Zero allows none.
type Quota struct {
	PerActor int
	Total    int
}

// Config is what a daemon needs. New refuses one that lacks anything but
// Metrics, Outbox, HasEngine, Reopen, Room, Trust and Point; durations and counts that are zero are the strictest.
type Config struct {
	Version     string
	Interpreter starter
	Rings       []policy.Ring // every ring, the interpreter's too, in the order of commits
	Compiler    policy.Compiler
	Runs        runStore
	Pauses      pauseStore
	Calls       waitingStore
	Records     recordStore
	Sessions    sessionStore
	Generations generationStore
	Keeper      *waiting.Keeper // the same one that the interpreter ring keeps pauses with
	Desk        *waiting.Desk
	Outbox      *notify.Outbox // nil: nobody is told of calls that wait
	// HasEngine says whether an executor can go on from snapshots of an engine, and
	// which engine is its own, "" when that is not known. If it is nil, the executor
	// says so itself when it tries.
	HasEngine func(executor, digest string) (own string, has bool)
	// Shadow tells of a candidate policy; nil: none is looked for.
	Shadow func() *wire.Shadow
	// Forget is told of the state of a session that is kept no more: what lives of it
	// ends. Nil: nothing does.
	Forget func(executor string, snapshot []byte)
	// Still resumes nothing but by ResumeRun, and puts no start on record: a daemon for
	// one run, or for none.
	Still bool
	// Point is told where a run stands on disk, for tests that end the process
	// there. Nil: nobody.
	Point    func(label string)
	Trust    *trust.Gate       // verifies pushes; nil: they are sources
	Recorder *records.Recorder // the same one that the interpreter ring writes to
	Journal  *records.Journal  // the same one that the interpreter ring commits to
	Group    *Group            // the same one that rings and executors start goroutines with
	Clock    Clock
	Random   io.Reader // for the ids of runs
	Logger   *slog.Logger
	Metrics  *metrics.Metrics // nil: none

	// RequestRecords is how many records one actor may cause in a second with requests
	// of one kind that are outside of runs; 0: 200.
	RequestRecords int

	// Reopen takes the store and then the audit log up again after a failed write,
	// when no run is live; nil: both stay closed until a restart.
	Reopen func(ctx context.Context) error

	// Room says how the disk of the state folder stands; nil: nobody looks.
	Room *Room

	// Archive is where the beginning of the audit log goes.
	Archive Archive

	// Lock closes everything on an operator's word; nil: nobody can.
	Lock *lockdown.Lock

	// Environment is what the decisions of Decide know of the host.
	Environment profiles.Environment
	// Workspace is what $WORKSPACE stands for in the rules of an agent; nil, "": nothing.
	Workspace func(agent string) string

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
	need(c.Pauses != nil, "Pauses")
	need(c.Calls != nil, "Calls")
	need(c.Records != nil, "Records")
	need(c.Sessions != nil, "Sessions")
	need(c.Keeper != nil, "Keeper")
	need(c.Desk != nil, "Desk")
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
