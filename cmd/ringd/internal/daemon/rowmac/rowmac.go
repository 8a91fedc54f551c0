// Package rowmac owns the MACs of rows in the store. They tell the rows that this daemon wrote from rows that
// another process wrote into its database.
//
// The record of a waiting run is sealed. Later events of its calls are only rows: the calls, the verdicts of
// approvers, the answers of the harness and the results of acts. Each row carries a MAC made with
// the key of the records. The daemon and package waiting check it before they act on a row, or show it to an
// approver. A MAC does not keep an older row from being put back.
package rowmac

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
)

// Marker makes and checks MACs; *seal.Keyring is one.
type Marker interface {
	Mark(purpose string, parts ...[]byte) []byte
	Check(mark []byte, purpose string, parts ...[]byte) error
}

// Kinds of rows. The *seal.IntegrityError of a wrong MAC has the kind as its field.
const (
	ofCall     = "call"
	ofApproval = "approval"
	ofAnswer   = "answer"
	ofResult   = "result"
)

// Call returns the MAC of an opened call. It covers the owner of the call, the arguments, and the terms of an
// approval.
func Call(m Marker, c store.Call) []byte { return m.Mark(ofCall, callParts(c)...) }

func callParts(c store.Call) [][]byte {
	first := c.For
	if c.Needs > 0 { // the owners at the time of the call
		first = store.ByApprover
	}
	return texts(c.Run, c.ID, c.Bridge, c.ArgsDigest, string(first), string(c.Acts), strings.Join(c.From, "\x00"),
		strconv.Itoa(len(c.From)), strconv.FormatInt(c.Needs, 10), micros(c.Expires))
}

func texts(list ...string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func micros(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

// CheckCall refuses a call whose row is not the one that was opened, or whose arguments do not have its
// digest. Errors are those of Marker.
func CheckCall(m Marker, c store.Call) error {
	if profiles.Digest(c.Args) != c.ArgsDigest {
		return fmt.Errorf("the arguments of call %s: %w", c.ID, &seal.IntegrityError{Field: ofCall})
	}
	return CheckMark(m, c)
}

// CheckMark is CheckCall for a row whose arguments were not read. The MAC covers their digest.
func CheckMark(m Marker, c store.Call) error {
	if err := m.Check(c.Mark, ofCall, callParts(c)...); err != nil {
		return fmt.Errorf("call %s: %w", c.ID, err)
	}
	return nil
}

// Approval returns the MAC of an approver's verdict.
func Approval(m Marker, a store.Approval) []byte { return m.Mark(ofApproval, approvalParts(a)...) }

func approvalParts(a store.Approval) [][]byte {
	return texts(a.Run, a.Call, a.By, a.As, string(a.Verdict), a.Reason, a.Digest, micros(a.At))
}

// Terms are the conditions of an approval of a call.
type Terms struct {
	Run, Call string
	Actor     string // owner of the run, who may not approve
	Digest    string // of the arguments
	From      []string
	Count     int64
	Expires   time.Time
}

// termsOf returns the terms in a row that CheckCall has accepted.
func termsOf(row store.Run, c store.Call) Terms {
	return Terms{
		Run:     c.Run,
		Call:    c.ID,
		Actor:   row.Actor,
		Digest:  c.ArgsDigest,
		From:    c.From,
		Count:   max(c.Needs, 1),
		Expires: c.Expires,
	}
}

// Verdict computes the verdict of the given approvals under the terms of a call. It returns the approval that
// decided, or one without a verdict if more are needed. An approval with a wrong MAC, or one that does not
// fit the terms, is an error, because the daemon stores no such approval.
func Verdict(m Marker, t Terms, words []store.Approval) (store.Approval, error) {
	var last store.Approval
	heard := map[string]bool{}
	for _, w := range words {
		if w.Call != t.Call {
			continue
		}
		if err := m.Check(w.Mark, ofApproval, approvalParts(w)...); err != nil {
			return store.Approval{}, fmt.Errorf("the approval of %s for call %s: %w", w.By, t.Call, err)
		}
		late := !t.Expires.IsZero() && !w.At.Before(t.Expires)
		if w.Run != t.Run || w.Digest != t.Digest || w.By == t.Actor || late ||
			len(t.From) > 0 && !slices.Contains(t.From, w.As) {
			return store.Approval{}, fmt.Errorf(
				"the approval of %s for call %s: %w",
				w.By,
				t.Call,
				&seal.IntegrityError{Field: ofApproval},
			)
		}
		switch w.Verdict {
		case store.Deny:
			return w, nil
		case store.Allow:
			heard[w.By] = true
			last = w
		default:
			return store.Approval{}, fmt.Errorf(
				"the approval of %s for call %s: %w",
				w.By,
				t.Call,
				&seal.IntegrityError{Field: ofApproval},
			)
		}
	}
	if int64(len(heard)) < max(t.Count, 1) {
		return store.Approval{}, nil
	}
	return last, nil
}

// CheckVerdict refuses a call whose row has another verdict than its approvals. The call must have passed
// CheckCall.
func CheckVerdict(m Marker, row store.Run, c store.Call, words []store.Approval) error {
	if c.Needs == 0 {
		return nil
	}
	word, err := Verdict(m, termsOf(row, c), words)
	if err == nil && word.Verdict != c.Verdict {
		err = fmt.Errorf("the verdict on call %s: %w", c.ID, &seal.IntegrityError{Field: ofApproval})
	}
	if err == nil && c.For == store.ByHarness && word.Verdict != store.Allow {
		err = fmt.Errorf("call %s: %w", c.ID, &seal.IntegrityError{Field: ofCall})
	}
	return err
}

// textWithMAC is a text in a row, with its MAC.
type textWithMAC struct {
	Body json.RawMessage `json:"body"`
	Mark []byte          `json:"mark"`
}

// Answer returns body with its MAC, as the text for the row of an answered call. body is JSON.
func Answer(m Marker, run, call, digest, by string, body []byte) ([]byte, error) {
	return withMAC(m, ofAnswer, body, run, call, digest, by)
}

// OpenAnswer checks the MAC of a text that Answer returned, and returns its body.
func OpenAnswer(m Marker, run, call, digest, by string, row []byte) ([]byte, error) {
	return checkMAC(m, ofAnswer, row, run, call, digest, by)
}

// Result returns end with its MAC, as the text for the row of a call. end is JSON that says how the call
// ended.
func Result(m Marker, run, call string, end []byte) ([]byte, error) {
	return withMAC(m, ofResult, end, run, call)
}

// OpenResult checks the MAC of a text that Result returned, and returns its end.
func OpenResult(m Marker, run, call string, row []byte) ([]byte, error) {
	return checkMAC(m, ofResult, row, run, call)
}

func withMAC(m Marker, purpose string, body []byte, about ...string) ([]byte, error) {
	// The MAC covers the encoding as it will be read: an encoder may change a text.
	text, err := json.Marshal(json.RawMessage(body))
	if err != nil {
		return nil, fmt.Errorf("mark the %s: %w", purpose, err)
	}
	return json.Marshal(textWithMAC{text, m.Mark(purpose, append(texts(about...), text)...)})
}

func checkMAC(m Marker, purpose string, row []byte, about ...string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(row))
	d.DisallowUnknownFields()
	var w textWithMAC
	if err := d.Decode(&w); err != nil {
		return nil, &seal.IntegrityError{Field: purpose}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &seal.IntegrityError{Field: purpose}
	}
	if err := m.Check(w.Mark, purpose, append(texts(about...), w.Body)...); err != nil {
		return nil, err
	}
	return w.Body, nil
}
