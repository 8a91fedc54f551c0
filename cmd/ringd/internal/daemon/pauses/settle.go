package pauses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema/wire"
)

// reply is a harness's answer as the store keeps it. Exactly one is set.
type reply struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *string         `json:"error,omitempty"`
}

// Reply is the form in which the store keeps a harness's answer.
func Reply(a wire.Answer) ([]byte, error) {
	out := reply{Value: a.Value}
	if a.Error != nil {
		out = reply{Error: &a.Error.Message}
	}
	return json.Marshal(out)
}

// Settlements says how the open calls of a pause were answered. A call that the
// store does not know as answered has no settlement, and cannot be resumed.
func Settlements(p interpreter.Pause, calls []store.Call) ([]interpreter.Settlement, error) {
	known := make(map[string]store.Call, len(calls))
	for _, c := range calls {
		known[c.ID] = c
	}
	out := make([]interpreter.Settlement, 0, len(p.Calls))
	for _, open := range p.Calls {
		c, ok := known[open.ID]
		if !ok || c.ArgsDigest != open.Digest || c.Bridge != open.Bridge {
			return nil, fmt.Errorf("call %s of run %s: the store has another one under this name", open.ID, p.Run)
		}
		s, err := settlement(c)
		if err != nil {
			return nil, fmt.Errorf("call %s of run %s: %w", c.ID, p.Run, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func settlement(c store.Call) (interpreter.Settlement, error) {
	s := interpreter.Settlement{Call: c.ID, By: cmp.Or(c.RepliedBy, c.DecidedBy)}
	switch c.Verdict {
	case store.Deny:
		s.Denied, s.Reason = true, string(c.Reply)
	case store.Allow:
		s.Approved = true
	}
	switch {
	case c.Result != nil && c.State == store.CallClosed:
		var done interpreter.Recorded
		d := json.NewDecoder(bytes.NewReader(c.Result))
		d.DisallowUnknownFields()
		if err := d.Decode(&done); err != nil {
			return s, fmt.Errorf("read its result: %w", err)
		}
		s.Result = &done
	case c.State == store.CallExecuting:
		s.Again = true
	case s.Denied:
	case c.For == store.ByHarness && c.Reply != nil:
		var r reply
		if err := json.Unmarshal(c.Reply, &r); err != nil {
			return s, fmt.Errorf("read its answer: %w", err)
		}
		s.Value, s.Error = r.Value, r.Error
	}
	return s, nil
}
