package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Sizes of a MAC: the id of its key, and the code.
const (
	markID   = 16
	markSize = markID + sha256.Size
)

// markKey derives the MAC key, which differs from the sealing key.
func markKey(secret []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "ringd mark v1", sha256.Size)
}

// Mark returns a MAC of parts for a purpose, under the ring's first key. It does not encrypt them.
func (r *Keyring) Mark(purpose string, parts ...[]byte) []byte {
	out := append(make([]byte, 0, markSize), r.first.id...)
	return writeParts(r.first.mac(), purpose, parts).Sum(out)
}

// Check returns nil if mark is a MAC of the same parts and purpose under any key of the ring. Errors:
// *IntegrityError, whose field is the purpose, and *KeyError.
func (r *Keyring) Check(mark []byte, purpose string, parts ...[]byte) error {
	if len(mark) != markSize {
		return &IntegrityError{Field: purpose}
	}
	key, ok := r.keys[string(mark[:markID])]
	if !ok {
		return &KeyError{ID: string(mark[:markID])}
	}
	if !hmac.Equal(writeParts(key.mac(), purpose, parts).Sum(nil), mark[markID:]) {
		return &IntegrityError{Field: purpose}
	}
	return nil
}

// writeParts writes purpose and parts so that different lists never give the same bytes.
func writeParts(h hash.Hash, purpose string, parts [][]byte) hash.Hash {
	var size [8]byte
	for _, p := range append([][]byte{[]byte(purpose)}, parts...) {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	return h
}
