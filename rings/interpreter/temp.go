package interpreter

import (
	"context"
	"encoding/json"
	"errors"
)

var errNotYet = errors.New("this build cannot resume runs")

// Resume goes on with a paused run under its id. TODO: issue 3.
func (r *Ring) Resume(context.Context, Pause, []Settlement) (*Run, error) { return nil, errNotYet }

// Hold makes a paused run live without a guest. TODO: issue 3.
func (r *Ring) Hold(context.Context, Pause) (*Run, error) { return nil, errNotYet }

// CheckReply checks an answer to a paused call. TODO: issue 3.
func (r *Ring) CheckReply(agent, executor, bridge string, value json.RawMessage) error {
	return errNotYet
}

// Approved tells a live run that a call was approved or denied. TODO: issue 3.
func (r *Run) Approved(context.Context, Settlement) error { return errNotYet }

// Revoke takes grants from the run. TODO: issue 3.
func (r *Run) Revoke(ctx context.Context, by string, grants []string) error { return errNotYet }

// Spawned is what the run used of its tree. TODO: issue 3.
func (r *Run) Spawned() Spawned { return Spawned{} }

// Release ends a hold. TODO: issue 3.
func (r *Run) Release() {}

// Err says why a resume did not begin. TODO: issue 3.
func (r *Run) Err() error { return nil }
