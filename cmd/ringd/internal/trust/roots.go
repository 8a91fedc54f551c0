package trust

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// Roles that ringd itself requires. Other roles are owners in policies, as in `approvedBy`:
// group:security@acme.example.
const (
	RolePolicy   = "policy"   // signs each push
	RoleLockdown = "lockdown" // signs orders that start or lift a lockdown
)

// Role is the keys of a role, and the number of them that must sign.
type Role struct {
	Keys      []ed25519.PublicKey
	Threshold int // number of different keys, at least 1
}

// Roots holds the keys that a host trusts, by role. It is immutable.
type Roots struct {
	roles map[string]map[string]bool // IDs of keys by role
	need  map[string]int
	keys  map[string]ed25519.PublicKey // by ID

	audience string // of this host; may be empty
	lift     int    // number of signers to lift a lockdown; 0 means as many as for a start
}

// For returns the roots of a host with this audience, which needs lift signers to lift a lockdown. An empty
// audience means none, and lift 0 means as many signers as for a start.
func (r *Roots) For(audience string, lift int) (*Roots, error) {
	if audience != "" && !IsAudience(audience) {
		return nil, errors.New("trust.audience: want a short name in lower-case letters, digits, dots and dashes")
	}
	if need, keys := r.Threshold(RoleLockdown); lift != 0 && (lift < need || lift > keys || keys == 0) {
		return nil, fmt.Errorf("trust.lift: threshold %d: want at least that of the role lockdown, %d, and at most "+
			"the number of its keys, %d", lift, need, keys)
	}
	out := *r
	out.audience, out.lift = audience, lift
	return &out, nil
}

// IsAudience reports whether a text is a valid audience.
func IsAudience(s string) bool {
	return len(s) <= 63 && s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == "" &&
		!strings.ContainsAny(s[:1], ".-")
}

// Audience returns the audience of the host.
func (r *Roots) Audience() string { return r.audience }

// Meant refuses a push for other hosts. The audience of the push and of the host must be equal, or both be
// empty.
func (r *Roots) Meant(audience string) error {
	if audience == r.audience {
		return nil
	}
	says, is := "is for no audience", "this host has none"
	if audience != "" {
		says = "is for the audience " + audience
	}
	if r.audience != "" {
		is = "this host is of " + r.audience
	}
	return &Refusal{Code: CodeAudience, Reason: "it " + says + ", and " + is}
}

// RequireLift refuses too few signers for lifting a lockdown.
func (r *Roots) RequireLift(signers []Signer) error {
	if have := Count(RoleLockdown, signers); have < r.lift {
		return &Refusal{Code: CodeThreshold, Reason: fmt.Sprintf(
			"%d of %d keys of role %s have signed, and a lift needs %d", have, len(r.roles[RoleLockdown]), RoleLockdown,
			r.lift)}
	}
	return nil
}

// NewRoots checks roles. There must be a role policy. A threshold is between one and the number of keys,
// which must be different.
func NewRoots(roles map[string]Role) (*Roots, error) {
	r := &Roots{roles: map[string]map[string]bool{}, need: map[string]int{}, keys: map[string]ed25519.PublicKey{}}
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("trust.roles.%s: "+format, append([]any{name}, args...)...))
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role, ids := roles[name], map[string]bool{}
		if !isRole(name) {
			bad(name, "want policy, lockdown, or an owner such as group:security@acme.example")
		}
		for _, k := range role.Keys {
			if len(k) != ed25519.PublicKeySize {
				bad(name, "a key is not Ed25519")
				continue
			}
			if isSmallOrder(k) {
				bad(name, "key %s is not a safe key: anyone can forge its signatures", KeyID(k))
				continue
			}
			id := KeyID(k)
			if ids[id] {
				bad(name, "key %s is listed twice", id)
			}
			ids[id], r.keys[id] = true, k
		}
		if role.Threshold < 1 || role.Threshold > len(ids) {
			bad(name, "threshold %d: want at least 1 and at most the number of keys, %d", role.Threshold, len(ids))
		}
		r.roles[name], r.need[name] = ids, role.Threshold
	}
	if _, ok := roles[RolePolicy]; !ok {
		errs = append(errs, errors.New("trust.roles: the role policy is missing, so no push could be signed"))
	}
	return r, errors.Join(errs...)
}

// isSmallOrder reports whether a key is a point of small order, for which signatures can be made without a private
// key.
func isSmallOrder(k ed25519.PublicKey) bool {
	y := slices.Clone(k)
	y[31] &= 0x7f // sign bit of x
	return slices.Contains([]string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	}, hex.EncodeToString(y))
}

func isRole(name string) bool {
	if name == RolePolicy || name == RoleLockdown {
		return true
	}
	kind, who, _ := strings.Cut(name, ":")
	return (kind == "user" || kind == "group" || kind == "team") && who != "" && isText(name) &&
		!strings.Contains(name, " ")
}

// Names returns the roles, sorted.
func (r *Roots) Names() []string { return slices.Sorted(maps.Keys(r.roles)) }

// Signers verifies the signatures of an envelope and returns the keys with a valid signature, each once, by
// ID. Invalid signatures are ignored. If there is no valid one, it returns a *Refusal.
func (r *Roots) Signers(ctx context.Context, e *Envelope) ([]Signer, error) {
	all := make([]dsse.Verifier, 0, len(r.keys))
	for _, id := range slices.Sorted(maps.Keys(r.keys)) {
		all = append(all, verifier{r.keys[id], id})
	}
	none := &Refusal{Code: CodeSignature, Reason: fmt.Sprintf(
		"none of its %d signatures is by a key of the trust roots", len(e.Signatures))}
	if len(e.Signatures) == 0 {
		none.Reason = "it has no signature"
	}
	by, err := dsse.NewEnvelopeVerifier(all...)
	if err != nil {
		return nil, none
	}
	tried, err := r.prune(e)
	if err != nil {
		return nil, err
	}
	accepted, err := by.Verify(ctx, tried.dsse())
	if err != nil || len(accepted) == 0 {
		return nil, none
	}
	held := map[string]bool{}
	for _, k := range accepted {
		held[k.KeyID] = true
	}
	var out []Signer
	for _, id := range slices.Sorted(maps.Keys(held)) {
		s := Signer{Key: id, Roles: []string{}}
		for _, name := range r.Names() {
			if r.roles[name][id] {
				s.Roles = append(s.Roles, name)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// maxNameless limits the bytes that are hashed for signatures that name no key. Each is tried with every key,
// and a writer of the sync folder needs no key to put 64 of them on 36 MiB.
const maxNameless = 512 << 20

// prune removes the signatures that need not be verified: signatures that name an unknown key, and repeated
// signatures of one key. If too many signatures name no key, it returns a *Refusal.
func (r *Roots) prune(e *Envelope) (*Envelope, error) {
	out := &Envelope{PayloadType: e.PayloadType, Payload: e.Payload}
	named, nameless := map[string]bool{}, 0
	for _, s := range e.Signatures {
		switch {
		case s.KeyID == "":
			nameless++
		case r.keys[s.KeyID] == nil || named[s.KeyID]:
			continue
		}
		named[s.KeyID] = true
		out.Signatures = append(out.Signatures, s)
	}
	if n := nameless * len(r.keys); n > len(r.keys) && n > maxNameless/max(len(e.Payload), 1) {
		return nil, &Refusal{Code: CodeTooLarge, Reason: fmt.Sprintf(
			"%d signatures name no key, and trying %d keys with each on %d bytes takes too long: sign with ringd "+
				"sign, which names them", nameless, len(r.keys), len(e.Payload))}
	}
	return out, nil
}

// Require refuses too few signers in a role, and an unknown role.
func (r *Roots) Require(role string, signers []Signer) error {
	need, ok := r.need[role]
	if !ok {
		return &Refusal{Code: CodeThreshold, Reason: fmt.Sprintf("the trust roots have no keys for %s", role)}
	}
	if have := Count(role, signers); have < need {
		return &Refusal{Code: CodeThreshold, Reason: fmt.Sprintf(
			"%d of %d keys of role %s have signed, it needs %d", have, len(r.roles[role]), role, need)}
	}
	return nil
}

// Threshold returns the number of keys that a role needs, and the number it has. Both are 0 for an unknown
// role.
func (r *Roots) Threshold(role string) (need, keys int) { return r.need[role], len(r.roles[role]) }

// Count returns how many signers have a role.
func Count(role string, signers []Signer) int {
	n := 0
	for _, s := range signers {
		if slices.Contains(s.Roles, role) {
			n++
		}
	}
	return n
}

// Verify verifies an envelope for a payload type and a role, and returns the signers. The payload may be
// parsed afterwards. Errors are *Refusal.
func (r *Roots) Verify(ctx context.Context, e *Envelope, payloadType, role string) ([]Signer, error) {
	if e.PayloadType != payloadType {
		return nil, &Refusal{Code: CodeType, Reason: fmt.Sprintf("the payload is not %q", payloadType)}
	}
	signers, err := r.Signers(ctx, e)
	if err != nil {
		return nil, err
	}
	return signers, r.Require(role, signers)
}

// approvers returns the roles whose signatures the exceptions of a push need.
func approvers(p *Push) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Policy.Agents)) {
		for _, x := range p.Policy.Agents[name].Exceptions {
			for _, owner := range x.ApprovedBy {
				out[owner] = fmt.Sprintf("exception %s of agent %s", x.ID, name)
			}
			if len(x.ApprovedBy) == 0 {
				out[""] = fmt.Sprintf("exception %s of agent %s", x.ID, name)
			}
		}
	}
	return out
}

// checkExceptions refuses a push with exceptions that their approvers have not signed.
func (r *Roots) checkExceptions(p *Push) error {
	need := approvers(p)
	for _, owner := range slices.Sorted(maps.Keys(need)) {
		if owner == "" {
			return &Refusal{Code: CodeException, Reason: need[owner] + " names no approver"}
		}
		if _, known := r.need[owner]; !known {
			return &Refusal{Code: CodeException, Reason: fmt.Sprintf(
				"%s is approved by %s, but the trust roots have no keys of this approver", need[owner], owner)}
		}
		if err := r.Require(owner, p.Signers); err != nil {
			return &Refusal{Code: CodeException, Reason: fmt.Sprintf(
				"%s needs the signature of %s: %d of %d", need[owner], owner, Count(owner, p.Signers), r.need[owner])}
		}
	}
	return nil
}
