package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
)

func markRing(t *testing.T, secrets ...byte) *seal.Keyring {
	t.Helper()
	var keys []seal.Key
	for _, b := range secrets {
		raw := bytes.Repeat([]byte{b}, 32)
		raw[0] ^= 1
		k, err := seal.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	r, err := seal.New(seal.Config{Keys: keys, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMark(t *testing.T) {
	r := markRing(t, 7)
	a, b := []byte("ab"), []byte("c")
	mark := r.Mark("answer", a, b)
	for name, ring := range map[string]*seal.Keyring{"the same ring": r, "after a change of keys": markRing(t, 9, 7)} {
		if err := ring.Check(mark, "answer", a, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unknown *seal.KeyError
	if err := markRing(t, 9).Check(mark, "answer", a, b); !errors.As(err, &unknown) || unknown.ID != r.KeyID() {
		t.Errorf("another key: %v", err)
	}
	for name, check := range map[string]func() error{
		"another purpose":  func() error { return r.Check(mark, "result", a, b) },
		"a part more":      func() error { return r.Check(mark, "answer", a, b, nil) },
		"a part less":      func() error { return r.Check(mark, "answer", a) },
		"cut elsewhere":    func() error { return r.Check(mark, "answer", []byte("a"), []byte("bc")) },
		"the other order":  func() error { return r.Check(mark, "answer", b, a) },
		"no mark":          func() error { return r.Check(nil, "answer", a, b) },
		"one that is cut":  func() error { return r.Check(mark[:len(mark)-1], "answer", a, b) },
		"one that is long": func() error { return r.Check(append(bytes.Clone(mark), 0), "answer", a, b) },
	} {
		var integrity *seal.IntegrityError
		if err := check(); !errors.As(err, &integrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range mark {
		flipped := bytes.Clone(mark)
		flipped[i] ^= 1
		if r.Check(flipped, "answer", a, b) == nil {
			t.Errorf("a flip of byte %d passes", i)
		}
	}
}
