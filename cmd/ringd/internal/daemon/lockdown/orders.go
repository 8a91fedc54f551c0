// This file owns signed lockdown orders: lockdown.dsse.json in the sync folder.
//
// An order is looked at by itself, before and beside the push: a push that is bad,
// missing or under way keeps no order from being obeyed. It refuses what is not signed
// by the role `lockdown` of the trust roots, byte for byte as New makes it, out of its
// time, or older than what was obeyed. The lock obeys; a refusal is in status and on
// record. The verb lockdown makes orders with New.

package lockdown

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/schema/wire"
)

// PayloadType is that of an order.
const PayloadType = "application/vnd.ringd.lockdown+json"

// maxBytes bounds the file.
const maxBytes = 64 << 10

// OrderLimits are how a syncer reads the order of a folder, whatever else is there.
func OrderLimits() syncer.Limits {
	return syncer.Limits{Only: trust.LockdownFile, Others: true, FileBytes: maxBytes, TotalBytes: maxBytes}
}

// SignOrder makes the envelope of an order, signed by keys.
func SignOrder(ctx context.Context, o Order, keys ...ed25519.PrivateKey) (*trust.Envelope, error) {
	o.Type = OrderType
	payload, err := encode(o)
	if err != nil {
		return nil, fmt.Errorf("sign order: %w", err)
	}
	e := &trust.Envelope{PayloadType: PayloadType, Payload: payload}
	return e, e.Sign(ctx, keys...)
}

// encode checks an order and returns its canonical bytes.
func encode(o Order) ([]byte, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	switch {
	case o.Audience != "" && !trust.IsAudience(o.Audience):
		return nil, errors.New("audience has to be a short name in lower-case letters, digits, dots and dashes")
	case !trust.IsTime(o.Issued) || !trust.IsTime(o.Expires):
		return nil, errors.New("issued and expires have to be UTC times in whole seconds")
	case o.Sequence > canonjson.MaxExact:
		return nil, errors.New("sequence is too large")
	case !trust.IsLine(o.Issuer) || !trust.IsLine(o.Reason):
		return nil, errors.New("issuer and reason have to be lines of text")
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return profiles.Canonical(raw)
}

// OpenOrder verifies an order by the roots, and only then reads it. What it cannot know is
// the host's memory and clock. Errors are *trust.Refusal.
func OpenOrder(ctx context.Context, roots *trust.Roots, raw []byte) (Order, []trust.Signer, error) {
	var o Order
	e, err := trust.DecodeEnvelope(raw)
	if err != nil {
		return o, nil, err
	}
	signers, err := roots.Verify(ctx, e, PayloadType, trust.RoleLockdown)
	if err != nil {
		return o, nil, err
	}
	if o, err = trust.Exactly(e.Payload, encode); err != nil {
		return Order{}, nil, &trust.Refusal{Code: trust.CodeMalformed, Reason: "order: " + err.Error()}
	}
	if err := roots.Meant(o.Audience); err != nil {
		return Order{}, nil, err
	}
	if o.State == wire.LockdownLift {
		if err := roots.RequireLift(signers); err != nil {
			return Order{}, nil, err
		}
	}
	return o, signers, nil
}
