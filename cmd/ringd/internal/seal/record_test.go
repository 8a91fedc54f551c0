// In the package: the canaries take single checks away.
package seal

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"
)

func testKey(t testing.TB, n byte) Key {
	t.Helper()
	secret := bytes.Repeat([]byte{n}, 31)
	k, err := newKey(append(secret, n+1))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func testRing(t testing.TB, keys ...byte) *Keyring {
	t.Helper()
	cfg := Config{Random: rand.Reader}
	for _, n := range keys {
		cfg.Keys = append(cfg.Keys, testKey(t, n))
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bound is the binding of a pause, one of many.
func bound(n int) Binding {
	return Binding{Kind: Pause, Run: fmt.Sprintf("run-%d", n%10), Seq: int64(1 + n/10),
		Agent: fmt.Sprintf("agent-%d", n%3),
		Actor: fmt.Sprintf("uid:%d", 1000+n%7), Revision: "sha256:aa", Engine: "sha256:ee"}
}

func mustSeal(t testing.TB, r *Keyring, b Binding, plain []byte) []byte {
	t.Helper()
	record, err := r.Seal(b, plain)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// attack is a record that must not be opened as want.
type attack struct {
	name   string
	want   Binding
	record []byte
	field  string // of the IntegrityError; "": any
}

// attacks is the whole corpus: flips, truncations, swaps, replays, forgeries.
func attacks(t testing.TB, r *Keyring) []attack {
	t.Helper()
	var out []attack
	plain := bytes.Repeat([]byte("the memory of a program "), 40)
	want := bound(0)
	good := mustSeal(t, r, want, plain)
	for i := range 200 {
		at := 8 * len(good) * i / 200
		bad := bytes.Clone(good)
		bad[at/8] ^= 1 << (at % 8)
		out = append(out, attack{fmt.Sprintf("bit %d flipped", at), want, bad, ""})
	}
	for n := range good {
		out = append(out, attack{fmt.Sprintf("cut to %d bytes", n), want, good[:n:n], ""})
	}
	out = append(out, attack{"a byte added", want, append(bytes.Clone(good), 0), "body"})
	for i := 1; i <= 50; i++ {
		other := want
		field := []string{"run", "agent", "actor"}[i%3]
		switch field {
		case "run":
			other.Run = fmt.Sprintf("other-%d", i)
		case "agent":
			other.Agent = fmt.Sprintf("other-%d", i)
		case "actor":
			other.Actor = fmt.Sprintf("uid:%d", i)
		}
		out = append(out, attack{fmt.Sprintf("swapped in from another %s, %d", field, i), want,
			mustSeal(t, r, other, plain), field})
	}
	for seq := int64(1); seq <= 50; seq++ {
		now := want
		now.Seq = 51
		old := want
		old.Seq = seq
		out = append(out, attack{fmt.Sprintf("pause %d again", seq), now, mustSeal(t, r, old, plain), "seq"})
	}
	for field, change := range changes() {
		other := want
		change(&other)
		out = append(out, attack{"of another " + field, want, mustSeal(t, r, other, plain), field})
		out = append(out, attack{"relabelled from another " + field, want,
			relabel(t, mustSeal(t, r, other, plain), want), "body"})
	}
	return out
}

// changes makes each field of a binding another.
func changes() map[string]func(*Binding) {
	return map[string]func(*Binding){
		"kind": func(b *Binding) { b.Kind = Session }, "run": func(b *Binding) { b.Run = "else" },
		"seq": func(b *Binding) { b.Seq++ }, "agent": func(b *Binding) { b.Agent = "else" },
		"actor": func(b *Binding) { b.Actor = "uid:1" }, "revision": func(b *Binding) { b.Revision = "sha256:ab" },
		"engine": func(b *Binding) { b.Engine = "sha256:ef" },
	}
}

// relabel gives a record the header of another binding, with a sum that holds:
// what somebody who can write the store and has no key can do.
func relabel(t testing.TB, record []byte, b Binding) []byte {
	t.Helper()
	rec, err := parse(record)
	if err != nil {
		t.Fatal(err)
	}
	head, err := header(rec.key, b)
	if err != nil {
		t.Fatal(err)
	}
	return append(head, record[len(rec.head):]...)
}

func TestAttacksRefused(t *testing.T) {
	r := testRing(t, 1)
	corpus := attacks(t, r)
	if len(corpus) < 200+50+50 {
		t.Fatalf("only %d attacks", len(corpus))
	}
	for _, a := range corpus {
		plain, err := r.Open(a.want, a.record)
		var integrity *IntegrityError
		if !errors.As(err, &integrity) || plain != nil {
			t.Errorf("%s: opened to %d bytes, %v", a.name, len(plain), err)
			continue
		}
		if a.field != "" && integrity.Field != a.field {
			t.Errorf("%s: %v, want it to name %s", a.name, err, a.field)
		}
	}
}

// TestCanaries takes one check away at a time: then the corpus must find
// something that is opened.
func TestCanaries(t *testing.T) {
	r := testRing(t, 1)
	corpus := attacks(t, r)
	for name, open := range map[string]func(want Binding, record []byte) error{
		"the comparison": func(_ Binding, record []byte) error {
			rec, err := parse(record)
			if err != nil {
				return err
			}
			_, err = r.first.aead().Open(nil, rec.nonce, rec.body, rec.head)
			return err
		},
		"the tag": func(want Binding, record []byte) error {
			rec, err := parse(record)
			if err != nil {
				return err
			}
			if err := rec.bound.compare(want); err != nil {
				return err
			}
			// What a cipher without a tag would do.
			c, err := chacha20.NewUnauthenticatedCipher(append(bytes.Repeat([]byte{1}, 31), 2), rec.nonce)
			if err != nil {
				return err
			}
			c.XORKeyStream(make([]byte, len(rec.body)), rec.body)
			return nil
		},
	} {
		found := 0
		for _, a := range corpus {
			if open(a.want, a.record) == nil {
				found++
			}
		}
		if found == 0 {
			t.Errorf("without %s every attack is still refused: the corpus does not look at it", name)
		}
		t.Logf("without %s %d of %d attacks succeed", name, found, len(corpus))
	}
	// The header as additional data: without it, a relabelled record opens.
	plain := []byte("memory")
	other := bound(1)
	rec, err := parse(mustSeal(t, r, other, plain))
	if err != nil {
		t.Fatal(err)
	}
	bare := append(bytes.Clone(rec.head), rec.nonce...)
	bare = relabel(t, r.first.aead().Seal(bare, rec.nonce, plain, nil), bound(0))
	if rec, err = parse(bare); err != nil || rec.bound.compare(bound(0)) != nil {
		t.Fatalf("%v: the forgery does not get as far as the tag", err)
	}
	if _, err := r.first.aead().Open(nil, rec.nonce, rec.body, nil); err != nil {
		t.Errorf("without additional data the forgery is still refused: %v", err)
	}
	if _, err := r.Open(bound(0), bare); err == nil {
		t.Error("a relabelled record is opened")
	}
}

func TestSealOpen(t *testing.T) {
	r := testRing(t, 1)
	for _, n := range []int{0, 1, 300 << 10, 5 << 20} {
		plain := bytes.Repeat([]byte{7}, n)
		record := mustSeal(t, r, bound(3), plain)
		if len(record)-n > 300 {
			t.Errorf("%d bytes around %d", len(record)-n, n)
		}
		got, err := r.Open(bound(3), record)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if n > 16 && bytes.Contains(record, plain[:16]) {
			t.Error("the record shows what is in it")
		}
	}
	if bytes.Equal(mustSeal(t, r, bound(3), nil), mustSeal(t, r, bound(3), nil)) {
		t.Error("two records of the same are equal: the nonce was used twice")
	}
}

func TestSealRefuses(t *testing.T) {
	r := testRing(t, 1)
	for name, change := range map[string]func(*Binding){
		"no kind": func(b *Binding) { b.Kind = "" }, "another kind": func(b *Binding) { b.Kind = "diary" },
		"no run": func(b *Binding) { b.Run = "" }, "no agent": func(b *Binding) { b.Agent = "" },
		"no actor": func(b *Binding) { b.Actor = "" }, "no sequence": func(b *Binding) { b.Seq = 0 },
		"a huge field": func(b *Binding) { b.Engine = strings.Repeat("x", maxField+1) },
	} {
		b := bound(0)
		change(&b)
		if _, err := r.Seal(b, []byte("x")); err == nil {
			t.Errorf("%s: sealed", name)
		}
	}
	if _, err := r.Seal(bound(0), make([]byte, maxSealed)); err == nil {
		t.Error("sealed more than a record may have")
	}
	if _, err := r.Open(bound(0), make([]byte, maxSealed+1)); !errors.As(err, new(*IntegrityError)) {
		t.Errorf("a record above the size limit: %v", err)
	}
	short, err := New(Config{Keys: []Key{testKey(t, 1)}, Random: strings.NewReader("too few")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.Seal(bound(0), nil); err == nil {
		t.Error("sealed without randomness")
	}
}

// TestRotation: records of the old key open as long as it is in the ring, and
// one whose key is gone is refused by the key's name.
func TestRotation(t *testing.T) {
	old, both, later := testRing(t, 1), testRing(t, 2, 1), testRing(t, 2)
	a, b := mustSeal(t, old, bound(0), []byte("a")), mustSeal(t, both, bound(0), []byte("b"))
	for _, tt := range []struct {
		name   string
		ring   *Keyring
		record []byte
		want   string // "": a KeyError
	}{
		{"old key, old ring", old, a, "a"},
		{"old key, both", both, a, "a"},
		{"old key, later ring", later, a, ""},
		{"new key, both", both, b, "b"},
		{"new key, later ring", later, b, "b"},
		{"new key, old ring", old, b, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.ring.Open(bound(0), tt.record)
			if tt.want != "" {
				if err != nil || string(got) != tt.want {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			var key *KeyError
			rec, parsed := parse(tt.record)
			if id := rec.key; !errors.As(err, &key) || parsed != nil || key.ID != id ||
				!strings.Contains(err.Error(), id) || tt.ring.Has(id) {
				t.Errorf("%v, want a KeyError that names %s (%v)", err, id, parsed)
			}
		})
	}
	if both.KeyID() != later.KeyID() || both.KeyID() == old.KeyID() || !both.Has(old.KeyID()) {
		t.Error("the first key does not seal")
	}
	// A key that claims the id of another does not open its records.
	forged := testKey(t, 9)
	forged.id = old.KeyID()
	r, err := New(Config{Keys: []Key{forged}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	var integrity *IntegrityError
	if _, err := r.Open(bound(0), a); !errors.As(err, &integrity) || integrity.Field != "body" {
		t.Errorf("with another key of the same id: %v", err)
	}
}

// A record of a later version is refused by its version, not as damaged; a
// damaged version is damage.
func TestUnknownVersion(t *testing.T) {
	r := testRing(t, 1)
	record := mustSeal(t, r, bound(0), []byte("x"))
	record[9] = 7
	if _, err := r.Open(bound(0), record); !errors.As(err, new(*IntegrityError)) {
		t.Errorf("damaged version: %v", err)
	}
	n := binary.BigEndian.Uint32(record[10:])
	copy(record[sumAt:], checksum(record[:headerAt+n]))
	var later *VersionError
	if _, err := r.Open(bound(0), record); !errors.As(err, &later) || later.Version != 7 {
		t.Errorf("%v, want a VersionError of 7", err)
	}
}

func FuzzOpen(f *testing.F) {
	// The same nonce in every process of the fuzzer.
	r, err := New(Config{Keys: []Key{testKey(f, 1)}, Random: strings.NewReader(strings.Repeat("n", 24))})
	if err != nil {
		f.Fatal(err)
	}
	good := mustSeal(f, r, bound(0), []byte("memory"))
	f.Add(good)
	f.Add(good[:headerAt])
	f.Add([]byte(magic))
	f.Add(append(bytes.Clone(good[:10]), 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, record []byte) {
		plain, err := r.Open(bound(0), record)
		if err == nil && (string(plain) != "memory" || !bytes.Equal(record, good)) {
			t.Fatalf("%d bytes that nobody sealed were opened", len(record))
		}
		var i *IntegrityError
		var k *KeyError
		var v *VersionError
		if err != nil && !errors.As(err, &i) && !errors.As(err, &k) && !errors.As(err, &v) {
			t.Fatalf("error %v is not typed", err)
		}
		rec, err := parse(record)
		if err != nil {
			return
		}
		// What is read is what is written.
		head, err := header(rec.key, rec.bound)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rec.head, head); diff != "" {
			t.Fatalf("a header that nobody writes was read: %s", diff)
		}
	})
}

// FuzzHeader has headers whose sum holds, which chance does not find.
func FuzzHeader(f *testing.F) {
	head, err := header("k", bound(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head[headerAt:])
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, fields []byte) {
		record := append([]byte(magic), 0, version)
		record = binary.BigEndian.AppendUint32(record, uint32(len(fields)))
		record = append(append(record, make([]byte, sumSize)...), fields...)
		copy(record[sumAt:], checksum(record))
		record = append(record, make([]byte, chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead)...)
		rec, err := parse(record)
		if err != nil {
			if !errors.As(err, new(*IntegrityError)) {
				t.Fatalf("error %v is not typed", err)
			}
			return
		}
		if head, err := header(rec.key, rec.bound); err != nil || !bytes.Equal(head[headerAt:], fields) {
			t.Fatalf("%+v is read from what is not written for it (%v)", rec.bound, err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r := testRing(b, 1)
	for _, size := range []int{10 << 10, 300 << 10, 5 << 20} {
		plain := make([]byte, size)
		b.Run(fmt.Sprintf("seal/%dK", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				mustSeal(b, r, bound(0), plain)
			}
		})
		record := mustSeal(b, r, bound(0), plain)
		b.Run(fmt.Sprintf("open/%dK", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := r.Open(bound(0), record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
