// Package snapshot is the format of a snapshot of a quiescent VM: the engine it belongs to, the few values the
// host keeps of it, and its linear memory as a difference to the image from which every VM starts.
//
// Its input is untrusted: a program that broke out of its engine may have made the snapshot. Every size is
// checked before anything is allocated for it, every field before it is used, and invalid input is errFormat.
// It authenticates nothing: the sum detects accidents, the caller's seal detects attackers.
//
// Only package engine imports it. It uses no file, network, clock or chance.
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
	// errFormat wraps the error of an invalid snapshot.
	errFormat = errors.New("not a snapshot")
	// ErrEngine: another engine made it. The error names that digest.
	ErrEngine = errors.New("snapshot of another engine")
)

const (
	magic        = "ringdjs\x01" // the last byte is the version of the format
	digestPrefix = "sha256:"
	digestSize   = 32
	sumSize      = 16
	headerSize   = len(magic) + digestSize + 8 + 8 + sumSize
	// block is the size of the pieces in which memory is compared with the image. With smaller blocks, the
	// positions of the blocks would take more bytes than the unchanged bytes of a larger block, which zstd packs.
	block    = 4 << 10
	pageSize = 64 << 10
	// endOfBlocks is in the place of the next block's number.
	endOfBlocks = ^uint32(0)
	// window limits the memory of both directions.
	window = 1 << 20
)

// Image is the memory against which differences are made. Memory starts at From; below is the stack, and above
// it memory is zero. It is immutable.
type Image struct {
	From   uint32
	Memory []byte
}

// Codec reads and writes snapshots. Its zero value is ready and safe for
// concurrent use; it must not be copied.
type Codec struct {
	writers, readers sync.Pool
}

// Write makes the snapshot of a VM: its state and its whole linear memory, except the part below the image.
// digest names the engine, as Digest of package engine does. A result with more than most bytes, if that is not
// 0, is ErrSize; it never holds more than that.
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
	out.Buffer.Write(append(head, make([]byte, sumSize)...)) // the sum is known only at the end
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

// bounded accepts at most most bytes, if that is not 0.
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

// writer returns an encoder that writes to out.
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

// writeMemory writes each block that differs from the image, as its number and the difference.
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

// block returns the block of the image at an address that is a multiple of block and not below From.
func (im Image) block(at int, zero []byte) []byte {
	if at -= int(im.From); at < len(im.Memory) {
		return im.Memory[at : at+block]
	}
	return zero
}

// sum is over all of a snapshot except the sum itself.
func sum(b []byte) []byte {
	h := sha256.New()
	h.Write(b[:headerSize-sumSize])
	h.Write(b[headerSize:])
	return h.Sum(nil)[:sumSize]
}

// digestBytes parses "sha256:" and 64 digits.
func digestBytes(digest string) ([]byte, error) {
	text, ok := strings.CutPrefix(digest, digestPrefix)
	raw, err := hex.DecodeString(text)
	if !ok || err != nil || len(raw) != digestSize {
		return nil, fmt.Errorf("%q is not the digest of an engine", digest)
	}
	return raw, nil
}
