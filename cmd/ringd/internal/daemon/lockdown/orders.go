// Signed lockdown orders: lockdown.dsse.json in the sync folder.
//
// An order is handled apart from the push: a push that is bad, missing or in progress does not delay it. An
// order is refused if the role `lockdown` of the trust roots has not signed it, if it is not byte for byte as
// [SignOrder] makes it, if it is outside of its time, or if it is older than the last one carried out. The
// lock carries out orders. The status and the log have refusals. The command lockdown makes orders with
// [SignOrder].

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

// PayloadType is the DSSE payload type of an order.
const PayloadType = "application/vnd.ringd.lockdown+json"

// maxBytes limits the size of the file.
const maxBytes = 64 << 10

// OrderLimits returns the limits with which a syncer reads only the order of a folder.
func OrderLimits() syncer.Limits {
	return syncer.Limits{Only: trust.LockdownFile, Others: true, FileBytes: maxBytes, TotalBytes: maxBytes}
}

// SignOrder returns the envelope of an order, signed with keys.
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

// OpenOrder verifies an order with the roots before it parses it. The caller checks sequence and time, which
// need the state and the clock of the host. Errors are *trust.Refusal.
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
