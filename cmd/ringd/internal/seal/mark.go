package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Sizes of a mark: the id of its key, and the code.
const (
	markID   = 16
	markSize = markID + sha256.Size
)

// markKey is the key of marks, which is another than the one that seals.
func markKey(secret []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "ringd mark v1", sha256.Size)
}

// Mark returns what shows later that a holder of the ring's first key wrote parts
// for this purpose. It hides nothing of them.
func (r *Keyring) Mark(purpose string, parts ...[]byte) []byte {
	out := append(make([]byte, 0, markSize), r.first.id...)
	return over(r.first.mac(), purpose, parts).Sum(out)
}

// Check is nil when Mark made mark of the same, under any key of the ring.
// *IntegrityError, whose field is the purpose, and *KeyError.
func (r *Keyring) Check(mark []byte, purpose string, parts ...[]byte) error {
	if len(mark) != markSize {
		return &IntegrityError{Field: purpose}
	}
	key, ok := r.keys[string(mark[:markID])]
	if !ok {
		return &KeyError{ID: string(mark[:markID])}
	}
	if !hmac.Equal(over(key.mac(), purpose, parts).Sum(nil), mark[markID:]) {
		return &IntegrityError{Field: purpose}
	}
	return nil
}

// over writes purpose and parts so that no two lists of them are the same text.
func over(h hash.Hash, purpose string, parts [][]byte) hash.Hash {
	var size [8]byte
	for _, p := range append([][]byte{[]byte(purpose)}, parts...) {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	return h
}
