package waiting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/rowmac"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// KeeperStore keeps pauses and sessions.
type KeeperStore interface {
	PutPause(ctx context.Context, p store.Pause, c store.Change) (store.Run, error)
	CountPaused(ctx context.Context, actor string) (ofActor, total int64, err error)
	PutSession(ctx context.Context, s store.Session) error
	Session(ctx context.Context, actor, name string) (store.Session, error)
	Run(ctx context.Context, id string) (store.Run, error)
	// PausedBytes is the size of the records of the actor's waiting runs.
	PausedBytes(ctx context.Context, actor string) (int64, error)
	// Revoke keeps notes on a run, which come with each of its pauses.
	Revoke(ctx context.Context, run, by string, capabilities []string) error
	Pause(ctx context.Context, run string) (store.Pause, []store.Call, error)
	// Reseal replaces the record of the run's last pause.
	Reseal(ctx context.Context, p store.Pause) error
}

// sealer seals and opens; *seal.Keyring does.
type sealer interface {
	Seal(b seal.Binding, plain []byte) ([]byte, error)
	Open(b seal.Binding, sealed []byte) ([]byte, error)
	KeyID() string
	rowmac.Marker
}

// startGate waits until the start of a run is on disk.
type startGate interface {
	Wait(ctx context.Context, run string) error
}

// Quota bounds runs that wait. The zero value allows none.
type Quota struct {
	PerActor int
	Total    int
	Bytes    int64 // of the sealed records of one actor
}

// KeeperConfig configures a keeper. All fields but Metrics, PolicyPath and Point are required.
type KeeperConfig struct {
	Store   KeeperStore
	Sealer  sealer
	Gate    startGate
	Now     func() time.Time
	Quota   Quota
	Metrics *metrics.Metrics
	// PolicyPath is kept with each pause, for commands that are shown. A path of more than 4096
	// bytes, or one that is not UTF-8, is not kept.
	PolicyPath string
	// Point is called at each step of a pause, for tests that end the process there. It may be nil.
	Point func(label string)
}

// SessionLimits bounds a session. The zero value refuses it.
type SessionLimits struct {
	Age   time.Duration
	Bytes int64 // of the state
}

// maxPath bounds PolicyPath, in bytes.
const maxPath = 4096

// errQuota: too many runs wait, of this actor or in all.
var errQuota = errors.New("too many paused runs")

// Keeper keeps pauses and sessions. It is safe for concurrent use.
type Keeper struct {
	cfg       KeeperConfig
	resealing sync.Mutex // held while a record is read, changed and written back
	grants    atomic.Pointer[func(agent string) (SessionLimits, string)]
}

// Grants sets the callback that returns the session limits of an agent under the policy in force, and
// the revision of that policy. Before it is set there are no sessions.
func (k *Keeper) Grants(limits func(agent string) (SessionLimits, string)) { k.grants.Store(&limits) }

func (k *Keeper) sessions(agent string) (SessionLimits, string) {
	limits := k.grants.Load()
	if limits == nil {
		return SessionLimits{}, ""
	}
	return (*limits)(agent)
}

// NewKeeper checks cfg.
func NewKeeper(cfg KeeperConfig) (*Keeper, error) {
	if cfg.Store == nil || cfg.Sealer == nil || cfg.Gate == nil || cfg.Now == nil {
		return nil, errors.New("waiting.KeeperConfig: Store, Sealer, Gate and Now are required")
	}
	if cfg.Point == nil {
		cfg.Point = func(string) {}
	}
	return &Keeper{cfg: cfg}, nil
}

// Count counts the runs that wait, of one actor and in all.
func (k *Keeper) Count(ctx context.Context, actor string) (mine, all int64, err error) {
	return k.cfg.Store.CountPaused(ctx, actor)
}

// KeepPause seals p and commits it with the outcome so far. If it returns nil, the pause is durable.
func (k *Keeper) KeepPause(ctx context.Context, p pause.Record, v contract.View) error {
	began := k.cfg.Now()
	if err := k.cfg.Gate.Wait(ctx, p.Run); err != nil {
		return err
	}
	mine, all, err := k.cfg.Store.CountPaused(ctx, p.Actor)
	switch {
	case err != nil:
		return fmt.Errorf("count paused runs: %w", err)
	case all >= int64(k.cfg.Quota.Total):
		return fmt.Errorf("%w: %d in all", errQuota, k.cfg.Quota.Total)
	case mine >= int64(k.cfg.Quota.PerActor):
		return fmt.Errorf("%w: %d of one actor", errQuota, k.cfg.Quota.PerActor)
	}
	plain, err := p.Encode()
	if err != nil {
		return err
	}
	revision := p.Profiles[len(p.Profiles)-1].Revision
	sealed, err := k.cfg.Sealer.Seal(pauseBinding(p.Run, p.Seq, p.Agent, p.Actor, revision, p.Engine), plain)
	if err != nil {
		return fmt.Errorf("seal pause %d of run %s: %w", p.Seq, p.Run, err)
	}
	held, err := k.cfg.Store.PausedBytes(ctx, p.Actor)
	if err != nil {
		return fmt.Errorf("count paused runs: %w", err)
	}
	if held+int64(len(sealed)) > k.cfg.Quota.Bytes {
		return fmt.Errorf("%w: %d bytes of one actor", errQuota, k.cfg.Quota.Bytes)
	}
	k.cfg.Point("pause_sealed")
	out := view.Run(v, p.Started)
	out.State, out.LastEvent = string(store.Paused), p.LastEvent
	if path := k.cfg.PolicyPath; len(path) <= maxPath && utf8.ValidString(path) {
		out.PolicyPath = path
	}
	out.Pending = view.Known(out.Pending) // the store has the current state of the rest
	outcome, err := view.Interim(out)
	if err != nil {
		return fmt.Errorf("encode the outcome of run %s: %w", p.Run, err)
	}
	_, err = k.cfg.Store.PutPause(ctx, store.Pause{Run: p.Run, Seq: p.Seq, Sealed: sealed, Revision: revision,
		KeyID: k.cfg.Sealer.KeyID(), Engine: p.Engine, Expires: p.Expires, Spawned: p.Spawned},
		store.Change{Outcome: outcome})
	if err != nil {
		return fmt.Errorf("keep pause %d of run %s: %w", p.Seq, p.Run, err)
	}
	k.cfg.Point("pause_kept")
	k.cfg.Metrics.Paused("paused")
	k.cfg.Metrics.Sealed(k.cfg.Now().Sub(began), len(sealed))
	return nil
}

func pauseBinding(run string, seq int64, agent, actor, revision, engine string) seal.Binding {
	return seal.Binding{
		Kind:     seal.Pause,
		Run:      run,
		Seq:      seq,
		Agent:    agent,
		Actor:    actor,
		Revision: revision,
		Engine:   engine,
	}
}

// Open opens the record of a pause that belongs to row. The values inside the record must equal those
// of the row. Open adds the grants that were revoked since, and the powers that subagents used. Errors
// are those of seal and of decoding, and *seal.IntegrityError for a record of another run.
func (k *Keeper) Open(p store.Pause, row store.Run) (pause.Record, error) {
	out, err := k.record(p, row)
	if err != nil {
		return pause.Record{}, err
	}
	k.cfg.Point("unsealed")
	for _, note := range p.Revoked { // after it was sealed
		power, err := applyNote(&out, note)
		if err != nil {
			return pause.Record{}, fmt.Errorf("open pause %d of run %s: %w", row.Seq, row.ID, err)
		}
		if !power && !slices.Contains(out.Revoked, note) {
			out.Revoked = append(slices.Clip(out.Revoked), note)
		}
	}
	out.Spawned = max(out.Spawned, p.Spawned)
	return out, nil
}

// record decrypts and decodes a record, and checks that it belongs to row.
func (k *Keeper) record(p store.Pause, row store.Run) (pause.Record, error) {
	plain, err := k.cfg.Sealer.Open(pauseBinding(row.ID, row.Seq, row.Agent, row.Actor, p.Revision, p.Engine), p.Sealed)
	if err != nil {
		return pause.Record{}, fmt.Errorf("open pause %d of run %s: %w", row.Seq, row.ID, err)
	}
	out, err := pause.Decode(plain)
	if err != nil {
		return pause.Record{}, fmt.Errorf("open pause %d of run %s: %w", row.Seq, row.ID, err)
	}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"run", out.Run == row.ID}, {"sequence", out.Seq == row.Seq}, {"agent", out.Agent == row.Agent},
		{"actor", out.Actor == row.Actor}, {"executor", out.Executor == row.Executor},
		{"engine", out.Engine == p.Engine},
	} {
		if !f.same {
			return pause.Record{}, fmt.Errorf(
				"open pause %d of run %s: %w",
				row.Seq,
				row.ID,
				&seal.IntegrityError{Field: f.name},
			)
		}
	}
	return out, nil
}
