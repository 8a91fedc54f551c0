package waiting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/rowmac"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema/wire"
)

// callReply is the answer of a harness as the store keeps it. Exactly one field is set.
type callReply struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *string         `json:"error,omitempty"`
}

// Reply encodes an answer of the actor by, to a call whose arguments have this digest, for the store.
func (k *Keeper) Reply(run, digest, by string, a wire.Answer) ([]byte, error) {
	out := callReply{Value: a.Value}
	if a.Error != nil {
		out = callReply{Error: &a.Error.Message}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return rowmac.Answer(k.cfg.Sealer, run, a.Call, digest, by, body)
}

// CheckCall refuses a row whose call, arguments or verdict this daemon did not write. Neither a person
// nor the harness must be asked about it. Errors are those of seal.
func (k *Keeper) CheckCall(row store.Run, c store.Call, words []store.Approval) error {
	if err := rowmac.CheckCall(k.cfg.Sealer, c); err != nil {
		return err
	}
	return rowmac.CheckVerdict(k.cfg.Sealer, row, c, words)
}

// Settlements returns the answers to the open calls of a pause, from the rows that this daemon wrote and
// under the terms in the record. A call without an answer in the store has an empty settlement, and
// cannot be resumed. Errors are those of seal, and faults.
func (k *Keeper) Settlements(
	p pause.Record,
	calls []store.Call,
	words []store.Approval,
) ([]contract.Settlement, error) {
	known := make(map[string]store.Call, len(calls))
	for _, c := range calls {
		known[c.ID] = c
	}
	out := make([]contract.Settlement, 0, len(p.Calls))
	for i := range p.Calls {
		open := &p.Calls[i]
		c, ok := known[open.ID]
		if !ok || c.ArgsDigest != open.Digest || c.Bridge != open.Bridge {
			return nil, fmt.Errorf(
				"call %s of run %s: the store has a different call with this id: %w",
				open.ID,
				p.Run,
				&seal.IntegrityError{Field: "call"},
			)
		}
		s := contract.Settlement{Call: c.ID, By: c.RepliedBy}
		var err error
		if open.Terms != nil && !open.Approved { // otherwise no approval is needed, or the record has it
			err = k.decided(&s, rowmac.Terms{Run: p.Run, Call: open.ID, Actor: p.Actor, Digest: open.Digest,
				From: open.Terms.From, Count: open.Terms.Count, Expires: open.Terms.Expires}, words)
		}
		if err == nil {
			err = k.settle(&s, c)
		}
		if err != nil {
			return nil, fmt.Errorf("call %s of run %s: %w", c.ID, p.Run, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// decided adds the verdict of the approvers to a settlement.
func (k *Keeper) decided(s *contract.Settlement, t rowmac.Terms, words []store.Approval) error {
	word, err := rowmac.Verdict(k.cfg.Sealer, t, words)
	if err != nil {
		return err
	}
	switch word.Verdict {
	case store.Deny:
		s.Denied, s.Reason, s.By = true, word.Reason, word.By
	case store.Allow:
		s.Approved, s.By = true, cmp.Or(s.By, word.By)
	default: // no approver has decided, whatever the row says
		return &seal.IntegrityError{Field: "approval"}
	}
	return nil
}

// settle adds the state of the row to a settlement: the result of the call, that it was being
// performed, or the answer of the harness.
func (k *Keeper) settle(s *contract.Settlement, c store.Call) error {
	switch {
	case c.Result != nil && c.State == store.CallClosed:
		body, err := rowmac.OpenResult(k.cfg.Sealer, c.Run, c.ID, c.Result)
		if err != nil {
			return err
		}
		var done contract.Recorded
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&done); err != nil {
			return fmt.Errorf("read its result: %w", err)
		}
		s.Result = &done
	case c.State == store.CallExecuting:
		s.Again = true
	case s.Denied:
	case c.For == store.ByHarness && c.Reply != nil:
		body, err := rowmac.OpenAnswer(k.cfg.Sealer, c.Run, c.ID, c.ArgsDigest, c.RepliedBy, c.Reply)
		if err != nil {
			return err
		}
		var r callReply
		if err := json.Unmarshal(body, &r); err != nil {
			return fmt.Errorf("read its answer: %w", err)
		}
		s.Value, s.Error = r.Value, r.Error
	}
	return nil
}
