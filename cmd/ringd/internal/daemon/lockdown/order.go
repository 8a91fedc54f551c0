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

// Order is a lockdown order whose signatures were verified. It is the payload of lockdown.dsse.json.
type Order struct {
	Type     string    `json:"type"`  // ringd.lockdown/v1
	State    string    `json:"state"` // begin | lift
	Sequence int64     `json:"sequence"`
	Issued   time.Time `json:"issued"`
	Expires  time.Time `json:"expires"`
	Issuer   string    `json:"issuer"`
	// names of the hosts that must obey; empty means hosts without a name
	Audience string `json:"audience,omitempty"`
	Reason   string `json:"reason"`
}

// OrderType is the value of Order.Type.
const OrderType = "ringd.lockdown/v1"

// maxClockLead is how far the clock of an issuer may be ahead of this host's.
const maxClockLead = 5 * time.Minute

// mark identifies a signed order that was carried out.
type mark struct {
	sequence int64
	digest   string
}

// setLast makes o the last order. mu is held.
func (l *Lock) setLast(o *mark) {
	if o != nil && o.sequence > l.last.Load().sequence {
		l.last.Store(o)
	}
}

// fileState returns the content of the file for a state. mu is held.
func (l *Lock) fileState(state string) fileState {
	last := l.last.Load()
	return fileState{State: state, Sequence: last.sequence, Order: last.digest, Forgot: l.unreadableAt}
}

// Digest returns the digest that identifies an order.
func (o Order) Digest() string {
	b, err := json.Marshal(o)
	if err != nil { // a time that cannot be encoded, which Check refuses
		return ""
	}
	return profiles.Digest(b)
}

// Obeyed reports whether an order is the last one that was carried out.
func (l *Lock) Obeyed(o Order) bool {
	last := l.last.Load()
	return o.Sequence == last.sequence && (last.digest == "" || last.digest == o.Digest())
}

// Note stores the result of the last signed order that was seen, for [Lock.LastOrder].
func (l *Lock) Note(o *wire.Order) { l.shown.Store(o) }

// LastOrder returns the result of the last signed order that was seen, or nil. It must not be changed.
func (l *Lock) LastOrder() *wire.Order {
	if l == nil {
		return nil
	}
	return l.shown.Load()
}

// Obey carries out a signed order, once. The last order again does nothing. Another order with its sequence
// is ErrEquivocated, an older one ErrReplayed, and one outside of its time ErrExpired. A lift that was issued
// before the file could not be read is ErrForgotten: it may have been carried out already, and a later order
// that started the lockdown again may be lost. A start does not wait for a lift in progress. Other errors:
// *InvalidError, ErrNotLifted. The caller passes one order at a time.
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
	case now.Add(maxClockLead).Before(o.Issued):
		return fmt.Errorf(
			"%w: it is issued at %s, in the future of this host: check both clocks",
			ErrExpired,
			o.Issued.UTC().Format(time.RFC3339),
		)
	case !now.Before(o.Expires):
		return fmt.Errorf("%w: it has expired at %s; sign a new one", ErrExpired, o.Expires.UTC().Format(time.RFC3339))
	case o.State == wire.LockdownLift && o.Issued.Before(l.unreadableAt) && l.State() != nil:
		return fmt.Errorf(
			"%w: %s could not be read at %s; sign a new lift with a higher sequence, or lift it with ringd lockdown "+
				"--lift",
			ErrForgotten,
			filepath.Base(l.cfg.File),
			l.unreadableAt.UTC().Format(time.RFC3339),
		)
	}
	by := "signed:" + o.Issuer
	if o.State == wire.LockdownBegin {
		l.begin(ctx, by, o.Reason, this)
		return nil
	}
	if l.State() == nil { // the order counts although there is no lockdown to lift
		l.mu.Lock()
		defer l.mu.Unlock()
		before := l.last.Load()
		l.setLast(this)
		err := withoutPath(writeState(l.cfg.File, l.fileState(stateOpen)))
		if err != nil {
			l.last.Store(before) // the next check of the folder writes it
		}
		return err
	}
	return l.lift(ctx, by, o.Reason, this)
}

// Check returns an *InvalidError for a bad order.
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
