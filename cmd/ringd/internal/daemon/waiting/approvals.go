package waiting

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/rowmac"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/schema/wire"
)

// DeskStore keeps calls and their approvals.
type DeskStore interface {
	Run(ctx context.Context, id string) (store.Run, error)
	Calls(ctx context.Context, run string) ([]store.Call, error)
	Waiting(ctx context.Context, who store.Answerer, p store.WaitingPage) ([]store.Waiting, error)
	Approve(ctx context.Context, run, call string, a store.Approval) (store.Approved, error)
	Approvals(ctx context.Context, run string) ([]store.Approval, error)
}

// recorder writes to the audit log.
type recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// DeskConfig configures a desk. All fields but Metrics and Point are required.
type DeskConfig struct {
	Store    DeskStore
	Recorder recorder
	Marks    rowmac.Marker
	Now      func() time.Time
	Metrics  *metrics.Metrics
	// Point is called at each step of an approval, for tests that end the process there. It may be
	// nil.
	Point func(label string)
}

// Approver is a person: the name of its actor, and the owners that it stands for.
type Approver struct {
	Name   string
	Stands []string
}

// States that a caller must tell apart.
var (
	// ErrNotFound: there is no such run or call.
	ErrNotFound = errors.New("no such open call")
	// ErrEnded: the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrNotWaiting: the call does not wait for an approver.
	ErrNotWaiting = errors.New("the call does not wait for an approver")
	// ErrDecided: the call is allowed or denied already, or this approver has approved it before.
	ErrDecided = errors.New("the call is decided, or this approver has already answered")
	// ErrDigest: the approval is for other arguments.
	ErrDigest = errors.New("the digest is not that of the pending call")
	// ErrExpired: the call has expired.
	ErrExpired = errors.New("the time to approve the call is over")
	// ErrSelf: the approver is the actor of the run.
	ErrSelf = errors.New("an approver cannot approve calls of their own runs")
	// ErrNotApprover: the approver does not stand for an owner that the call waits for.
	ErrNotApprover = errors.New("the call needs the approval of another owner")
)

// InvalidError is an approval that has a bad field.
type InvalidError struct{ Field, Text string }

// Error names the field and the mistake.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }

// Desk takes approvals. It is safe for concurrent use.
type Desk struct{ cfg DeskConfig }

// NewDesk checks cfg.
func NewDesk(cfg DeskConfig) (*Desk, error) {
	if cfg.Store == nil || cfg.Recorder == nil || cfg.Marks == nil || cfg.Now == nil {
		return nil, errors.New("waiting.DeskConfig: Store, Recorder, Marks and Now are required")
	}
	if cfg.Point == nil {
		cfg.Point = func(string) {}
	}
	return &Desk{cfg}, nil
}

// Page selects waiting calls.
type Page struct {
	Limit int    // number of calls; 0 means 100, the maximum is MaxPage
	After string // wire.Approvals.Next of the page before; empty starts with the first
	Actor string // only runs of this actor; empty means all
}

// MaxPage is the largest number of calls on a page.
const MaxPage = 500

// maxShown bounds the arguments of a call in a list, in bytes. Larger arguments are shown by
// [Desk.Show] only.
const maxShown = 4 << 10

// List returns calls that wait for an approver, in turns: the newest of each agent and actor, then
// the next of each.
func (d *Desk) List(ctx context.Context, p Page) (wire.Approvals, error) {
	after, err := turnOf(p.After)
	if err != nil {
		return wire.Approvals{}, err
	}
	if p.Limit <= 0 {
		p.Limit = defaultPage
	}
	p.Limit = min(p.Limit, MaxPage)
	calls, err := d.cfg.Store.Waiting(
		ctx,
		store.ByApprover,
		store.WaitingPage{Limit: p.Limit + 1, Actor: p.Actor, Args: maxShown, After: after},
	)
	if err != nil {
		return wire.Approvals{}, fmt.Errorf("list approvals: %w", err)
	}
	out := wire.Approvals{Approvals: make([]wire.WaitingCall, 0, len(calls))}
	if len(calls) > p.Limit {
		calls = calls[:p.Limit]
		out.More, out.Next = true, cursor(calls[p.Limit-1].Turn)
	}
	known := map[string]*waitingRun{}
	for _, w := range calls {
		r := known[w.Run]
		if r == nil {
			if r, err = d.waitingRun(ctx, w.Run); err != nil {
				return wire.Approvals{}, fmt.Errorf("list approvals: %w", err)
			}
			known[w.Run] = r
		}
		if r.gone || d.untrue(w) {
			continue // its row is invalid; the run shows why
		}
		out.Approvals = append(out.Approvals, r.show(w.Call, w.Size))
	}
	return out, nil
}

const defaultPage = 100

// untrue reports whether a row was not written by this daemon. If the arguments were left out, the
// MAC covers their digest. The approver is shown them before a decision.
func (d *Desk) untrue(w store.Waiting) bool {
	if w.Args == nil && w.Size > maxShown {
		return rowmac.CheckMark(d.cfg.Marks, w.Call) != nil
	}
	return rowmac.CheckCall(d.cfg.Marks, w.Call) != nil
}

// Show returns one call that waits for an approver, with all of its arguments. Errors: ErrNotFound,
// ErrNotWaiting, and those of rowmac if this daemon did not write the row.
func (d *Desk) Show(ctx context.Context, run, call string) (wire.WaitingCall, error) {
	row, c, err := d.find(ctx, run, call)
	switch {
	case err != nil:
		return wire.WaitingCall{}, err
	case row.State.Final() || c.For != store.ByApprover || c.State != store.CallPending:
		return wire.WaitingCall{}, ErrNotWaiting
	}
	r, err := d.waitingRun(ctx, run)
	if err != nil {
		return wire.WaitingCall{}, err
	}
	return r.show(c, int64(len(c.Args))), nil
}

// waitingRun is the part of a run that is shown with its calls.
type waitingRun struct {
	agent, actor string
	gone         bool // it was pruned, or has ended meanwhile
	known        []wire.Pending
	given        []store.Approval
}

func (d *Desk) waitingRun(ctx context.Context, id string) (*waitingRun, error) {
	row, err := d.cfg.Store.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return &waitingRun{gone: true}, nil
	}
	if err != nil {
		return nil, err
	}
	given, err := d.cfg.Store.Approvals(ctx, id)
	if err != nil {
		return nil, err
	}
	shown, err := view.Row(row)
	return &waitingRun{row.Agent, row.Actor, row.State.Final(), shown.Pending, given}, err
}

func (r *waitingRun) show(c store.Call, size int64) wire.WaitingCall {
	out := wire.WaitingCall{
		Run:     c.Run,
		Agent:   r.agent,
		Actor:   r.actor,
		Created: c.Created,
		Pending: view.Pending(c, r.given, r.known),
	}
	if c.Args == nil && size > 0 {
		out.Pending.ArgsBytes = size
	}
	return out
}

// cursor encodes a position in the list.
func cursor(t store.Turn) string {
	text, _ := json.Marshal(t) // numbers and texts
	return base64.RawURLEncoding.EncodeToString(text)
}

func turnOf(after string) (t store.Turn, err error) {
	if after == "" {
		return t, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(after)
	if err == nil && len(text) < 4<<10 {
		err = json.Unmarshal(text, &t)
	}
	if err != nil || t.N <= 0 {
		return t, &InvalidError{"after", "want the value of next from the page before"}
	}
	return t, nil
}

// Decide stores an approval or a denial of a call by who. If it returns nil, the approval is on disk and is
// valid. Errors are the sentinels of this package, *InvalidError and faults. After any of them nothing has
// changed. *seal.IntegrityError and *seal.KeyError mean that this daemon did not write the rows of the call. An
// approval that is refused is recorded, unless spend refuses the record. Decide then returns the error of spend.
func (d *Desk) Decide(
	ctx context.Context,
	who Approver,
	run, call string,
	a wire.ApprovalAnswer,
	spend func(context.Context) error,
) (store.Approved, error) {
	if err := checkAnswer(who, a); err != nil {
		return store.Approved{}, err
	}
	row, c, err := d.find(ctx, run, call)
	if err != nil {
		return store.Approved{}, err
	}
	given, err := d.cfg.Store.Approvals(ctx, run)
	if err != nil {
		return store.Approved{}, err
	}
	as, err := d.judge(row, c, who, a)
	// An approver who has allowed may still deny, until the call is decided.
	if err == nil && a.Verdict == "allow" &&
		slices.ContainsFunc(
			given,
			func(g store.Approval) bool { return g.Call == call && person(g.By) == person(who.Name) },
		) {
		err = ErrDecided
	}
	if err != nil {
		return store.Approved{}, d.refused(ctx, row, c, who, a, err, spend)
	}
	kind, verdict := audit.CallApproved, store.Allow
	if a.Verdict == "deny" {
		kind, verdict = audit.CallDenied, store.Deny
	}
	if _, err := d.cfg.Recorder.Append(ctx, answerRecord(kind, row, c, who, as), audit.Synced); err != nil {
		return store.Approved{}, fmt.Errorf("record the approval of call %s of run %s: %w", call, run, err)
	}
	d.cfg.Point("answer_recorded")
	word := store.Approval{
		Run:     run,
		Call:    call,
		By:      who.Name,
		As:      as,
		Verdict: verdict,
		Reason:  a.Reason,
		Digest:  a.Digest,
		At:      d.cfg.Now(),
	}
	word.Mark = rowmac.Approval(d.cfg.Marks, word)
	out, err := d.cfg.Store.Approve(ctx, run, call, word)
	if err == nil && !out.First {
		err = ErrDecided
	}
	if err != nil {
		return store.Approved{}, d.refused(ctx, row, c, who, a, translateStoreError(err), spend)
	}
	d.cfg.Point("answer_kept")
	d.cfg.Metrics.Approved(a.Verdict)
	return out, d.stands(context.WithoutCancel(ctx), row, c, out)
}

// stands refuses a verdict that does not follow from the approvals of the call: this desk did not
// write some of them.
func (d *Desk) stands(ctx context.Context, row store.Run, c store.Call, out store.Approved) error {
	if out.Verdict == "" {
		return nil
	}
	words, err := d.cfg.Store.Approvals(ctx, row.ID)
	if err != nil {
		return err
	}
	c.Verdict, c.For = out.Verdict, out.For
	return rowmac.CheckVerdict(d.cfg.Marks, row, c, words)
}

// person is the person behind a name. The owner of the state folder has a second name at the daemon's
// socket, and counts once.
func person(name string) string { return strings.TrimPrefix(name, "owner:") }

func checkAnswer(who Approver, a wire.ApprovalAnswer) error {
	switch {
	case who.Name == "":
		return &InvalidError{"approver", "is missing"}
	case a.Verdict != "allow" && a.Verdict != "deny":
		return &InvalidError{"verdict", "want allow or deny"}
	case a.Digest == "":
		return &InvalidError{"digest", "is missing: an approval is valid only for the arguments that were shown"}
	case a.Verdict == "deny" && strings.TrimSpace(a.Reason) == "":
		return &InvalidError{"reason", "is missing: the program reads why the call was denied"}
	case len(a.Reason) > store.MaxReason:
		return &InvalidError{"reason", fmt.Sprintf("is longer than %d bytes", store.MaxReason)}
	}
	return nil
}

func (d *Desk) find(ctx context.Context, run, call string) (store.Run, store.Call, error) {
	if len(run) > store.MaxID || len(call) > store.MaxID {
		return store.Run{}, store.Call{}, ErrNotFound
	}
	row, err := d.cfg.Store.Run(ctx, run)
	if err != nil {
		return store.Run{}, store.Call{}, translateStoreError(err)
	}
	calls, err := d.cfg.Store.Calls(ctx, run)
	if err != nil {
		return store.Run{}, store.Call{}, err
	}
	i := slices.IndexFunc(calls, func(c store.Call) bool { return c.ID == call })
	if i < 0 {
		return store.Run{}, store.Call{}, ErrNotFound
	}
	if !row.State.Final() && calls[i].State == store.CallPending {
		err = rowmac.CheckCall(d.cfg.Marks, calls[i])
	}
	return row, calls[i], err
}

// judge returns the owner that who approves for, or the reason why who may not approve.
func (d *Desk) judge(row store.Run, c store.Call, who Approver, a wire.ApprovalAnswer) (as string, err error) {
	switch {
	case row.State.Final():
		return "", ErrEnded
	case row.Actor == who.Name:
		return "", ErrSelf
	case c.Verdict != "":
		return "", ErrDecided
	case c.For != store.ByApprover || c.State != store.CallPending:
		return "", ErrNotWaiting
	case a.Digest != c.ArgsDigest:
		return "", ErrDigest
	case !c.Expires.IsZero() && !d.cfg.Now().Before(c.Expires):
		return "", ErrExpired
	}
	return capacity(c.From, who.Stands, a.As)
}

// capacity is the owner that an approver stands for: the one that the approver names, or the first one
// that the call accepts. A call that names no owner accepts any approver, who may still name an owner
// that it stands for.
func capacity(from, stands []string, as string) (string, error) {
	if as != "" {
		if !slices.Contains(stands, as) || (len(from) > 0 && !slices.Contains(from, as)) {
			return "", ErrNotApprover
		}
		return as, nil
	}
	if len(from) == 0 {
		return "", nil
	}
	for _, owner := range from {
		if slices.Contains(stands, owner) {
			return owner, nil
		}
	}
	return "", ErrNotApprover
}

func answerRecord(kind audit.Kind, row store.Run, c store.Call, who Approver, as string) audit.Record {
	rec := audit.Record{
		Kind:       kind,
		Generation: row.Generation,
		Revision:   row.Revision,
		Actor:      who.Name,
		Agent:      row.Agent,
		Run:        row.ID,
		Call:       c.ID,
		Capability: binding.CapabilityOf(clipField(c.Bridge)),
		Digest:     c.ArgsDigest,
		Detail:     map[string]string{},
	}
	if as != "" {
		rec.Detail["as"] = as
	}
	return rec
}

// refused records an approval that does not count, and returns cause, or the error of spend if that
// refuses the record.
func (d *Desk) refused(
	ctx context.Context,
	row store.Run,
	c store.Call,
	who Approver,
	a wire.ApprovalAnswer,
	cause error,
	spend func(context.Context) error,
) error {
	if err := spend(ctx); err != nil {
		return err
	}
	rec := answerRecord(audit.ApprovalRefused, row, c, who, clipField(a.As))
	rec.Detail["verdict"] = a.Verdict
	known := false
	for _, s := range []error{ErrEnded, ErrSelf, ErrDecided, ErrNotWaiting, ErrDigest, ErrExpired, ErrNotApprover,
		ErrNotFound} {
		known = known || errors.Is(cause, s)
	}
	if known {
		rec.Detail["reason"] = cause.Error()
	} else {
		rec.Fault = &audit.Fault{ID: row.ID + "/" + c.ID, Text: cause.Error()}
	}
	d.cfg.Metrics.Approved("refused")
	if _, err := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// translateStoreError turns an error of the store into one of this package.
func translateStoreError(err error) error {
	for from, to := range map[error]error{
		store.ErrNotFound: ErrNotFound, store.ErrDigest: ErrDigest, store.ErrExpired: ErrExpired,
		store.ErrApprover: ErrNotApprover, store.ErrState: ErrNotWaiting,
	} {
		if errors.Is(err, from) {
			return to
		}
	}
	return err
}

// clipField bounds the text of a request that a record repeats.
func clipField(s string) string { return canonjson.Truncate(s, 200) }
