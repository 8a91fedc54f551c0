package pause

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles/canonjson"
)

// magic is the beginning of every encoded record and names the format.
const magic = "ringd.pause/v1\n"

// ErrFormat is wrapped by Decode if the bytes are not a record of a format that it knows.
var ErrFormat = fmt.Errorf("pause record: %w", executors.ErrFormat)

// Digest returns "sha256:" and the digest in hex.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Key returns the idempotency key of a call that is not in the journal.
func Key(run, call, digest string) string {
	return Digest([]byte(run + "\x00" + call + "\x00" + digest))
}

// Encode returns the bytes of r: the name of the format, the length of the head and that of
// its compressed form as uvarints, the head as compressed JSON, and the snapshot as it is.
// It refuses what Decode would refuse.
func (r *Record) Encode() ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("encode pause of run %s: %w", r.Run, err)
	}
	var head bytes.Buffer
	enc := json.NewEncoder(&head)
	enc.SetEscapeHTML(false) // schemas keep their text
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode pause of run %s: %w", r.Run, err)
	}
	if head.Len() > maxHead {
		return nil, fmt.Errorf("encode pause of run %s: it has %d bytes beside the snapshot, at most %d fit",
			r.Run, head.Len(), maxHead)
	}
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(head.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encode pause of run %s: %w", r.Run, err)
	}
	out := make([]byte, 0, len(magic)+2*binary.MaxVarintLen64+small.Len()+len(r.Snapshot))
	out = append(out, magic...)
	out = binary.AppendUvarint(out, uint64(head.Len()))
	out = binary.AppendUvarint(out, uint64(small.Len()))
	out = append(out, small.Bytes()...)
	return append(out, r.Snapshot...), nil
}

// Decode reads what Encode wrote, and nothing else. An error wraps ErrFormat or says what no
// run could have written. Sizes are checked before memory is allocated. The record shares b.
func Decode(b []byte) (Record, error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return Record{}, fmt.Errorf("decode pause: %w", ErrFormat)
	}
	size, rest, ok := uvarint(rest)
	packed, rest, ok2 := uvarint(rest)
	if !ok || !ok2 || size > maxHead || packed > uint64(len(rest)) {
		return Record{}, fmt.Errorf("decode pause: %w: its lengths are not valid", ErrFormat)
	}
	in := flate.NewReader(bytes.NewReader(rest[:packed]))
	var head bytes.Buffer
	n, err := io.Copy(&head, io.LimitReader(in, int64(size)+1))
	if err != nil || n != int64(size) {
		return Record{}, fmt.Errorf("decode pause: %w: its head does not unpack", ErrFormat)
	}
	d := json.NewDecoder(&head)
	d.DisallowUnknownFields()
	var r Record
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("decode pause: %w: %w", ErrFormat, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Record{}, fmt.Errorf("decode pause: %w: data after the head", ErrFormat)
	}
	r.Snapshot = rest[packed:]
	if err := r.Check(); err != nil {
		return Record{}, fmt.Errorf("decode pause of run %s: %w", clip(r.Run), err)
	}
	return r, nil
}

// uvarint reads a number in its shortest form from b.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func clip(s string) string { return canonjson.Truncate(s, 64) }
