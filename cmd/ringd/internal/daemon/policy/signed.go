package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// candidate is a push that is being applied.
type candidate struct {
	syncer.Push
	signed   *trust.Push // nil if its sources were compiled
	set      *profiles.Set
	findings schema.Diagnostics
}

// sameSigned reports whether g has the same statement as p, signed by the same keys.
func (g *Generation) sameSigned(p *trust.Push) bool {
	if g.Signed == nil || p == nil {
		return g.Signed == nil && p == nil
	}
	return g.Signed.Digest == p.Digest &&
		slices.EqualFunc(g.Signed.Signers, p.Signers, func(a, b trust.Signer) bool { return a.Key == b.Key })
}

// signedDetail returns the details of a signed push for its record.
func signedDetail(p *trust.Push) map[string]string {
	if p == nil {
		return nil
	}
	keys := make([]string, len(p.Signers))
	for i, s := range p.Signers {
		keys[i] = s.Key
	}
	out := map[string]string{"sequence": fmt.Sprint(p.Sequence), "issuer": p.Issuer, "signers": strings.Join(keys, " "),
		"issued": p.Issued.Format(time.RFC3339), "expires": p.Expires.Format(time.RFC3339), "previous": p.Previous}
	if p.Audience != "" {
		out["audience"] = p.Audience
	}
	if p.Reason != "" {
		out["reason"] = p.Reason
	}
	return out
}

// withoutSet returns the part of a push that a generation keeps, without a second copy of the set.
func withoutSet(p *trust.Push) *trust.Push {
	if p == nil {
		return nil
	}
	out := *p
	out.Set, out.Raw, out.Policy = nil, nil, nil
	return &out
}

// timeStore stores the latest time that a host has seen.
type timeStore interface {
	AcceptTime(now time.Time) (before time.Time, err error)
	LastSeen() time.Time
}

// maxReason limits the reason of AcceptTime, in bytes.
const maxReason = 2000

// AcceptTime is [application.AcceptTime] for a caller that has only the state folder.
func AcceptTime(
	ctx context.Context,
	log *records.Recorder,
	s timeStore,
	rec audit.Record,
	now wire.Clock,
	actor, reason string,
) (wire.Clock, error) {
	now.Now = now.Now.UTC().Truncate(time.Second)
	now.Before = s.LastSeen().UTC()
	switch {
	case strings.TrimSpace(reason) == "" || len(reason) > maxReason:
		return now, &InvalidError{"reason", fmt.Sprintf("it is required, with at most %d bytes", maxReason)}
	case !now.Before.After(now.Now):
		return now, nil // the clock is not behind
	}
	rec.Actor = actor
	rec.Detail = map[string]string{
		"reason": reason,
		"before": now.Before.Format(time.RFC3339),
		"now":    now.Now.Format(time.RFC3339),
	}
	if _, err := log.Append(ctx, rec, audit.Synced); err != nil {
		return now, err
	}
	if _, err := s.AcceptTime(now.Now); err != nil {
		return now, fmt.Errorf("%w: %w", records.ErrUnavailable, err)
	}
	now.Accepted = true
	return now, nil
}

// refusalOf returns why the content of a folder is no signed push, from the error of the syncer.
func refusalOf(err error) *trust.Refusal {
	code := trust.CodeFile
	for _, k := range []struct {
		err  error
		code trust.Code
	}{
		{syncer.ErrAnother, trust.CodeUnsigned}, {syncer.ErrEmpty, trust.CodeMissing},
		{syncer.ErrTorn, trust.CodeTorn}, {syncer.ErrWriting, trust.CodeTorn},
		{syncer.ErrTooLarge, trust.CodeTooLarge}, {syncer.ErrTooMany, trust.CodeTooLarge},
		{syncer.ErrTooDeep, trust.CodeTooLarge},
	} {
		if errors.Is(err, k.err) {
			code = k.code
			break
		}
	}
	if code == trust.CodeMissing {
		return &trust.Refusal{Code: code, Reason: "the folder is empty"}
	}
	return &trust.Refusal{Code: code, Reason: err.Error()}
}

// signedState returns the status of a signed push.
func signedState(p *trust.Push) *wire.Signed {
	if p == nil {
		return nil
	}
	return &wire.Signed{
		Sequence: p.Sequence,
		Previous: p.Previous,
		Issuer:   p.Issuer,
		Audience: p.Audience,
		Issued:   p.Issued,
		Expires:  p.Expires,
		Reason:   p.Reason,
		Rollback: p.Rollback,
		Signers:  signersOf(p),
	}
}

func signersOf(p *trust.Push) []wire.Signer {
	out := make([]wire.Signer, len(p.Signers))
	for i, s := range p.Signers {
		out[i] = wire.Signer{Key: s.Key, Roles: slices.Clone(s.Roles)}
	}
	return out
}
