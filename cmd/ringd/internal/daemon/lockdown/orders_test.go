package lockdown_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

func start() time.Time { return time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC) }

func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(name string) ed25519.PublicKey { return key(name).Public().(ed25519.PublicKey) }

// rootsOf trusts ana for pushes, and two of these for lockdowns.
func rootsOf(t *testing.T, lock ...string) *trust.Roots {
	t.Helper()
	roles := map[string]trust.Role{trust.RolePolicy: {Keys: []ed25519.PublicKey{public("ana")}, Threshold: 1}}
	if len(lock) > 0 {
		r := trust.Role{Threshold: 2}
		for _, k := range lock {
			r.Keys = append(r.Keys, public(k))
		}
		roles[trust.RoleLockdown] = r
	}
	r, err := trust.NewRoots(roles)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type log struct{ records []audit.Record }

func (l *log) Append(_ context.Context, r audit.Record, _ audit.Durability) (audit.Head, error) {
	l.records = append(l.records, r)
	return audit.Head{}, nil
}

// host is a lock, and a folder that is looked at when the test says so.
type host struct {
	t    *testing.T
	dir  string
	now  time.Time
	lock *lockdown.Lock
	log  *log
	desk *lockdown.OrderDesk
}

func newHost(t *testing.T, roots *trust.Roots) *host {
	h := &host{t: t, dir: t.TempDir(), now: start(), log: &log{}}
	h.open(roots, filepath.Join(t.TempDir(), "lockdown.json"))
	return h
}

func (h *host) open(roots *trust.Roots, file string) {
	h.t.Helper()
	var err error
	now := func() time.Time { return h.now }
	if h.lock, err = lockdown.Open(lockdown.Config{File: file, Recorder: h.log, Now: now}); err != nil {
		h.t.Fatal(err)
	}
	if h.desk, err = lockdown.NewDesk(lockdown.OrdersConfig{
		Roots: roots, Lock: h.lock, Recorder: h.log, Now: now}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) put(name string, b []byte) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), b, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) order(b []byte) { h.t.Helper(); h.put(trust.LockdownFile, b) }

func (h *host) look() *wire.Order {
	h.t.Helper()
	p, err := syncer.Read(h.dir, lockdown.OrderLimits())
	if err != nil {
		h.desk.Reject(h.t.Context(), err)
	} else {
		_ = h.desk.Apply(h.t.Context(), p)
	}
	return h.lock.LastOrder()
}

func order(state string, sequence int64) lockdown.Order {
	return lockdown.Order{Type: lockdown.OrderType, State: state, Sequence: sequence, Issued: start().Add(-time.Minute),
		Expires: start().Add(time.Hour), Issuer: "group:soc", Reason: "leaked token"}
}

func envelope(t *testing.T, o lockdown.Order, by ...string) *trust.Envelope {
	t.Helper()
	var keys []ed25519.PrivateKey
	for _, name := range by {
		keys = append(keys, key(name))
	}
	e, err := lockdown.SignOrder(t.Context(), o, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encoded(t *testing.T, e *trust.Envelope) []byte {
	t.Helper()
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func signed(t *testing.T, o lockdown.Order, by ...string) []byte {
	t.Helper()
	return encoded(t, envelope(t, o, by...))
}

// resigned is a payload that New would not make, signed by those who may.
func resigned(t *testing.T, kind string, payload []byte) []byte {
	t.Helper()
	e := &trust.Envelope{PayloadType: kind, Payload: payload}
	if err := e.Sign(t.Context(), key("soc"), key("sam")); err != nil {
		t.Fatal(err)
	}
	return encoded(t, e)
}

// attack is one row: what lies in the folder of a host that obeyed the order to close
// with sequence 10, and what the host says. It stays closed.
type attack struct {
	name string
	file func(t *testing.T) []byte
	code string
	says string
	// but are roots by which the same file is obeyed: who signed is all that is wrong.
	but []string
	// past is when the same file is obeyed, from the start on; 0: never.
	past time.Duration
	// layers are the checks that refuse it. With them taken away it opens the host,
	// which shows that nothing else refuses it by chance; nil: there is nothing to take,
	// what came is no order at all.
	layers []string
}

func attacks() []attack {
	lift := order("lift", 11)
	by := func(o lockdown.Order, names ...string) func(*testing.T) []byte {
		return func(t *testing.T) []byte { return signed(t, o, names...) }
	}
	edit := func(change func(e *trust.Envelope)) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			e := envelope(t, lift, "soc", "sam")
			change(e)
			return encoded(t, e)
		}
	}
	payload := func(kind, from, to string) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			b := envelope(t, lift, "soc", "sam").Payload
			if !bytes.Contains(b, []byte(from)) {
				t.Fatalf("%s is not in %s", from, b)
			}
			return resigned(t, kind, bytes.Replace(b, []byte(from), []byte(to), 1))
		}
	}
	timed := func(issued, expires time.Duration) lockdown.Order {
		o := lift
		o.Issued, o.Expires = start().Add(issued), start().Add(expires)
		return o
	}
	twin := order("lift", 10)
	return []attack{
		{name: "no byte", code: "order_torn", file: func(*testing.T) []byte { return nil }},
		{name: "half a file", code: "order_torn", file: func(t *testing.T) []byte { b := signed(t, lift, "soc", "sam"); return b[:len(b)/2] }},
		{name: "no envelope", layers: []string{whole, keys, threshold, form, sense, ordersMemory}, code: "order_malformed", file: func(*testing.T) []byte { return []byte(`{"state":"lift"}`) }},
		{name: "the bare order", layers: []string{whole, keys, threshold}, code: "order_malformed", file: func(t *testing.T) []byte { return envelope(t, lift, "soc").Payload }},
		{name: "huge", layers: []string{size}, code: "order_too_large", file: func(t *testing.T) []byte {
			return append(signed(t, lift, "soc", "sam"), bytes.Repeat([]byte(" "), 65<<10)...)
		}},
		{name: "unsigned", layers: []string{keys, threshold}, code: "order_signature", says: "no signature", file: edit(func(e *trust.Envelope) { e.Signatures = nil })},
		{name: "wrong keys", layers: []string{keys, threshold}, code: "order_signature", file: by(lift, "eve", "mallory"), but: []string{"eve", "mallory"}},
		{name: "wrong keys under other names", layers: []string{keys, threshold}, code: "order_signature", file: func(t *testing.T) []byte {
			e := envelope(t, lift, "eve", "mallory")
			e.Signatures[0].KeyID, e.Signatures[1].KeyID = trust.KeyID(public("soc")), trust.KeyID(public("sam"))
			return encoded(t, e)
		}},
		{name: "signed by who signs pushes", layers: []string{threshold}, code: "order_threshold", says: "role lockdown", file: by(lift, "ana"), but: nil},
		{name: "one of two", layers: []string{threshold}, code: "order_threshold", says: "1 of 2", file: by(lift, "soc")},
		{name: "one of two, and who signs pushes", layers: []string{threshold}, code: "order_threshold", says: "1 of 2", file: by(lift, "soc", "ana"), but: []string{"soc", "ana"}},
		{name: "one of two, twice", layers: []string{threshold}, code: "order_threshold", file: edit(func(e *trust.Envelope) { e.Signatures[1] = e.Signatures[0] })},
		{name: "changed after signing", layers: []string{keys, threshold}, code: "order_signature", file: edit(func(e *trust.Envelope) {
			e.Payload = bytes.Replace(e.Payload, []byte("leaked"), []byte("tested"), 1)
		})},
		{name: "close made into open", layers: []string{keys, threshold}, code: "order_signature", file: func(t *testing.T) []byte {
			e := envelope(t, order("begin", 11), "soc", "sam")
			e.Payload = bytes.Replace(e.Payload, []byte("begin"), []byte("lift"), 1)
			return encoded(t, e)
		}},
		{name: "the type changed after signing", layers: []string{kind, keys, threshold}, code: "order_type", file: edit(func(e *trust.Envelope) {
			e.PayloadType = trust.PayloadType
		})},
		{name: "signed as a push", layers: []string{kind}, code: "order_type", file: payload(trust.PayloadType, "leaked", "leaked")},
		{name: "another version", layers: []string{form, sense}, code: "order_malformed", says: "ringd.lockdown/v1", file: payload(lockdown.PayloadType, "lockdown/v1", "lockdown/v2")},
		{name: "another state", layers: []string{form, sense}, code: "order_malformed", says: "begin or lift", file: payload(lockdown.PayloadType, `"lift"`, `"open"`)},
		{name: "a field more", layers: []string{form}, code: "order_malformed", file: payload(lockdown.PayloadType, `{"expires"`, `{"agent":"a","expires"`)},
		{name: "a field twice", layers: []string{form}, code: "order_malformed", says: "twice", file: payload(lockdown.PayloadType, `"sequence":11`, `"sequence":11,"sequence":12`)},
		{name: "not canonical", layers: []string{form}, code: "order_malformed", file: payload(lockdown.PayloadType, `"sequence":11`, `"sequence": 11`)},
		{name: "no reason", layers: []string{form, sense}, code: "order_malformed", says: "reason", file: payload(lockdown.PayloadType, `"leaked token"`, `""`)},
		{name: "a reason that moves the cursor", layers: []string{form}, code: "order_malformed", file: payload(lockdown.PayloadType, `leaked`, `\u001b[2J`)},
		{name: "no sequence", layers: []string{form, sense, ordersMemory}, code: "order_malformed", says: "sequence", file: payload(lockdown.PayloadType, `"sequence":11`, `"sequence":0`)},
		{name: "expired", layers: []string{ordersClock}, code: "order_expired", file: by(timed(-time.Hour, 0), "soc", "sam")},
		{name: "not yet issued", layers: []string{ordersClock}, code: "order_expired", file: by(timed(time.Hour, 2*time.Hour), "soc", "sam"), past: time.Hour},
		{name: "a replay", layers: []string{ordersMemory}, code: "order_replayed", file: by(order("lift", 9), "soc", "sam")},
		{name: "two orders of one sequence", layers: []string{ordersMemory}, code: "order_equivocated", file: by(twin, "soc", "sam")},
	}
}

// TestAttacks is the table of attacks on lockdown orders. It only grows.
func TestAttacks(t *testing.T) {
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, rootsOf(t, "soc", "sam"))
			h.order(signed(t, order("begin", 10), "soc", "sam"))
			if o := h.look(); o == nil || o.Result != wire.OrderObeyed || h.lock.State() == nil || len(o.Signers) != 2 {
				t.Fatalf("the honest order: %+v", o)
			}
			raw := tt.file(t)
			h.order(raw)
			for range 2 { // told once
				o := h.look()
				if o.Result != wire.OrderRefused || o.Code != tt.code || !strings.Contains(o.Message, tt.says) ||
					!strings.HasPrefix(o.Message, trust.LockdownFile+" is not carried out: "+tt.code+": ") {
					t.Fatalf("%+v, want %s with %q", o, tt.code, tt.says)
				}
				if s := h.lock.State(); s == nil || s.By != "signed:group:soc" {
					t.Fatalf("it is open: %+v", s)
				}
			}
			if r := h.log.records[len(h.log.records)-1]; r.Kind != audit.LockdownRefused ||
				r.Detail["code"] != tt.code || len(h.log.records) != 2 {
				t.Errorf("records %+v", h.log.records)
			}
			if h.now = h.now.Add(tt.past); tt.past > 0 && (h.look().Result != wire.OrderObeyed ||
				h.lock.State() != nil) {
				t.Error("it is not obeyed when its time has come")
			}
			h.now = start()
			h.order(signed(t, order("lift", 100), "soc", "sam"))
			if o := h.look(); o.Result != wire.OrderObeyed || h.lock.State() != nil {
				t.Errorf("the next honest order: %+v", o)
			}
			if tt.but == nil {
				return
			}
			h = newHost(t, rootsOf(t, tt.but...))
			h.order(raw)
			if o := h.look(); o.Result != wire.OrderObeyed {
				t.Errorf("by roots that have these keys: %+v", o)
			}
		})
	}
}

// The checks that stand between a file and the host, which TestAttacksWithoutLayer takes
// away.
const (
	size         = "size"      // of the file
	whole        = "whole"     // it is an envelope
	kind         = "kind"      // the type of the payload
	keys         = "keys"      // a signature by a key of the roots
	threshold    = "threshold" // as many of the role as it takes
	form         = "form"      // byte for byte as New makes it
	sense        = "sense"     // what an order has to say
	ordersMemory = "memory"    // of the order that was obeyed last
	ordersClock  = "clock"
)

// loose is a host as this package and the lock make one, its checks spelled out one
// after the other, so that some can be left out. It is closed by an order of sequence 10.
type loose struct {
	*host
	roots *trust.Roots
	off   []string
}

func newLoose(t *testing.T, off []string) *loose {
	t.Helper()
	h := &loose{host: newHost(t, rootsOf(t, "soc", "sam")), roots: rootsOf(t, "soc", "sam"), off: off}
	if h.on(ordersMemory) {
		h.order(signed(t, order("begin", 10), "soc", "sam"))
		h.look()
	} else { // closed by a person: no order is remembered
		h.lock.Begin(t.Context(), "signed:group:soc", "leaked token")
	}
	if h.lock.State() == nil {
		t.Fatal("it is open")
	}
	return h
}

func (h *loose) on(layer string) bool { return !slices.Contains(h.off, layer) }

// obey does what a file says, past the checks that are taken away.
func (h *loose) obey(raw []byte) error {
	ctx := h.t.Context()
	if _, err := syncer.Read(h.dir, lockdown.OrderLimits()); err != nil && h.on(size) {
		return err
	}
	e, err := trust.DecodeEnvelope(raw)
	if err != nil && h.on(whole) {
		return err
	} else if err != nil {
		e = &trust.Envelope{PayloadType: lockdown.PayloadType, Payload: raw}
	}
	if e.PayloadType != lockdown.PayloadType && h.on(kind) {
		return &trust.Refusal{Code: trust.CodeType, Reason: e.PayloadType}
	}
	signers, err := h.roots.Signers(ctx, e)
	if err != nil && h.on(keys) {
		return err
	}
	if err := h.roots.Require(trust.RoleLockdown, signers); err != nil && h.on(threshold) {
		return err
	}
	var o lockdown.Order
	decode := lockdown.Decode
	if !h.on(form) {
		decode = func(b []byte, o *lockdown.Order) error { return json.Unmarshal(b, o) }
	}
	if err := decode(e.Payload, &o); err != nil {
		return &trust.Refusal{Code: trust.CodeMalformed, Reason: err.Error()}
	}
	if !h.on(ordersClock) {
		h.now = o.Issued
	}
	if h.on(sense) {
		return h.lock.Obey(ctx, o)
	}
	if o.State == wire.LockdownBegin { // as Obey reads a state
		h.lock.Begin(ctx, "signed:"+o.Issuer, o.Reason)
		return nil
	}
	return h.lock.Lift(ctx, "signed:"+o.Issuer, o.Reason)
}

// TestAttacksWithoutLayer is TestAttacks with the checks taken away that are to refuse:
// then the attack opens the host. With any one of them back, and with all, it does not.
func TestAttacksWithoutLayer(t *testing.T) {
	for _, tt := range attacks() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits for its disk
			raw := tt.file(t)
			refused := func(without string, off []string) {
				t.Helper()
				h := newLoose(t, off)
				h.order(raw)
				err := h.obey(raw)
				if code := lockdown.CodeOf(err); err == nil || h.lock.State() == nil || len(off) == 0 &&
					code != tt.code {
					t.Errorf("without %s: %v (%s)", without, err, code)
				}
			}
			refused("nothing", nil)
			if tt.layers == nil {
				return
			}
			for i, back := range tt.layers {
				// an order of a host that forgot is refused for the rest
				if back == ordersMemory && len(tt.layers) > 1 {
					continue
				}
				refused("all but "+back, slices.Delete(slices.Clone(tt.layers), i, i+1))
			}
			h := newLoose(t, tt.layers)
			h.order(raw)
			if err := h.obey(raw); err != nil || h.lock.State() != nil {
				t.Errorf("without %v it is still refused: %v", tt.layers, err)
			}
		})
	}
}

// TestNoRole: roots without the role lockdown obey nobody.
func TestNoRole(t *testing.T) {
	h := newHost(t, rootsOf(t))
	h.order(signed(t, order("begin", 1), "ana"))
	if o := h.look(); o.Code != "order_threshold" || !strings.Contains(o.Message, "no keys for lockdown") ||
		h.lock.State() != nil {
		t.Errorf("%+v", o)
	}
}

// TestBeside: whatever lies beside it, an order is obeyed; what is no order is nothing.
func TestBeside(t *testing.T) {
	h := newHost(t, rootsOf(t, "soc", "sam"))
	if o := h.look(); o != nil {
		t.Errorf("an empty folder: %+v", o)
	}
	h.put(trust.FileName, []byte("{ half a pu"))
	h.put("README", nil)
	if err := os.MkdirAll(filepath.Join(h.dir, "modules", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := h.look(); o != nil {
		t.Errorf("no order: %+v", o)
	}
	h.order(signed(t, order("begin", 1), "soc", "sam"))
	if o := h.look(); o == nil || o.Result != wire.OrderObeyed || h.lock.State() == nil {
		t.Errorf("%+v", o)
	}
	// and what is refused is forgotten with the file
	h.order([]byte("x"))
	if o := h.look(); o.Result != wire.OrderRefused {
		t.Errorf("%+v", o)
	}
	if err := os.Remove(filepath.Join(h.dir, trust.LockdownFile)); err != nil {
		t.Fatal(err)
	}
	if o := h.look(); o != nil || h.lock.State() == nil {
		t.Errorf("%+v", o)
	}
	if err := os.Mkdir(filepath.Join(h.dir, trust.LockdownFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := h.look(); o == nil || o.Code != "order_file" {
		t.Errorf("a folder of that name: %+v", o)
	}
}

// TestForgotten: where the lockdown file was torn, a lift that lies in the folder since
// before does not open what was closed after it, and says what to do.
func TestOrdersForgotten(t *testing.T) {
	roots, file := rootsOf(t, "soc", "sam"), filepath.Join(t.TempDir(), "lockdown.json")
	h := &host{t: t, dir: t.TempDir(), now: start(), log: &log{}}
	h.open(roots, file)
	for i, state := range []string{"begin", "lift"} {
		h.order(signed(t, order(state, int64(i+1)), "soc", "sam"))
		if o := h.look(); o.Result != wire.OrderObeyed {
			t.Fatalf("%s: %+v", state, o)
		}
	}
	h.lock.Begin(t.Context(), "uid:1", "leaked again")
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	h.open(roots, file)
	if o := h.look(); o.Code != "order_replayed" || !strings.Contains(o.Message, "--lift") || h.lock.State() == nil {
		t.Fatalf("%+v", o)
	}
	if err := h.lock.Lift(t.Context(), "uid:1", "looked at it"); err != nil {
		t.Fatal(err)
	}
	if o := h.look(); o.Result == wire.OrderRefused { // nothing is left to complain of
		t.Errorf("%+v", o)
	}
}

// TestOnce: an order that stays in the folder counts once, over a restart too; what an
// operator lifted stays lifted.
func TestOnce(t *testing.T) {
	roots, file := rootsOf(t, "soc", "sam"), filepath.Join(t.TempDir(), "lockdown.json")
	h := &host{t: t, dir: t.TempDir(), now: start(), log: &log{}}
	h.open(roots, file)
	h.order(signed(t, order("begin", 7), "soc", "sam"))
	h.look()
	if err := h.lock.Lift(t.Context(), "uid:1", "over"); err != nil {
		t.Fatal(err)
	}
	if o := h.look(); o.Result != wire.OrderObeyed || h.lock.State() != nil {
		t.Errorf("%+v", o)
	}
	h.open(roots, file)
	h.now = h.now.Add(48 * time.Hour) // long expired
	if o := h.look(); o == nil || o.Result != wire.OrderUnchanged || h.lock.State() != nil {
		t.Errorf("after a restart: %+v", o)
	}
	h.now = start()
	h.order(signed(t, order("lift", 7), "soc", "sam"))
	if o := h.look(); o.Code != "order_equivocated" {
		t.Errorf("after a restart: %+v", o)
	}
}

// TestWhileLifting: an order to close waits for no lift that is under way.
func TestWhileLifting(t *testing.T) {
	h := newHost(t, rootsOf(t, "soc", "sam"))
	lifting, goOn, closed := make(chan struct{}), make(chan struct{}), make(chan struct{}, 8)
	h.lock.Attach(lockdown.Parts{Close: func() { closed <- struct{}{} },
		Open: func(_ context.Context, opened func() bool) error {
			close(lifting)
			<-goOn
			opened()
			return nil
		}})
	h.order(signed(t, order("begin", 1), "soc", "sam"))
	h.look()
	<-closed
	lifted, obeyed := make(chan error, 1), make(chan struct{})
	go func() { lifted <- h.lock.Lift(context.WithoutCancel(t.Context()), "uid:1", "over") }()
	<-lifting
	h.order(signed(t, order("begin", 2), "soc", "sam"))
	go func() { h.look(); close(obeyed) }()
	<-closed // before the lift has ended
	close(goOn)
	if err := <-lifted; err == nil || h.lock.State() == nil {
		t.Errorf("lifted over a newer order: %v", err)
	}
	<-obeyed
	if h.lock.State() == nil {
		t.Error("it is open")
	}
}

// FuzzOpen: what is not signed by the roots is never an order.
func FuzzOpen(f *testing.F) {
	for _, a := range attacks() {
		b, err := json.Marshal(a.name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"payloadType":"` + lockdown.PayloadType + `","payload":"` +
			base64.StdEncoding.EncodeToString(b) + `","signatures":[]}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if o, _, err := lockdown.OpenOrder(t.Context(), rootsOf(t, "soc", "sam"), raw); err == nil {
			t.Errorf("obeyed: %+v", o)
		}
	})
}

// TestAudienceAndLift: an order counts on the hosts that it names, and where a lift needs
// more signatures than closing does, one with fewer opens nothing.
func TestAudienceAndLift(t *testing.T) {
	three, err := rootsOf(t, "soc", "duty", "ciso").For("production", 3)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, three)
	sequence := int64(0)
	give := func(state, audience string, by ...string) *wire.Order {
		t.Helper()
		sequence++
		o := order(state, sequence)
		o.Audience = audience
		h.order(encoded(t, envelope(t, o, by...)))
		return h.look()
	}
	for _, other := range []string{"", "staging"} {
		if got := give(wire.LockdownBegin, other, "soc", "duty", "ciso"); got.Code != "order_audience" ||
			h.lock.State() != nil {
			t.Errorf("for %q: %+v", other, got)
		}
	}
	if got := give(wire.LockdownBegin, "production", "soc", "duty"); got.Result != wire.OrderObeyed ||
		h.lock.State() == nil {
		t.Fatalf("two close: %+v", got)
	}
	if got := give(wire.LockdownLift, "production", "soc", "duty"); got.Code != "order_threshold" ||
		h.lock.State() == nil {
		t.Errorf("two open: %+v", got)
	}
	if got := give(wire.LockdownLift, "", "soc", "duty", "ciso"); got.Code != "order_audience" ||
		h.lock.State() == nil {
		t.Errorf("a lift for nobody: %+v", got)
	}
	if got := give(wire.LockdownLift, "production", "soc", "duty", "ciso"); got.Result != wire.OrderObeyed ||
		h.lock.State() != nil {
		t.Errorf("three open: %+v", got)
	}
	for _, bad := range []int{1, 4, -1} {
		if _, err := rootsOf(t, "soc", "duty", "ciso").For("", bad); err == nil {
			t.Errorf("lift threshold %d", bad)
		}
	}
}
