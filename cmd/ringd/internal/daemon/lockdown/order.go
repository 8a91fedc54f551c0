package lockdown

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Order is a lockdown order whose signatures somebody has verified: the payload of
// lockdown.dsse.json.
type Order struct {
	Type     string    `json:"type"`  // ringd.lockdown/v1
	State    string    `json:"state"` // begin | lift
	Sequence int64     `json:"sequence"`
	Issued   time.Time `json:"issued"`
	Expires  time.Time `json:"expires"`
	Issuer   string    `json:"issuer"`
	Audience string    `json:"audience,omitempty"` // the hosts that it is for; "": those without a name
	Reason   string    `json:"reason"`
}

// OrderType is Order.Type.
const OrderType = "ringd.lockdown/v1"

// ahead is by how much the clock of an issuer may be before ours.
const ahead = 5 * time.Minute

// mark is a signed order that was obeyed.
type mark struct {
	sequence int64
	digest   string
}

// obeyed makes an order the last one. mu is held.
func (l *Lock) obeyed(o *mark) {
	if o != nil && o.sequence > l.last.Load().sequence {
		l.last.Store(o)
	}
}

// kept is what the file says of orders. mu is held.
func (l *Lock) kept(state string) kept {
	last := l.last.Load()
	return kept{State: state, Sequence: last.sequence, Order: last.digest, Forgot: l.forgot}
}

// Digest names an order.
func (o Order) Digest() string {
	b, err := json.Marshal(o)
	if err != nil { // a time that is no date, which check refuses
		return ""
	}
	return profiles.Digest(b)
}

// Obeyed reports whether an order is the one that was obeyed last.
func (l *Lock) Obeyed(o Order) bool {
	last := l.last.Load()
	return o.Sequence == last.sequence && (last.digest == "" || last.digest == o.Digest())
}

// Note keeps what became of the signed order that was seen last, for LastOrder.
func (l *Lock) Note(o *wire.Order) { l.shown.Store(o) }

// LastOrder is what became of the signed order that was seen last; nil: none was. It
// must not be changed.
func (l *Lock) LastOrder() *wire.Order {
	if l == nil {
		return nil
	}
	return l.shown.Load()
}

// Obey does what a signed order says, once: the order that was obeyed last does
// nothing, another one of its sequence is ErrEquivocated, an older one ErrReplayed, and
// one out of its time ErrExpired. A lift from before the file could not be read is
// ErrForgotten: it may have been obeyed, and the order that closed again be forgotten.
// Closing waits for no lift that is under way. Other
// errors: *InvalidError, ErrNotLifted. Its caller gives one order at a time.
func (l *Lock) Obey(ctx context.Context, o Order) error {
	if err := o.Check(); err != nil {
		return err
	}
	this, last := &mark{o.Sequence, o.Digest()}, l.last.Load()
	now := l.cfg.Now()
	switch {
	case l.Obeyed(o):
		return nil
	case o.Sequence == last.sequence:
		return ErrEquivocated
	case o.Sequence < last.sequence:
		return ErrReplayed
	case now.Add(ahead).Before(o.Issued):
		return fmt.Errorf(
			"%w: it is issued at %s, in the future of this host: check both clocks",
			ErrExpired,
			o.Issued.UTC().Format(time.RFC3339),
		)
	case !now.Before(o.Expires):
		return fmt.Errorf("%w: it has expired at %s; sign a new one", ErrExpired, o.Expires.UTC().Format(time.RFC3339))
	case o.State == wire.LockdownLift && o.Issued.Before(l.forgot) && l.State() != nil:
		return fmt.Errorf(
			"%w: %s could not be read at %s; sign a new lift with a higher sequence, or lift it with ringd lockdown "+
				"--lift",
			ErrForgotten,
			filepath.Base(l.cfg.File),
			l.forgot.UTC().Format(time.RFC3339),
		)
	}
	by := "signed:" + o.Issuer
	if o.State == wire.LockdownBegin {
		l.begin(ctx, by, o.Reason, this)
		return nil
	}
	if l.State() == nil { // it counts, though nothing is to be lifted
		l.mu.Lock()
		defer l.mu.Unlock()
		before := l.last.Load()
		l.obeyed(this)
		err := bare(write(l.cfg.File, l.kept(stateOpen)))
		if err != nil {
			l.last.Store(before) // and is written at the next look
		}
		return err
	}
	return l.lift(ctx, by, o.Reason, this)
}

// Check says what is wrong with an order, as an *InvalidError.
func (o Order) Check() error {
	switch {
	case o.Type != OrderType:
		return &InvalidError{"type", "want " + OrderType}
	case o.State != wire.LockdownBegin && o.State != wire.LockdownLift:
		return &InvalidError{"state", "want begin or lift"}
	case o.Sequence < 1:
		return &InvalidError{"sequence", "want 1 or more"}
	case o.Issued.IsZero() || !o.Issued.Before(o.Expires):
		return &InvalidError{"expires", "want a time after issued"}
	}
	return check(o.Issuer, o.Reason)
}
