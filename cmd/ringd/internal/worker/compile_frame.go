package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// A frame is a header and a body of JSON. The parent's header has the limits: the child sets them
// before it reads a byte that an author wrote. The child's header has its peak memory and the length
// of the set. The canonical bytes of the set follow the body.
const (
	frameMagic = "ringdcc1"
	headerSize = len(frameMagic) + 3*8 // two numbers and the length of the body

	maxSourceBytes    = schema.MaxTotalBytes + 1<<20
	maxModuleBytes    = 16 << 20
	maxCompileRequest = 2*(maxSourceBytes+maxModuleBytes+2*profiles.MaxSetBytes) + 1<<20
	maxCompileBody    = 8 << 20
	maxCompileReply   = maxCompileBody + profiles.MaxSetBytes
)

// compileRequest is a CompileRequest, CheckRequest, TestRequest or LayersRequest, as Kind says.
type compileRequest struct {
	Kind string `json:"kind,omitempty"`
	CompileRequest
	Part     bool                `json:"part,omitempty"`
	Set      []byte              `json:"set,omitempty"`
	Previous []byte              `json:"previous,omitempty"`
	Target   string              `json:"target,omitempty"`
	Policy   string              `json:"policy,omitempty"`
	Asked    *layers.AskedAction `json:"asked,omitempty"`
}

// diagnose returns a request of a kind about sources that wants no set back.
func diagnose(kind string, sources []schema.Source) compileRequest {
	return compileRequest{Kind: kind, CompileRequest: CompileRequest{Sources: sources, DiagnosticsOnly: true}}
}

// The kinds of requests.
const (
	kindCompile = ""
	kindCheck   = "check"
	kindTest    = "test"
	kindLayers  = "layers"
	kindWell    = "well" // tests whether this host can run a child
)

type compileReply struct {
	Diagnostics schema.Diagnostics   `json:"diagnostics,omitempty"`
	JSONSchema  []byte               `json:"jsonSchema,omitempty"`
	Tests       []RegoTest           `json:"tests,omitempty"`
	Layers      []layers.LayerAnswer `json:"layers,omitempty"`
	Ceilings    []schema.Policy      `json:"ceilings,omitempty"`
}

func encodeFrame(one, two uint64, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, headerSize+len(text))
	out = append(out, frameMagic...)
	out = binary.BigEndian.AppendUint64(out, one)
	out = binary.BigEndian.AppendUint64(out, two)
	out = binary.BigEndian.AppendUint64(out, uint64(len(text)))
	return append(out, text...), nil
}

func encodeRequest(cfg CompileConfig, may tryLimits, req compileRequest) ([]byte, error) {
	return encodeFrame(uint64(cfg.MemoryBytes), uint64(may.most/time.Second), req)
}

// frameHeader is the fixed part of a frame.
type frameHeader struct {
	one, two uint64 // memory and processor seconds; or peak memory and length of the set
	body     uint64
}

func readFrameHeader(r io.Reader, most uint64) (frameHeader, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return frameHeader{}, fmt.Errorf("read frame: %w", err)
	}
	if string(b[:len(frameMagic)]) != frameMagic {
		return frameHeader{}, errors.New("read frame: not a frame of this version")
	}
	n := b[len(frameMagic):]
	h := frameHeader{binary.BigEndian.Uint64(n), binary.BigEndian.Uint64(n[8:]), binary.BigEndian.Uint64(n[16:])}
	if h.body > most {
		return frameHeader{}, fmt.Errorf("read frame: %d bytes are above the limit", h.body)
	}
	return h, nil
}

// decodeReply reads a child's answer as something that a hostile source may
// have had a hand in: the set is verified as if it came from the network.
func decodeReply(b []byte, req compileRequest) (CompileResult, error) {
	if len(b) < headerSize {
		return CompileResult{}, errors.New("the answer is cut short")
	}
	h, err := readFrameHeader(bytes.NewReader(b), maxCompileBody)
	if err != nil {
		return CompileResult{}, err
	}
	rest := b[headerSize:]
	if h.two > maxCompileReply || uint64(len(rest)) != h.body+h.two {
		return CompileResult{}, errors.New("the answer is not as long as it says")
	}
	var r compileReply
	if err := json.Unmarshal(rest[:h.body], &r); err != nil {
		return CompileResult{}, fmt.Errorf("read the answer: %w", err)
	}
	out := CompileResult{
		Diagnostics: r.Diagnostics,
		JSONSchema:  r.JSONSchema,
		tests:       r.Tests,
		layers:      r.Layers,
		Ceilings:    r.Ceilings,
		Usage:       Usage{PeakBytes: int64(min(h.one, 1<<62))},
	}
	set := rest[h.body:]
	switch {
	case r.Diagnostics.Refused() || req.DiagnosticsOnly:
		if len(set) > 0 {
			return CompileResult{}, errors.New("the answer holds a set that nobody asked for")
		}
		return out, nil
	case len(set) == 0:
		return CompileResult{}, errors.New("the answer holds neither a set nor a finding that refuses it")
	}
	if out.Set, err = profiles.DecodeSet(set); err != nil {
		return CompileResult{}, err
	}
	out.Encoded = bytes.Clone(set)
	return out, nil
}
