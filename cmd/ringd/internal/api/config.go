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

// Daemon starts, shows and ends runs, moves those that wait, and keeps sessions.
type Daemon interface {
	// Runs.
	StartRun(ctx context.Context, a daemon.Actor, r wire.RunRequest) (wire.Run, error)
	GetRun(ctx context.Context, a daemon.Actor, id string, wait time.Duration) (wire.Run, error)
	AnswerRun(ctx context.Context, a daemon.Actor, id string, answers wire.Answers) (wire.Run, error)
	CancelRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)

	// Views of runs and policy.
	Status(ctx context.Context) wire.Status
	ListRuns(ctx context.Context, a daemon.Actor, f view.Filter) (wire.RunList, error)
	Events(ctx context.Context, a daemon.Actor, id string, after int64) ([]wire.Event, error)
	Decide(ctx context.Context, a daemon.Actor, agent string, actions []json.RawMessage) ([]profiles.Decision, error)
	Profile(agent, executor string) (wire.Profile, error)
	Turned(ctx context.Context, from string, wait time.Duration) (string, error)

	// Runs that wait for somebody.
	ListApprovals(ctx context.Context, a daemon.Actor, p waiting.Page) (wire.Approvals, error)
	GetCall(ctx context.Context, a daemon.Actor, run, call string) (wire.WaitingCall, error)
	Approve(ctx context.Context, a waiting.Approver, run, call string, answer wire.ApprovalAnswer) (wire.Run, error)
	ResumeRun(ctx context.Context, a daemon.Actor, id string) (wire.Run, error)
	RevokeGrants(ctx context.Context, a daemon.Actor, id string, grants []string) (wire.Run, error)

	// Kept sessions.
	ListSessions(ctx context.Context, a daemon.Actor) (wire.SessionList, error)
	DropSession(ctx context.Context, a daemon.Actor, owner, name string) error
}

// Lockdown starts and lifts lockdowns. The lock of the daemon implements it.
type Lockdown interface {
	Show(live int) wire.Lockdown
	Set(ctx context.Context, by string, o wire.LockdownOrder) (wire.Lockdown, error)
}

// meter counts requests; *metrics.Metrics is one.
type meter interface {
	Requested(route string, status int, took time.Duration, waits bool)
	Handler() http.Handler
}

// Roles assigns roles to peers: "uid:1000" or "gid:2000" (the peer's primary group). Root and the daemon's
// own uid are operator and harness unless an entry names them.
type Roles struct {
	Harness  []string // starts runs, answers their calls, sees its own runs
	Approver []string // approves calls, sees every run
	Operator []string // ends and sees every run
	Viewer   []string // sees every run
}

// Token is a caller over TCP.
type Token struct {
	IssuedToken
	Roles  []Role   // at least one; a harness cannot be an approver
	Owners []string // owners that it stands for, besides those of Config.Approvers; for approvers
}

// Refusal is a request over TCP without a valid token.
type Refusal struct {
	From string // address
	Why  error  // ErrMissing, ErrUnknown, ErrExpired, ErrTooMany
}

// Config configures a server. New refuses one without Daemon, Now or Logger.
type Config struct {
	Daemon   Daemon
	Lockdown Lockdown // nil means no lockdowns
	// AcceptTime accepts the host's time as the latest one seen. It may be nil.
	AcceptTime func(ctx context.Context, actor, reason string) (wire.Clock, error)
	// Archive moves the oldest part of the audit log to its archive. It may be nil.
	Archive func(ctx context.Context, a daemon.Actor, o wire.ArchiveOrder) (wire.Archived, error)
	Roles   Roles
	// Approvers lists who stands for an owner of a policy: "group:leads@acme.example": ["uid:1001",
	// "gid:500", "token:ann"]. An owner that is neither here nor at a token has no approver.
	Approvers map[string][]string
	UID       uint32 // of the daemon
	PID       int    // of the daemon, which calls itself and does not count for PerPeer; 0 means none
	// Tokens are the callers over TCP, where a uid does not count. Refused is called for callers without a
	// valid token, and is required with Tokens. It reports its own errors.
	Tokens  []Token
	Refused func(ctx context.Context, r Refusal)
	Wrong   TokensConfig // limits of wrong tokens from one address; its Tokens are ignored
	Meter   meter        // if nil, GET /metrics is not found
	Now     func() time.Time
	Logger  *slog.Logger

	BodyBytes   int64         // of a request; zero means 8 MiB
	ReadTimeout time.Duration // to read a body or write an answer; zero means 30 s
	Heartbeat   time.Duration // of an idle event stream; zero means 15 s
	PerPeer     int           // connections of one uid; zero means 128
}

func (c *Config) check() error {
	switch {
	case c.Daemon == nil:
		return errors.New("api.Config.Daemon is missing")
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
