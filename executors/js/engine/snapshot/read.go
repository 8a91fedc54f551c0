package snapshot

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Limits of the sizes in a snapshot.
type Limits struct {
	MemoryBytes int64 // of linear memory
}

// ErrSize: the memory of a snapshot is larger than the limits allow, then it is wrapped together with
// errFormat; or the snapshot to write is too large.
var ErrSize = errors.New("too much")

// Reader is an opened snapshot: State is decoded and checked, the memory is not read yet. The caller calls Load
// once, or Close.
type Reader struct {
	State  State
	Memory uint32 // size of the linear memory

	codec   *Codec
	zstd    *zstd.Decoder
	content *bufio.Reader
	image   Image
}

// Open checks the digest, the sum and the sizes of b, in that order, and reads
// the state. It keeps b until Load or Close.
func (c *Codec) Open(b []byte, digest string, im Image, l Limits) (*Reader, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes", errFormat, len(b))
	}
	if string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it begins with %x", errFormat, b[:len(magic)])
	}
	want, err := digestBytes(digest)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(sum(b), b[headerSize-sumSize:headerSize]) != 1 {
		return nil, fmt.Errorf("%w: it is damaged or cut off", errFormat)
	}
	header := b[len(magic):]
	if got := header[:digestSize]; !bytes.Equal(got, want) {
		return nil, fmt.Errorf("%w: %w %s%s", errFormat, ErrEngine, digestPrefix, hex.EncodeToString(got))
	}
	memory, state := binary.LittleEndian.Uint64(header[digestSize:]), binary.LittleEndian.Uint64(header[digestSize+8:])
	switch {
	case memory%pageSize != 0, memory > 1<<32-pageSize, memory < uint64(im.From)+uint64(len(im.Memory)):
		return nil, fmt.Errorf("%w: %d bytes of memory", errFormat, memory)
	case memory > uint64(max(l.MemoryBytes, 0)):
		return nil, fmt.Errorf("%w: %w: %d bytes, the limit is %d", errFormat, ErrSize, memory, l.MemoryBytes)
	case state > maxState:
		return nil, fmt.Errorf("%w: a state of %d bytes", errFormat, state)
	}
	r := &Reader{Memory: uint32(memory), codec: c, image: im}
	if err := r.open(b[headerSize:], int64(state)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// open begins to decompress and reads the state, of size bytes.
func (r *Reader) open(compressed []byte, size int64) error {
	var err error
	if r.zstd, err = r.codec.reader(bytes.NewReader(compressed)); err != nil {
		return err
	}
	// The rest is read as blocks, of which each may occur once.
	most := size + int64(r.Memory)/block*(4+block) + 4
	r.content = bufio.NewReaderSize(io.LimitReader(r.zstd, most+1), 4+block)
	var text bytes.Buffer // grows with the bytes that are there, not with the stated size
	if n, err := io.CopyN(&text, r.content, size); err != nil {
		return fmt.Errorf("%w: %d of %d bytes of state: %w", errFormat, n, size, err)
	}
	r.State, err = decodeState(text.Bytes(), r.image.From, r.Memory)
	return err
}

// reader returns a decoder of in. It starts no goroutine.
func (c *Codec) reader(in io.Reader) (*zstd.Decoder, error) {
	d, ok := c.readers.Get().(*zstd.Decoder)
	var err error
	if ok {
		err = d.Reset(in)
	} else {
		d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window), zstd.WithDecoderMaxMemory(1<<33))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	return d, nil
}

// Load applies the difference to memory, which must be the image's and of the size of the snapshot's. After an
// error the content of memory is undefined. It closes r.
func (r *Reader) Load(memory []byte) error {
	defer r.Close()
	if r.content == nil {
		return fmt.Errorf("%w: it is closed", errFormat)
	}
	if len(memory) != int(r.Memory) {
		return fmt.Errorf("load a snapshot: %d bytes of memory, not %d", len(memory), r.Memory)
	}
	last := int64(-1)
	for {
		var number [4]byte
		if _, err := io.ReadFull(r.content, number[:]); err != nil {
			return fmt.Errorf("%w: no end: %w", errFormat, err)
		}
		n := int64(binary.LittleEndian.Uint32(number[:]))
		if n == int64(endOfBlocks) {
			break
		}
		at := n * block
		if n <= last || at < int64(r.image.From) || at+block > int64(len(memory)) {
			return fmt.Errorf("%w: block %d", errFormat, n)
		}
		last = n
		difference, err := r.content.Peek(block)
		if err != nil {
			return fmt.Errorf("%w: block %d: %w", errFormat, n, err)
		}
		target := memory[at : at+block]
		subtle.XORBytes(target, target, difference)
		if _, err := r.content.Discard(block); err != nil {
			return fmt.Errorf("%w: block %d: %w", errFormat, n, err)
		}
	}
	if _, err := r.content.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it goes on after its end", errFormat)
	}
	return nil
}

// Close releases the decoder. It may be called more than once.
func (r *Reader) Close() {
	if r.zstd == nil {
		return
	}
	if r.zstd.Reset(nil) == nil { // releases the bytes
		r.codec.readers.Put(r.zstd)
	}
	r.zstd, r.content = nil, nil
}
