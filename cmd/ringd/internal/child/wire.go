package child

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// A frame is a header and a body of JSON. The parent's header carries the
// limits, so that the child puts itself under them before it reads a byte that
// an author wrote.
const (
	magic      = "ringdcc1"
	headerSize = len(magic) + 3*8 // memory, CPU seconds or zero, length of the body

	maxSources = schema.MaxTotalBytes + 1<<20
	maxFiles   = 32 << 20
	maxRequest = 2*(maxSources+maxFiles) + 1<<20
	maxReply   = profiles.MaxSetBytes + 16<<20
)

type request struct {
	Sources         []schema.Source   `json:"sources"`
	Files           map[string][]byte `json:"files,omitempty"`
	DiagnosticsOnly bool              `json:"diagnosticsOnly,omitempty"`
	JSONSchema      bool              `json:"jsonSchema,omitempty"`
}

type reply struct {
	Set         []byte             `json:"set,omitempty"` // canonical bytes
	Diagnostics schema.Diagnostics `json:"diagnostics,omitempty"`
	JSONSchema  []byte             `json:"jsonSchema,omitempty"`
}

func frame(memory, cpuSeconds uint64, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, headerSize+len(text))
	out = append(out, magic...)
	out = binary.BigEndian.AppendUint64(out, memory)
	out = binary.BigEndian.AppendUint64(out, cpuSeconds)
	out = binary.BigEndian.AppendUint64(out, uint64(len(text)))
	return append(out, text...), nil
}

func encodeRequest(cfg Config, req Request) ([]byte, error) {
	return frame(uint64(cfg.MemoryBytes), uint64(cpuLimit(cfg.Wall)/time.Second), request(req))
}

// header is the fixed part of a frame.
type header struct {
	memory, cpuSeconds, body uint64
}

func readHeader(r io.Reader, most uint64) (header, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, fmt.Errorf("read frame: %w", err)
	}
	if string(b[:len(magic)]) != magic {
		return header{}, errors.New("read frame: not a frame of this version")
	}
	n := b[len(magic):]
	h := header{binary.BigEndian.Uint64(n), binary.BigEndian.Uint64(n[8:]), binary.BigEndian.Uint64(n[16:])}
	if h.body > most {
		return header{}, fmt.Errorf("read frame: %d bytes are above the limit", h.body)
	}
	return h, nil
}

// decodeReply reads a child's answer as something that a hostile source may
// have had a hand in: the set is verified as if it came from the network.
func decodeReply(b []byte, req Request) (Result, error) {
	if len(b) < headerSize {
		return Result{}, errors.New("the answer is cut short")
	}
	h, err := readHeader(bytes.NewReader(b), maxReply)
	if err != nil {
		return Result{}, err
	}
	if body := b[headerSize:]; uint64(len(body)) != h.body {
		return Result{}, errors.New("the answer is not as long as it says")
	}
	var r reply
	if err := json.Unmarshal(b[headerSize:], &r); err != nil {
		return Result{}, fmt.Errorf("read the answer: %w", err)
	}
	out := Result{Diagnostics: r.Diagnostics, JSONSchema: r.JSONSchema}
	switch {
	case r.Diagnostics.Refused() || req.DiagnosticsOnly:
		if len(r.Set) > 0 {
			return Result{}, errors.New("the answer holds a set that nobody asked for")
		}
		return out, nil
	case len(r.Set) == 0:
		return Result{}, errors.New("the answer holds neither a set nor a finding that refuses it")
	}
	if out.Set, err = profiles.DecodeSet(r.Set); err != nil {
		return Result{}, err
	}
	out.Encoded = r.Set
	return out, nil
}
