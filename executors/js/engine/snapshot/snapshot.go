// Package snapshot is the form in which a quiescent VM is written down: the
// engine it belongs to, the few things the host keeps of it, and its linear
// memory as a difference to the image that every VM starts from.
//
// What it reads is outside bytes: whoever made a snapshot may have been a
// program that broke out of its engine. Every size is bounded before anything is
// allocated for it, every field before it is used, and what does not hold is
// ErrFormat. It authenticates nothing: the sum finds accidents, the caller's
// seal finds attackers.
//
// Only package engine imports it. It is pure: no file, network, clock or chance.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var (
	// errFormat wraps what is wrong with a snapshot.
	errFormat = errors.New("not a snapshot")
	// ErrEngine: it was made by another engine; the error names that digest.
	ErrEngine = errors.New("snapshot of another engine")
)

const (
	magic        = "ringdjs\x01" // the last byte is the version of the format
	digestPrefix = "sha256:"
	digestSize   = 32
	sumSize      = 16
	headerSize   = len(magic) + digestSize + 8 + 8 + sumSize
	// block is the unit of the difference. Smaller ones cost more in positions
	// than zstd takes for the zeros of a larger one.
	block    = 4 << 10
	pageSize = 64 << 10
	// endOfBlocks stands where the number of a block would.
	endOfBlocks = ^uint32(0)
	// window bounds the memory of both directions.
	window = 1 << 20
)

// Image is the memory that differences are taken to: from From on it is Memory,
// below it is stack and above it zero. It is immutable.
type Image struct {
	From   uint32
	Memory []byte
}

// Codec reads and writes snapshots. Its zero value is ready and safe for
// concurrent use; it must not be copied.
type Codec struct {
	writers, readers sync.Pool
}

// Write makes the snapshot of a VM: its state and its whole linear memory, of
// which what lies below the image is left out. Digest names the engine, as
// Digest of package engine does. What has more than most bytes, where that is not
// 0, is ErrSize; no more than that is held.
func (c *Codec) Write(digest string, im Image, s State, memory []byte, most int64) ([]byte, error) {
	raw, err := digestBytes(digest)
	if err != nil {
		return nil, err
	}
	state, err := s.encode()
	if err != nil {
		return nil, err
	}
	out := bounded{most: most}
	out.Grow(16 << 10)
	head := append([]byte(magic), raw...)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(memory)))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(state)))
	out.Buffer.Write(append(head, make([]byte, sumSize)...)) // the sum is known at the end
	w, err := c.writer(&out)
	if err != nil {
		return nil, err
	}
	defer c.writers.Put(w)
	if _, err := w.Write(state); err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	if err := writeMemory(w, im, memory); err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	b := out.Bytes()
	copy(b[headerSize-sumSize:], sum(b))
	return b, nil
}

// bounded takes no more than most bytes, where that is not 0.
type bounded struct {
	bytes.Buffer
	most int64
}

func (w *bounded) Write(b []byte) (int, error) {
	if w.most > 0 && int64(w.Len()+len(b)) > w.most {
		return 0, fmt.Errorf("%w: more than %d bytes when packed", ErrSize, w.most)
	}
	return w.Buffer.Write(b)
}

// writer gives an encoder that writes to out.
func (c *Codec) writer(out io.Writer) (*zstd.Encoder, error) {
	if w, ok := c.writers.Get().(*zstd.Encoder); ok {
		w.Reset(out)
		return w, nil
	}
	w, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	return w, nil
}

// writeMemory writes each block that is not as the image has it, as its number
// and the difference.
func writeMemory(w io.Writer, im Image, memory []byte) error {
	if int(im.From)%block != 0 || len(memory)%pageSize != 0 || len(memory) < int(im.From)+len(im.Memory) {
		return fmt.Errorf("memory of %d bytes over an image from %d", len(memory), im.From)
	}
	var zero [block]byte
	var record [4 + block]byte
	for at := int(im.From); at < len(memory); at += block {
		now, was := memory[at:at+block], im.block(at, zero[:])
		if bytes.Equal(now, was) {
			continue
		}
		binary.LittleEndian.PutUint32(record[:], uint32(at/block))
		subtle.XORBytes(record[4:], now, was)
		if _, err := w.Write(record[:]); err != nil {
			return err
		}
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, endOfBlocks))
	return err
}

// block is what stands at an address that is a multiple of block and not below
// From.
func (im Image) block(at int, zero []byte) []byte {
	if at -= int(im.From); at < len(im.Memory) {
		return im.Memory[at : at+block]
	}
	return zero
}

// sum is over all of a snapshot but the sum itself.
func sum(b []byte) []byte {
	h := sha256.New()
	h.Write(b[:headerSize-sumSize])
	h.Write(b[headerSize:])
	return h.Sum(nil)[:sumSize]
}

// digestBytes reads "sha256:" and 64 digits.
func digestBytes(digest string) ([]byte, error) {
	text, ok := strings.CutPrefix(digest, digestPrefix)
	raw, err := hex.DecodeString(text)
	if !ok || err != nil || len(raw) != digestSize {
		return nil, fmt.Errorf("%q is not the digest of an engine", digest)
	}
	return raw, nil
}
