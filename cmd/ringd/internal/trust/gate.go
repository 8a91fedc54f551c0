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

// Skew is how far the clocks of a host and of who signs may be apart.
const Skew = 5 * time.Minute

// Config is what a gate is made of.
type Config struct {
	Roots  *Roots
	Ledger *Ledger
	// InOrder refuses a push when the host has missed those before it. Else a push
	// that skips a sequence is taken: a set is whole, whatever came before.
	InOrder bool
	// Guardrails evaluates what the set says of itself, and of what was in force before;
	// previous nil: nothing was. Nil: nothing does. An error that is no *Refusal is for
	// one that could not be evaluated.
	Guardrails func(ctx context.Context, p *Push, previous *profiles.Set) error
}

// Gate decides which pushes a host takes. It is safe for concurrent use.
type Gate struct {
	cfg Config
	off without
}

// without are checks that a test has taken away.
type without map[Code]bool

// NewGate refuses a configuration without roots or ledger.
func NewGate(cfg Config) (*Gate, error) {
	if cfg.Roots == nil || cfg.Ledger == nil {
		return nil, errors.New("trust config: Roots and Ledger are required")
	}
	return &Gate{cfg: cfg}, nil
}

// Open verifies what a sync folder holds: the one file, who signed it, and that what
// they signed is whole. It knows no time and nothing of other pushes. Errors are
// *Refusal, or of ctx.
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

// Open reads a push and verifies it by the roots; what it cannot know is the host's
// memory and clock. Errors are *Refusal.
func (r *Roots) Open(ctx context.Context, raw []byte) (*Push, error) {
	e, err := DecodeEnvelope(raw)
	if err != nil {
		return nil, err
	}
	return verify(ctx, r, e, raw, nil)
}

// verify verifies the signatures, and only then reads what they are for.
func verify(ctx context.Context, roots *Roots, e *Envelope, raw []byte, off without) (*Push, error) {
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
	if err := roots.exceptions(p); err != nil && !off[CodeException] {
		return nil, err
	}
	return p, nil
}

// Admit says whether an opened push may take force at a time, on top of what was
// accepted before. previous is the set that it would take the place of; nil: there was
// none. Nothing is written. Errors are *Refusal.
func (g *Gate) Admit(ctx context.Context, p *Push, previous *profiles.Set, now time.Time) error {
	m := g.cfg.Ledger.read()
	if err := g.timely(p, m, now); err != nil {
		return err
	}
	if m.Sequence > 0 {
		if err := g.follows(p, m); err != nil {
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

// timely checks the clock first, since every other time is read off it. A clock that
// went back a little is taken for the latest time that was seen.
func (g *Gate) timely(p *Push, m memory, now time.Time) error {
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

func (g *Gate) clock(m memory, now time.Time) error {
	if !m.Seen.IsZero() && now.Round(0).Before(m.Seen.Add(-Skew)) && !g.off[CodeClock] {
		return &Refusal{Code: CodeClock, Later: true, Reason: fmt.Sprintf(
			"clock_back: the clock of this host says %s and was at %s before: set it right, or, if it is right now "+
				"and was ahead then, ringd clock --accept-time --reason TEXT", stamp(now),
			stamp(m.Seen.Truncate(time.Second)))}
	}
	return nil
}

// follows checks a push against the last accepted one.
func (g *Gate) follows(p *Push, m memory) error {
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

// Accept notes an admitted push as the last accepted one, durably. From then on
// nothing older is taken, also when the process ends the moment after. It is called
// before the push takes force.
func (g *Gate) Accept(p *Push, now time.Time) error { return g.cfg.Ledger.accept(p, now) }

// Hold verifies again, by the roots in force now, a push that was accepted before a
// restart. One that is not the last accepted is refused. Errors are *Refusal.
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
	if err := g.timely(p, m, now); err != nil {
		return nil, err
	}
	if p.Digest != m.Digest && !g.off[CodeReplayed] {
		return nil, &Refusal{Code: CodeReplayed, Reason: fmt.Sprintf(
			"push %d is stored, but %d was accepted last", p.Sequence, m.Sequence)}
	}
	return p, g.guard(ctx, p, p.Policy) // nothing came after it
}

// Last is the set of the push that was accepted last, from its envelope. It says
// what was in force, for comparison: neither signatures nor times are looked at, which
// may have ended since. Errors are *Refusal.
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

// Expired says that the time of a push has passed. The clock may have gone back since.
func (g *Gate) Expired(p *Push, now time.Time) error {
	if now = later(g.cfg.Ledger.read().Seen, now); now.Before(p.Expires) {
		return nil
	}
	return expired(p)
}

// Overdue is Expired for a push that is in force: from its first time on no clock that
// is set back makes the push hold again, also after a restart. unkept is why that could
// not be written.
func (g *Gate) Overdue(p *Push, now time.Time) (expired, unkept error) {
	if expired = g.Expired(p, now); expired == nil {
		return nil, nil
	}
	if seen := g.cfg.Ledger.read().Seen; seen.Before(p.Expires) || g.cfg.Ledger.owed() {
		unkept = g.cfg.Ledger.seen(now)
	}
	return expired, unkept
}

// AcceptTime makes now the latest time seen; see Ledger.AcceptTime.
func (g *Gate) AcceptTime(now time.Time) (before time.Time, err error) {
	return g.cfg.Ledger.AcceptTime(now)
}

// LastSeen is the latest time that was seen.
func (g *Gate) LastSeen() time.Time { return g.cfg.Ledger.LastSeen() }

// Seen notes the time, so that no clock can go back behind it. A clock that did is a
// *Refusal; other errors are faults.
func (g *Gate) Seen(now time.Time) error {
	if err := g.clock(g.cfg.Ledger.read(), now); err != nil {
		return err
	}
	return g.cfg.Ledger.seen(now)
}

// Timely says whether a push holds at a time, for who knows no host's memory. Errors
// are *Refusal.
func Timely(p *Push, now time.Time) error { return (&Gate{}).timely(p, memory{}, now) }
