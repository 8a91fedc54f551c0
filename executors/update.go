package executors

import (
	"context"
	"fmt"
)

// Update sends new data for the guest's own decisions. It does not wait. The guest reads it before its next
// decision and sends Updated in the run that is under way, in the next one, or to Confirm. It may be called
// during a run.
func (l *Link) Update(m Update) error {
	if err := l.s.Send(m); err != nil {
		return fmt.Errorf("%w: update: %w", ErrGuest, err)
	}
	return nil
}

// Confirm waits until a guest without a run confirms the Update with number seq. On error the guest is killed.
func (l *Link) Confirm(ctx context.Context, seq uint64) (Updated, error) {
	stop := context.AfterFunc(ctx, l.kill)
	u, err := l.confirm(seq)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.kill()
		return Updated{}, err
	}
	return u, nil
}

func (l *Link) confirm(seq uint64) (Updated, error) {
	for {
		m, err := l.s.Read()
		if err != nil {
			return Updated{}, fmt.Errorf("%w: wait for an update: %w", ErrGuest, err)
		}
		u, ok := m.(Updated)
		if !ok || u.Seq > seq {
			return Updated{}, fmt.Errorf("%w: %w: %T where an update is confirmed", ErrGuest, ErrProtocol, m)
		}
		if u.Seq == seq {
			return u, nil
		}
	}
}

// updated handles an Updated that the guest sends while its program runs.
func (r *linkRun) updated(m Updated) error {
	if r.work.Updated == nil {
		return fmt.Errorf("%w: the guest confirmed an update, and it has no profile to update", ErrProtocol)
	}
	if err := r.work.Updated(m); err != nil {
		r.end(causeHost, err)
	}
	return nil
}
