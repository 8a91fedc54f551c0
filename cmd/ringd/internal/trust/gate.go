package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/schema"
)

// Skew is the accepted difference between the clocks of a host and a signer.
const Skew = 5 * time.Minute

// Config configures a Gate.
type Config struct {
	Roots  *Roots
	Ledger *Ledger
	// InOrder refuses a push if the host has missed previous ones. Otherwise a push may skip a sequence: a
	// set is complete, whatever came before.
	InOrder bool
	// Guardrails evaluates the guardrails of a push. previous is the set in force before, or nil. If
	// Guardrails is nil, none are evaluated. An error that is no *Refusal means that they could not be
	// evaluated.
	Guardrails func(ctx context.Context, p *Push, previous *profiles.Set) error
}

// Gate decides which pushes a host accepts. It is safe for concurrent use.
type Gate struct {
	cfg Config
	off skippedChecks
}

// skippedChecks names checks that a test has switched off.
type skippedChecks map[Code]bool

// NewGate returns a gate. It refuses a configuration without roots or ledger.
func NewGate(cfg Config) (*Gate, error) {
	if cfg.Roots == nil || cfg.Ledger == nil {
		return nil, errors.New("trust config: Roots and Ledger are required")
	}
	return &Gate{cfg: cfg}, nil
}

// Open verifies the content of a sync folder: that it is the one file, its signatures, and that the signed
// content is complete. It checks no time and no order of pushes. Errors are *Refusal, or that of ctx.
func (g *Gate) Open(ctx context.Context, sources []schema.Source) (*Push, error) {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s schema.Source) bool { return s.Name == LockdownFile })
	at := slices.IndexFunc(sources, func(s schema.Source) bool { return s.Name == FileName })
	switch {
	case at < 0 && len(sources) == 0:
		return nil, &Refusal{Code: CodeMissing, Reason: "the folder is empty"}
	case at < 0:
		return nil, &Refusal{Code: CodeUnsigned, Reason: fmt.Sprintf(
			"trust roots are configured: the folder must contain %s and nothing else", FileName)}
	case len(sources) > 1 && !g.off[CodeMixed]:
		return nil, &Refusal{Code: CodeMixed, Reason: fmt.Sprintf(
			"%s is next to %s", canonjson.Clip(sources[(at+1)%len(sources)].Name), FileName)}
	}
	return g.open(ctx, sources[at].Data)
}

func (g *Gate) open(ctx context.Context, raw []byte) (*Push, error) {
	e, err := DecodeEnvelope(raw)
	if err != nil {
		return nil, err
	}
	return verify(ctx, g.cfg.Roots, e, raw, g.off)
}

// Open verifies and parses a push. It cannot check what needs the state and the clock of a host. Errors are
// *Refusal.
func (r *Roots) Open(ctx context.Context, raw []byte) (*Push, error) {
	e, err := DecodeEnvelope(raw)
	if err != nil {
		return nil, err
	}
	return verify(ctx, r, e, raw, nil)
}

// verify verifies the signatures before it parses the payload.
func verify(ctx context.Context, roots *Roots, e *Envelope, raw []byte, off skippedChecks) (*Push, error) {
	if e.PayloadType != PayloadType && !off[CodeType] {
		return nil, &Refusal{Code: CodeType, Reason: fmt.Sprintf(
			"the payload is %q, but that of a push is %q", canonjson.Clip(e.PayloadType), PayloadType)}
	}
	signers, err := roots.Signers(ctx, e)
	if err != nil && !off[CodeSignature] {
		return nil, err
	}
	if err := roots.Require(RolePolicy, signers); err != nil && !off[CodeThreshold] {
		return nil, err
	}
	p, err := read(e, raw, off)
	if err != nil {
		return nil, err
	}
	p.Signers = signers
	if err := roots.Meant(p.Audience); err != nil && !off[CodeAudience] {
		return nil, err
	}
	if err := roots.checkExceptions(p); err != nil && !off[CodeException] {
		return nil, err
	}
	return p, nil
}

// Admit returns nil if an opened push may come into force now, after the pushes accepted before. previous is
// the set that it replaces, or nil. Admit stores nothing. Errors are *Refusal.
func (g *Gate) Admit(ctx context.Context, p *Push, previous *profiles.Set, now time.Time) error {
	m := g.cfg.Ledger.read()
	if err := g.checkTimes(p, m, now); err != nil {
		return err
	}
	if m.Sequence > 0 {
		if err := g.checkOrder(p, m); err != nil {
			return err
		}
	}
	return g.guard(ctx, p, previous)
}

func (g *Gate) guard(ctx context.Context, p *Push, previous *profiles.Set) error {
	if g.cfg.Guardrails == nil || g.off[CodeGuardrail] {
		return nil
	}
	err := g.cfg.Guardrails(ctx, p, previous)
	var refused *Refusal
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return &Refusal{Code: CodeGuardrail, Reason: "the guardrails could not be evaluated: " + err.Error(), Later: true}
}

// checkTimes checks the times of a push. It checks the clock first, because all other checks need it. If the
// clock went back a little, the latest time seen counts instead.
func (g *Gate) checkTimes(p *Push, m ledgerState, now time.Time) error {
	if err := g.clock(m, now); err != nil {
		return err
	}
	switch now = later(m.Seen, now); {
	case p.Issued.After(now.Add(Skew)) && !g.off[CodeClock]:
		return &Refusal{Code: CodeClock, Later: true, Reason: fmt.Sprintf(
			"it is issued at %s, which is in the future of this host: check both clocks", stamp(p.Issued))}
	case !now.Before(p.Expires) && !g.off[CodeExpired]:
		return expired(p)
	}
	return nil
}

func expired(p *Push) *Refusal {
	return &Refusal{Code: CodeExpired, Reason: fmt.Sprintf("push %d has expired at %s; sign a new one", p.Sequence,
		stamp(p.Expires))}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (g *Gate) clock(m ledgerState, now time.Time) error {
	if !m.Seen.IsZero() && now.Round(0).Before(m.Seen.Add(-Skew)) && !g.off[CodeClock] {
		return &Refusal{Code: CodeClock, Later: true, Reason: fmt.Sprintf(
			"clock_back: the clock of this host says %s and was at %s before: set it right, or, if it is right now "+
				"and was ahead then, ringd clock --accept-time --reason TEXT", stamp(now),
			stamp(m.Seen.Truncate(time.Second)))}
	}
	return nil
}

// checkOrder compares a push with the last accepted one.
func (g *Gate) checkOrder(p *Push, m ledgerState) error {
	switch {
	case p.Digest == m.Digest:
		return nil
	case p.Sequence < m.Sequence && !g.off[CodeReplayed]:
		return &Refusal{Code: CodeReplayed, Reason: fmt.Sprintf(
			"its sequence is %d, and %d was accepted", p.Sequence, m.Sequence)}
	case p.Sequence == m.Sequence && !g.off[CodeEquivocated]:
		return &Refusal{Code: CodeEquivocated, Reason: fmt.Sprintf(
			"another push with sequence %d was accepted: find out who signed two", p.Sequence)}
	}
	next := p.Sequence == m.Sequence+1
	if p.Previous != m.Revision && (next || g.cfg.InOrder) && !g.off[CodePrevious] {
		why := fmt.Sprintf("it is made on top of %s, and %s was accepted last: sign it on top of that",
			named(p.Previous), m.Revision)
		if !next {
			why = fmt.Sprintf("its sequence is %d, and %d was accepted last: the pushes between are missing",
				p.Sequence, m.Sequence)
		}
		return &Refusal{Code: CodePrevious, Reason: why}
	}
	if slices.Contains(m.History, p.Revision) && p.Revision != m.Revision && !p.Rollback && !g.off[CodeRolledBack] {
		return &Refusal{Code: CodeRolledBack, Reason: fmt.Sprintf(
			"revision %s was in force before: sign that with ringd rollback, with a reason", p.Revision)}
	}
	return nil
}

func named(revision string) string {
	if revision == "" {
		return "nothing"
	}
	return revision
}

// Accept stores an admitted push as the last accepted one, durably. From then on older ones are refused, even
// if the process ends at once. It is called before the push comes into force.
func (g *Gate) Accept(p *Push, now time.Time) error { return g.cfg.Ledger.accept(p, now) }

// Hold verifies a push that was accepted before a restart, with the current roots. Only the last accepted
// push passes. Errors are *Refusal.
func (g *Gate) Hold(ctx context.Context, raw []byte, now time.Time) (*Push, error) {
	if _, err := profiles.DecodeSet(raw); err == nil {
		return nil, &Refusal{Code: CodeUnsigned, Reason: "the push in force has no signature: it is older than the " +
			"trust roots"}
	}
	p, err := g.open(ctx, raw)
	if err != nil {
		return nil, err
	}
	m := g.cfg.Ledger.read()
	if err := g.checkTimes(p, m, now); err != nil {
		return nil, err
	}
	if p.Digest != m.Digest && !g.off[CodeReplayed] {
		return nil, &Refusal{Code: CodeReplayed, Reason: fmt.Sprintf(
			"push %d is stored, but %d was accepted last", p.Sequence, m.Sequence)}
	}
	return p, g.guard(ctx, p, p.Policy) // the newest push, so there is no other previous set
}

// Last returns the set of the last accepted push from its envelope, for comparison. It verifies neither
// signatures nor times, which may have expired since. Errors are *Refusal.
func (g *Gate) Last(raw []byte) (*profiles.Set, error) {
	p, _, err := Peek(raw)
	if err != nil {
		return nil, err
	}
	if m := g.cfg.Ledger.read(); p.Digest != m.Digest {
		return nil, &Refusal{Code: CodeReplayed, Reason: fmt.Sprintf(
			"push %d is stored, but %d was accepted last", p.Sequence, m.Sequence)}
	}
	return p.Policy, nil
}

// Expired returns an error if the time of a push has passed. The clock may have gone back since.
func (g *Gate) Expired(p *Push, now time.Time) error {
	if now = later(g.cfg.Ledger.read().Seen, now); now.Before(p.Expires) {
		return nil
	}
	return expired(p)
}

// Overdue is Expired for a push in force. Once it has expired, a clock that is set back does not make it
// valid again, even after a restart. unkept is the error of storing that.
func (g *Gate) Overdue(p *Push, now time.Time) (expired, unkept error) {
	if expired = g.Expired(p, now); expired == nil {
		return nil, nil
	}
	if seen := g.cfg.Ledger.read().Seen; seen.Before(p.Expires) || g.cfg.Ledger.owed() {
		unkept = g.cfg.Ledger.seen(now)
	}
	return expired, unkept
}

// AcceptTime makes now the latest time seen; see [Ledger.AcceptTime].
func (g *Gate) AcceptTime(now time.Time) (before time.Time, err error) {
	return g.cfg.Ledger.AcceptTime(now)
}

// LastSeen returns the latest time seen.
func (g *Gate) LastSeen() time.Time { return g.cfg.Ledger.LastSeen() }

// Seen stores the time, so that no clock can go back before it. A clock that did is a *Refusal; other errors
// are faults.
func (g *Gate) Seen(now time.Time) error {
	if err := g.clock(g.cfg.Ledger.read(), now); err != nil {
		return err
	}
	return g.cfg.Ledger.seen(now)
}

// Timely checks the times of a push for a caller without the state of a host. Errors are *Refusal.
func Timely(p *Push, now time.Time) error { return (&Gate{}).checkTimes(p, ledgerState{}, now) }
