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

// Store keeps runs, their pauses and calls, sessions and generations.
type Store interface {
	policy.Store

	// Live runs.
	Start(ctx context.Context, r store.Run) error
	Advance(ctx context.Context, id string, to store.State, c store.Change) (store.Run, error)
	Run(ctx context.Context, id string) (store.Run, error)
	Runs(ctx context.Context, f store.Filter) ([]store.Run, error)
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
	// Recover ends the runs that were live at a crash.
	Recover(ctx context.Context) ([]store.Recovered, error)

	// Waiting runs.
	Answered(ctx context.Context, skip, n int) ([]store.Pause, error)
	Claim(ctx context.Context, run string, seq int64, by string) (store.Pause, []store.Call, error)
	Begin(ctx context.Context, run string, seq int64, by string, c store.Change) (store.Run, error)
	Unclaim(ctx context.Context, run string, seq int64, by string, f store.Fault) error
	Expired(ctx context.Context, now time.Time, n int) ([]store.Pause, error)
	Pause(ctx context.Context, run string) (store.Pause, []store.Call, error)
	Fault(ctx context.Context, run string) (store.Fault, error)
	Faults(ctx context.Context) (map[string]int64, error)
	Spend(ctx context.Context, run string, seq int64, call string, started, spawned int64) error

	// Calls of waiting runs.
	Calls(ctx context.Context, run string) ([]store.Call, error)
	Approvals(ctx context.Context, run string) ([]store.Approval, error)
	AnswerAll(ctx context.Context, run string, replies []store.Reply) ([]store.Settled, error)
	Revoke(ctx context.Context, run, by string, capabilities []string) error

	// Sessions.
	Sessions(ctx context.Context, actor string, n int) ([]store.Session, error)
	DropSession(ctx context.Context, actor, name string) error
	ExpireSessions(ctx context.Context, n int) ([]store.Session, error)

	// Err returns the fault that closed the store, or nil if it takes writes.
	Err() error
}

// Clock is the time source. After is time.After.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Quota limits live runs; waiting.Quota limits runs that wait. Zero allows none.
type Quota struct {
	PerActor int
	Total    int
}

// Policy configures the policy in force.
type Policy struct {
	Rings    []policy.Ring // all rings, including the interpreter's, in the order of commits
	Compiler policy.Compiler
	Trust    *trust.Gate // verifies pushes; if nil, pushes are sources
	// Environment is the part of the host that decisions without a run may depend on.
	Environment profiles.Environment
	// Workspace returns the value of $WORKSPACE in the rules of an agent. If Workspace is nil or returns "",
	// $WORKSPACE has no value.
	Workspace func(agent string) string
	// Staleness is how long a generation stays in force while its source is gone or refused. If it is
	// zero, the generation is closed at once.
	Staleness time.Duration
}

// Waiting configures runs that wait.
type Waiting struct {
	Keeper *waiting.Keeper // the keeper that the interpreter ring stores pauses with
	Desk   *waiting.Desk
	Outbox *notify.Outbox // notifies people of calls that wait; may be nil
}

// Limits limits runs and requests.
type Limits struct {
	Quota Quota
	// Retention is how long runs that have ended are kept. Zero means an hour.
	Retention time.Duration
	// RequestRecords is the number of audit records per second that one actor may cause with requests of one
	// kind outside of runs. Zero means 200.
	RequestRecords int
}

// Disk configures the disk of the state folder.
type Disk struct {
	// Reopen reopens the store and then the audit log after a failed write, when no run is live. If it
	// is nil, both stay closed until a restart.
	Reopen func(ctx context.Context) error
	// Room reports the free space. If it is nil, the disk is not watched.
	Room *Room
	// Archive configures the archive of the audit log.
	Archive Archive
}

// Config configures a daemon. New refuses a config without a required field. Durations and counts that
// are zero are the strictest, unless their comment says otherwise.
type Config struct {
	Version     string
	Interpreter starter
	Policy      Policy
	Store       Store
	Waiting     Waiting
	Limits      Limits
	Disk        Disk
	// HasEngine reports whether an executor can resume snapshots of an engine. own is the executor's own
	// engine, or "" if unknown. If HasEngine is nil, the executor tries to resume and reports it.
	HasEngine func(executor, digest string) (own string, has bool)
	// Shadow returns the state of a candidate policy. It may be nil, which means no candidate.
	Shadow func() *wire.Shadow
	// Forget is called with the state of a session that is dropped. It may be nil.
	Forget func(executor string, snapshot []byte)
	// Still makes a daemon that serves one run or none. It resumes runs only by ResumeRun, and records no
	// start.
	Still bool
	// Point is called at each step of a run on disk, for tests that end the process there. It may be nil.
	Point    func(label string)
	Recorder *records.Recorder // also used by the interpreter ring
	Journal  *records.Journal  // also used by the interpreter ring
	Group    *Group            // starts the goroutines of rings and executors
	Clock    Clock
	Random   io.Reader // for the ids of runs
	Logger   *slog.Logger
	Metrics  *metrics.Metrics // may be nil
	Lock     *lockdown.Lock   // denies everything during a lockdown; may be nil
}

// DefaultStaleness is the value for configurations that name none.
const DefaultStaleness = 10 * time.Minute

func (c *Config) check() error {
	var missing []error
	need := func(ok bool, name string) {
		if !ok {
			missing = append(missing, errors.New("daemon.Config."+name+" is missing"))
		}
	}
	need(c.Interpreter != nil, "Interpreter")
	need(len(c.Policy.Rings) > 0, "Policy.Rings")
	need(c.Policy.Compiler != nil, "Policy.Compiler")
	need(c.Policy.Staleness >= 0, "Policy.Staleness")
	need(c.Store != nil, "Store")
	need(c.Waiting.Keeper != nil, "Waiting.Keeper")
	need(c.Waiting.Desk != nil, "Waiting.Desk")
	need(c.Recorder != nil, "Recorder")
	need(c.Journal != nil, "Journal")
	need(c.Group != nil, "Group")
	need(c.Clock != nil, "Clock")
	need(c.Random != nil, "Random")
	need(c.Logger != nil, "Logger")
	return errors.Join(missing...)
}
