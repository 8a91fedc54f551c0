package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Waiting is a call that waits for an approver.
type Waiting struct {
	Run, Call string
	Bridge    string
	Agent     string
	Actor     string // owner of the run
	Digest    string // of the arguments; an approval is bound to it
	From      []string
	Count     int64
	Expires   time.Time
	Args      json.RawMessage // sent only if the operator configured it
}

// ID is the same for every notification about the same call.
func (w Waiting) ID() string { return w.Run + "." + w.Call }

// Teller notifies one receiver. A nil error means that it was received.
type Teller interface {
	Tell(ctx context.Context, w Waiting) error
}

// typeWaiting is the event type in the body.
const typeWaiting = "approval.waiting"

type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	Run     string          `json:"run"`
	Call    string          `json:"call"`
	Bridge  string          `json:"bridge"`
	Agent   string          `json:"agent"`
	Actor   string          `json:"actor"`
	Digest  string          `json:"digest"`
	From    []string        `json:"from"`
	Count   int64           `json:"count"`
	Expires *time.Time      `json:"expires,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
}

// encode returns the body for w. It has the arguments if args is set.
func encode(w Waiting, at time.Time, args bool) ([]byte, error) {
	d := data{
		Run: w.Run, Call: w.Call, Bridge: w.Bridge, Agent: w.Agent, Actor: w.Actor, Digest: w.Digest,
		From: append([]string{}, w.From...), Count: max(w.Count, 1),
	}
	if !w.Expires.IsZero() {
		expires := w.Expires.UTC()
		d.Expires = &expires
	}
	if args {
		d.Args = w.Args
	}
	b, err := json.Marshal(body{typeWaiting, at.UTC(), d})
	if err != nil {
		return nil, fmt.Errorf("encode notification of %s: %w", w.ID(), err)
	}
	return b, nil
}

// maxHeard limits the calls that All remembers because some receivers were notified.
const maxHeard = 1024

// All notifies several receivers. A receiver that was notified of a call is not notified again while others
// are retried, until this process ends. It is safe for concurrent use.
type All struct {
	tellers []Teller

	mu    sync.Mutex
	heard map[string][]bool // by id: receivers that were notified, for calls with a failed receiver
}

// NewAll returns a Teller for several receivers.
func NewAll(tellers ...Teller) *All {
	return &All{tellers: tellers, heard: map[string][]bool{}}
}

// Tell notifies the receivers that were not notified yet. It returns nil when all were.
func (a *All) Tell(ctx context.Context, w Waiting) error {
	known := a.known(w.ID())
	var errs []error
	for i, t := range a.tellers {
		if known[i] {
			continue
		}
		if err := t.Tell(ctx, w); err != nil {
			errs = append(errs, err)
			continue
		}
		known[i] = true
	}
	a.keep(w.ID(), known, len(errs) > 0)
	return errors.Join(errs...)
}

func (a *All) known(id string) []bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := make([]bool, len(a.tellers))
	copy(known, a.heard[id])
	return known
}

func (a *All) keep(id string, known []bool, open bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !open {
		delete(a.heard, id)
		return
	}
	if len(a.heard) >= maxHeard {
		clear(a.heard) // a repeated notification is allowed, unlimited memory is not
	}
	a.heard[id] = known
}
