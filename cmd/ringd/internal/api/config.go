package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Runs is what starts and ends programs. The daemon implements it.
type Runs interface {
	StartRun(ctx context.Context, a daemon.Actor, r wire.RunRequest) (wire.Run, error)
	GetRun(ctx context.Context, a daemon.Actor, id string, wait time.Duration) (wire.Run, error)
	AnswerRun(ctx context.Context, a daemon.Actor, id string, answers wire.Answers) (wire.Run, error)
	CancelRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)
	Status(ctx context.Context) wire.Status
}

// views is what shows runs and policy. The daemon implements it.
type views interface {
	ListRuns(ctx context.Context, a daemon.Actor, f view.Filter) (wire.RunList, error)
	Events(ctx context.Context, a daemon.Actor, id string, after int64) ([]wire.Event, error)
	Decide(ctx context.Context, a daemon.Actor, agent string, actions []json.RawMessage) ([]profiles.Decision, error)
	Profile(agent, executor string) (wire.Profile, error)
	Turned(ctx context.Context, from string, wait time.Duration) (string, error)
}

// Waiting is what moves runs that wait for somebody. The daemon implements it.
type Waiting interface {
	ListApprovals(ctx context.Context, a daemon.Actor, p waiting.Page) (wire.Approvals, error)
	GetCall(ctx context.Context, a daemon.Actor, run, call string) (wire.WaitingCall, error)
	Approve(ctx context.Context, a waiting.Approver, run, call string, answer wire.ApprovalAnswer) (wire.Run, error)
	ResumeRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)
	RevokeGrants(ctx context.Context, a daemon.Actor, id string, grants []string) (wire.Run, error)
}

// Sessions is what shows and forgets kept sessions. The daemon implements it.
type Sessions interface {
	ListSessions(ctx context.Context, a daemon.Actor) (wire.SessionList, error)
	DropSession(ctx context.Context, a daemon.Actor, owner, name string) error
}

// Lockdown closes and opens everything. The lock of the daemon implements it.
type Lockdown interface {
	Show(live int) wire.Lockdown
	Set(ctx context.Context, by string, o wire.LockdownOrder) (wire.Lockdown, error)
}

// meter counts requests; *metrics.Metrics does.
type meter interface {
	Requested(route string, status int, took time.Duration, waits bool)
	Handler() http.Handler
}

// Roles says who holds which role: "uid:1000" or "gid:2000" (the peer's primary
// group). Root and the daemon's own uid are operator and harness unless a line
// names them.
type Roles struct {
	Harness  []string // starts runs, answers their calls, sees its own
	Approver []string // approves calls, sees every run
	Operator []string // ends and sees every run
	Viewer   []string // sees every run
}

// Token is a caller over TCP.
type Token struct {
	IssuedToken
	Roles  []Role   // at least one; a harness is no approver
	Owners []string // that its holder stands for, beside what Config.Approvers says; for approvers
}

// Refusal is a request over TCP that had no token that counts.
type Refusal struct {
	From string // address
	Why  error  // ErrTokenMissing, ErrUnknown, ErrExpired, ErrTooMany
}

// Config is what a server needs. New refuses one that lacks Runs, Views,
// Waiting, Sessions, Now or Logger.
type Config struct {
	Runs     Runs
	Views    views
	Waiting  Waiting
	Sessions Sessions
	Lockdown Lockdown // nil: there are no lockdowns
	// AcceptTime makes the host's time the latest that it has seen; nil: nobody keeps one.
	AcceptTime func(ctx context.Context, actor, reason string) (wire.Clock, error)
	// Archive moves the beginning of the audit log to its archive; nil: nobody does.
	Archive func(ctx context.Context, a daemon.Actor, o wire.ArchiveOrder) (wire.Archived, error)
	Roles   Roles
	// Approvers says who stands for an owner that a policy names:
	// "group:leads@acme.example": ["uid:1001", "gid:500", "token:ann"]. An owner
	// that neither is here nor stands with a token has nobody.
	Approvers map[string][]string
	UID       uint32 // the daemon's own
	PID       int    // the daemon's own, which asks itself beside PerPeer; 0: none
	// Tokens are the callers over TCP, where a uid counts for nothing. Refused is
	// told of those without one, and required with Tokens; it says itself when it
	// cannot write.
	Tokens  []Token
	Refused func(ctx context.Context, r Refusal)
	Wrong   TokensConfig // how many wrong tokens one address may present; its Tokens are ignored
	Meter   meter        // nil: GET /metrics is not found
	Now     func() time.Time
	Logger  *slog.Logger

	BodyBytes   int64         // of a request; 0: 8 MiB
	ReadTimeout time.Duration // of a body, and of writing one answer; 0: 30 s
	Heartbeat   time.Duration // of an idle event stream; 0: 15 s
	PerPeer     int           // connections of one uid; 0: 128
}

func (c *Config) check() error {
	switch {
	case c.Runs == nil:
		return errors.New("api.Config.Runs is missing")
	case c.Views == nil:
		return errors.New("api.Config.Views is missing")
	case c.Waiting == nil:
		return errors.New("api.Config.Waiting is missing")
	case c.Sessions == nil:
		return errors.New("api.Config.Sessions is missing")
	case c.Now == nil:
		return errors.New("api.Config.Now is missing")
	case c.Logger == nil:
		return errors.New("api.Config.Logger is missing")
	case len(c.Tokens) > 0 && c.Refused == nil:
		return errors.New("api.Config.Refused is missing: wrong tokens are recorded")
	}
	if c.BodyBytes == 0 {
		c.BodyBytes = 8 << 20
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 30 * time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.PerPeer == 0 {
		c.PerPeer = 128
	}
	return nil
}
