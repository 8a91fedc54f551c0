package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
)

// key is a key that is always the same for a name.
func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("trust test " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(name string) ed25519.PublicKey { return key(name).Public().(ed25519.PublicKey) }

func publics(names ...string) []ed25519.PublicKey {
	var out []ed25519.PublicKey
	for _, n := range names {
		out = append(out, public(n))
	}
	return out
}

// start is when the clocks of tests stand.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func setOf(t testing.TB, policy string, exceptions ...profiles.Exception) *profiles.Set {
	t.Helper()
	set, err := daemontest.Set(policy + " log")
	if err != nil {
		t.Fatal(err)
	}
	a := set.Agents["default"]
	a.Exceptions = exceptions
	sealed, _, err := profiles.Set{Agents: map[string]profiles.Agent{"default": a}, Modules: set.Modules}.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return &sealed
}

func statement(sequence int64, previous string) trust.Statement {
	return trust.Statement{Sequence: sequence, Previous: previous, Issued: start.Add(-time.Hour),
		Expires: start.Add(30 * 24 * time.Hour), Issuer: "ana@acme.example"}
}

func envelope(t testing.TB, s trust.Statement, set *profiles.Set, names ...string) *trust.Envelope {
	t.Helper()
	var keys []ed25519.PrivateKey
	for _, n := range names {
		keys = append(keys, key(n))
	}
	e, err := trust.New(t.Context(), s, set, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encoded(t testing.TB, e *trust.Envelope) []byte {
	t.Helper()
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func roots(t testing.TB) *trust.Roots {
	t.Helper()
	r, err := trust.NewRoots(map[string]trust.Role{
		"policy":                      {Keys: publics("ana", "bob", "cyd"), Threshold: 2},
		"group:security@acme.example": {Keys: publics("sec"), Threshold: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func code(err error) trust.Code {
	var r *trust.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestRoundTrip(t *testing.T) {
	set := setOf(t, "one")
	s := statement(1, "")
	s.Reason = "first"
	raw := encoded(t, envelope(t, s, set, "ana", "cyd"))
	p, err := roots(t).Open(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if p.Revision != set.Revision || p.Policy.Agents["default"].Policy != "one" || p.Sequence != 1 ||
		p.Reason != "first" || !p.Expires.Equal(s.Expires) {
		t.Errorf("got %+v", p.Statement)
	}
	if n := trust.Count("policy", p.Signers); n != 2 {
		t.Errorf("%d signers of policy, want 2: %+v", n, p.Signers)
	}
	again, e, err := trust.Peek(raw)
	if err != nil || again.Digest != p.Digest || len(e.Signatures) != 2 || again.Signers != nil {
		t.Errorf("peek: %+v, %v", again, err)
	}
}

// TestSecondSignature is how two people sign: one after the other, at different
// places, the same bytes.
func TestSecondSignature(t *testing.T) {
	e := envelope(t, statement(1, ""), setOf(t, "one"), "ana")
	if _, err := roots(t).Open(t.Context(), encoded(t, e)); code(err) != trust.CodeThreshold {
		t.Errorf("one of two: %v", err)
	}
	e, err := trust.DecodeEnvelope(encoded(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Sign(t.Context(), key("ana")); err == nil {
		t.Error("signed twice by one key")
	}
	if err := e.Sign(t.Context(), key("bob")); err != nil {
		t.Fatal(err)
	}
	if _, err := roots(t).Open(t.Context(), encoded(t, e)); err != nil {
		t.Error(err)
	}
}

func TestRoots(t *testing.T) {
	for name, roles := range map[string]map[string]trust.Role{
		"no policy":      {"lockdown": {Keys: publics("ana"), Threshold: 1}},
		"no threshold":   {"policy": {Keys: publics("ana")}},
		"above the keys": {"policy": {Keys: publics("ana"), Threshold: 2}},
		"a key twice":    {"policy": {Keys: publics("ana", "ana"), Threshold: 2}},
		"a short key":    {"policy": {Keys: []ed25519.PublicKey{{1, 2}}, Threshold: 1}},
		"an odd role":    {"policy": {Keys: publics("ana"), Threshold: 1}, "friends": {Keys: publics("ana"), Threshold: 1}},
		"nothing":        nil,
	} {
		if _, err := trust.NewRoots(roles); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ana.key")
	made, err := trust.MakeKey(path, bytes.NewReader(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	private, err := trust.ParsePrivateKey(path, text)
	if err != nil || !private.Public().(ed25519.PublicKey).Equal(made) {
		t.Errorf("private key: %v", err)
	}
	for _, form := range []string{path + ".pub", trust.KeyLine(made)} {
		r, err := trust.ParseRoots(map[string]trust.Named{"policy": {Keys: []string{form}, Threshold: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if _, n := r.Threshold("policy"); n != 1 {
			t.Errorf("%s: %d keys", form, n)
		}
	}
	if _, err := trust.MakeKey(path, bytes.NewReader(make([]byte, 64))); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, text) {
		t.Error("the key has changed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.MakeKey(path, bytes.NewReader(make([]byte, 64))); !errors.Is(err, fs.ErrExist) {
		t.Errorf("its public half was written over: %v", err)
	}
	for _, bad := range []string{"", "ed25519:", "ed25519:AAAA", "rsa:" + trust.KeyLine(made),
		trust.KeyLine(made) + "\n", path, t.TempDir()} {
		if _, err := trust.ParseRoots(map[string]trust.Named{
			"policy": {Keys: []string{bad}, Threshold: 1}}); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
	if _, err := trust.ParsePrivateKey(
		"x", []byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")); err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("a bad key: %v", err)
	}
}

// TestEnvelopes are texts that are not quite an envelope.
func TestEnvelopes(t *testing.T) {
	good := string(encoded(t, envelope(t, statement(1, ""), setOf(t, "one"), "ana", "bob")))
	swap := func(old, with string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, tt := range map[string]struct {
		text string
		want trust.Code
	}{
		"empty":              {"", trust.CodeTorn},
		"cut":                {good[:len(good)/2], trust.CodeTorn},
		"cut by a byte":      {good[:len(good)-2], trust.CodeTorn},
		"null":               {"null", trust.CodeMalformed},
		"a list":             {"[" + good + "]", trust.CodeMalformed},
		"two":                {good + good, trust.CodeMalformed},
		"a field more":       {swap(`{"payloadType"`, `{"x":1,"payloadType"`), trust.CodeMalformed},
		"a field twice":      {swap(`{"payloadType"`, `{"payloadType":"x","payloadType"`), trust.CodeMalformed},
		"a field in capital": {swap(`"payload":`, `"Payload":`), trust.CodeMalformed},
		"a key id less":      {swap(`"keyid"`, `"key"`), trust.CodeMalformed},
		"white in base64":    {swap(`"payload":"`, `"payload":"\n`), trust.CodeMalformed},
		"url base64":         {swap(`"sig":"`, `"sig":"-`), trust.CodeMalformed},
		"a short signature":  {swap(`"sig":"`, `"sig":"AAAA","x":"`), trust.CodeMalformed},
		"deep":               {strings.Repeat("[", 100_000), trust.CodeMalformed},
		"many signatures":    {swap(`"signatures":[`, `"signatures":[`+strings.Repeat(`{"keyid":"","sig":""},`, 64)), trust.CodeTooLarge},
		"huge":               {good + strings.Repeat(" ", trust.MaxEnvelope), trust.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := trust.DecodeEnvelope([]byte(tt.text)); code(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestStatements are statements that two keys have signed, and that say something
// that this version does not take.
func TestStatements(t *testing.T) {
	e := envelope(t, statement(1, ""), setOf(t, "one"), "ana")
	for name, tt := range map[string]struct {
		change func(m map[string]any)
		want   trust.Code
	}{
		"nothing":               {func(map[string]any) {}, ""},
		"a field more":          {func(m map[string]any) { m["x"] = 1 }, trust.CodeMalformed},
		"no expiry":             {func(m map[string]any) { delete(m, "expires") }, trust.CodeMalformed},
		"expires first":         {func(m map[string]any) { m["expires"] = m["issued"] }, trust.CodeMalformed},
		"local time":            {func(m map[string]any) { m["issued"] = "2026-03-01T12:00:00+01:00" }, trust.CodeMalformed},
		"half a second":         {func(m map[string]any) { m["issued"] = "2026-03-01T10:00:00.5Z" }, trust.CodeMalformed},
		"sequence 0":            {func(m map[string]any) { m["sequence"] = 0 }, trust.CodeMalformed},
		"sequence -1":           {func(m map[string]any) { m["sequence"] = -1 }, trust.CodeMalformed},
		"sequence as text":      {func(m map[string]any) { m["sequence"] = "1" }, trust.CodeMalformed},
		"another version":       {func(m map[string]any) { m["type"] = "ringd.push/v2" }, trust.CodeMalformed},
		"no issuer":             {func(m map[string]any) { m["issuer"] = "" }, trust.CodeMalformed},
		"issuer moves a cursor": {func(m map[string]any) { m["issuer"] = "a\x1b[2J" }, trust.CodeMalformed},
		"long reason":           {func(m map[string]any) { m["reason"] = strings.Repeat("a", 5000) }, trust.CodeMalformed},
		"rollback, no reason":   {func(m map[string]any) { m["rollback"] = true; m["previous"] = m["revision"] }, trust.CodeMalformed},
		"another revision":      {func(m map[string]any) { m["revision"] = "sha256:" + strings.Repeat("a", 64) }, trust.CodeSet},
		"previous not a digest": {func(m map[string]any) { m["previous"] = "latest" }, trust.CodeMalformed},
		"no set":                {func(m map[string]any) { delete(m, "set") }, trust.CodeMalformed},
		"an edited set":         {func(m map[string]any) { m["set"].(map[string]any)["agents"] = map[string]any{} }, trust.CodeSet},
	} {
		t.Run(name, func(t *testing.T) {
			var m map[string]any
			if err := json.Unmarshal(e.Payload, &m); err != nil {
				t.Fatal(err)
			}
			tt.change(m)
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := profiles.Canonical(raw)
			if err != nil {
				t.Fatal(err)
			}
			other := &trust.Envelope{PayloadType: e.PayloadType, Payload: payload}
			if err := other.Sign(t.Context(), key("ana"), key("bob")); err != nil {
				t.Fatal(err)
			}
			if _, err := roots(t).Open(t.Context(), encoded(t, other)); code(err) != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzEnvelope: no panic; what is taken encodes to something that means the same; and
// nothing is taken that the keys have not signed.
func FuzzEnvelope(f *testing.F) {
	good := encoded(f, envelope(f, statement(1, ""), setOf(f, "one"), "ana", "bob"))
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"payloadType":"x","payload":"","signatures":[]}`))
	f.Add([]byte(strings.Repeat(`{"payload":`, 300)))
	f.Add(bytes.Replace(good, []byte(`"keyid":"sha256`), []byte(`"keyid":"sha257`), 1))
	signed, err := trust.DecodeEnvelope(good)
	if err != nil {
		f.Fatal(err)
	}
	r := roots(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := trust.DecodeEnvelope(b)
		if err != nil {
			if code(err) == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		again, err := trust.DecodeEnvelope(encoded(t, e))
		if err != nil || !bytes.Equal(again.Payload, e.Payload) || len(again.Signatures) != len(e.Signatures) {
			t.Errorf("round trip: %v", err)
		}
		if p, err := r.Open(t.Context(), b); err == nil && !bytes.Equal(e.Payload, signed.Payload) {
			t.Errorf("nobody signed %s", base64.StdEncoding.EncodeToString([]byte(p.Digest)))
		}
	})
}

// TestWeakKeys: a point for which anybody can sign is no key of the roots. That anybody
// can is shown first, by a signature that nobody made.
func TestWeakKeys(t *testing.T) {
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	} {
		weak, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		forged := false
		sig := make([]byte, ed25519.SignatureSize) // S is 0, R one of the points
		for _, r := range []string{"01" + strings.Repeat("00", 31), "ec" + strings.Repeat("ff", 30) + "7f",
			strings.Repeat("00", 32)} {
			point, err := hex.DecodeString(r)
			if err != nil {
				t.Fatal(err)
			}
			copy(sig, point)
			for i := range 64 {
				forged = forged || ed25519.Verify(weak, fmt.Appendf(nil, "push %d", i), sig)
			}
		}
		if !forged {
			t.Errorf("%s: no signature was forged, so the row shows nothing", text)
		}
		if _, err := trust.NewRoots(
			map[string]trust.Role{trust.RolePolicy: {Keys: []ed25519.PublicKey{weak}, Threshold: 1}}); err == nil ||
			!strings.Contains(err.Error(), "anyone can") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLedgerHalfSaid: a file that says less, more or twice what ringd writes is no memory;
// one that a person has spaced out is.
func TestLedgerHalfSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pushes.json")
	d := "sha256:" + strings.Repeat("a", 64)
	good := `{"format":"ringd.pushes/v1","sequence":7,"digest":"` + d + `","revision":"` + d +
		`","seen":"2026-11-20T00:00:00Z","history":[]}`
	for text, ok := range map[string]bool{
		good:                                     true,
		strings.ReplaceAll(good, ",", ",\n  "):   true,
		good + good:                              false,
		good + "x":                               false,
		`{"format":"ringd.pushes/v1"}`:           false,
		`{"sequence":7,` + good[1:]:              false,
		good[:len(good)-1] + `,"sequence":0}`:    false,
		good[:len(good)-1] + `,"Sequence":0}`:    false,
		strings.Replace(good, "seen", "Seen", 1): false,
		good[:len(good)-1] + `,"other":1}`:       false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := trust.OpenLedger(path); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFlood: whoever has no key cannot have the host hash for long by signatures that
// name none; who signs that way is heard all the same, and so is who names a key.
func TestFlood(t *testing.T) {
	roots := rootsOf(t, 1, "ana", "bob", "cyd")
	sign := func(size int, nameless int, names ...string) *trust.Envelope {
		e := &trust.Envelope{PayloadType: trust.PayloadType, Payload: bytes.Repeat([]byte("x"), size)}
		for range nameless {
			e.Signatures = append(e.Signatures, trust.Signature{
				Sig: base64.StdEncoding.EncodeToString(make([]byte, ed25519.SignatureSize))})
		}
		for _, name := range names {
			by := &trust.Envelope{PayloadType: e.PayloadType, Payload: e.Payload}
			if err := by.Sign(t.Context(), key(name)); err != nil {
				t.Fatal(err)
			}
			e.Signatures = append(e.Signatures, by.Signatures...)
		}
		return e
	}
	var refused *trust.Refusal
	if _, err := roots.Signers(t.Context(), sign(4<<20, 63, "ana")); !errors.As(err, &refused) ||
		refused.Code != trust.CodeTooLarge {
		t.Errorf("63 signatures without a name on 4 MiB: %v", err)
	}
	twice := sign(10, 1, "ana", "ana", "eve", "bob")
	twice.Signatures[1].Sig = twice.Signatures[0].Sig // the first one of ana does not hold, and another is not tried
	for what, e := range map[string]*trust.Envelope{"named beside many": sign(10, 63, "bob"),
		"large": sign(8<<20, 1, "bob"), "named twice": twice} {
		if got, err := roots.Signers(t.Context(), e); err != nil || len(got) != 1 ||
			got[0].Key != trust.KeyID(public("bob")) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	unnamed := sign(10, 0, "bob")
	unnamed.Signatures[0].KeyID = ""
	if got, err := roots.Signers(t.Context(), unnamed); err != nil || len(got) != 1 {
		t.Errorf("without a name: %v, %v", got, err)
	}
}

// TestNoFile: what is no file is refused, and nothing waits at a pipe. A link to nowhere
// is not a memory that nobody has begun.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, nowhere := filepath.Join(dir, "pipe"), filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "none"), nowhere); err != nil {
		t.Fatal(err)
	}
	clitest.NamedPipe(t, pipe)
	for _, name := range []string{dir, pipe, nowhere} {
		if _, err := trust.OpenLedger(name); err == nil || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("ledger %s: %v", filepath.Base(name), err)
		}
		if _, err := trust.ReadPublicKey(name); err == nil {
			t.Errorf("key %s was read", filepath.Base(name))
		}
	}
}

// TestWords: a refusal says what to do, and speaks of fields, not of a program's types.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"payload":"","payloadType":"","signatures":{}}`:       "push_malformed: envelope: signatures: object is not of the right kind; make it with ringd sign",
		`{"payload":"","payloadType":"","signatures":[],"x":1}`: `push_malformed: envelope: unknown field "x"; make it with ringd sign`,
		`{"payload":"",`: "push_torn: the envelope ends in the middle; write it under another name and rename it, as ringd push does",
	} {
		if _, err := trust.DecodeEnvelope([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	at := func(s string) error {
		_, err := trust.Exactly([]byte(s), func(v struct {
			N  int64     `json:"n"`
			At time.Time `json:"at"`
		}) ([]byte, error) {
			return json.Marshal(v)
		})
		return err
	}
	for text, want := range map[string]string{
		`{"n":3.5}`: "n: number 3.5 is not of the right kind", `{"at":"x"}`: "x is not a time such as 2026-12-31T00:00:00Z",
	} {
		if err := at(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
