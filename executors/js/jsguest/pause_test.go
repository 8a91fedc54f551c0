package jsguest

// In the package: what a record looks like is nobody else's affair, and the
// process that reads it cannot be had without a sealed guest.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine"
)

func sampleRecord() record {
	return record{Format: recordFormat, Open: []openRecord{{Call: 2, ID: 1, Bytes: 5}, {Call: 9, ID: 12}}, Console: 100,
		Dropped: 3,
		Denials: 2, CPU: 1e6, Clock: 1e18, File: "plan.js", Text: "abc",
		Modules:  map[string]served{"policy:math": {Digest: "sha256:1", Typed: true}},
		Programs: []earlier{{File: "a.js", Author: "a.js"}, {File: "a.js#2", Author: "a.js", Translated: true}},
		Count:    4}
}

func TestRecordRoundTrip(t *testing.T) {
	for _, rec := range []record{sampleRecord(), {Format: recordFormat}} {
		head, err := rec.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := decodeRecord(append(head, "engine"...), 9)
		if err != nil || string(rest) != "engine" {
			t.Fatalf("%q %v", rest, err)
		}
		if d := cmp.Diff(rec, got); d != "" {
			t.Error(d)
		}
	}
}

// Modules are for frames; a record that they make too long goes without.
func TestRecordGivesWay(t *testing.T) {
	rec := sampleRecord()
	for i := range 2000 {
		rec.Modules[strings.Repeat("m", 600)+fmt.Sprint(i)] = served{Digest: "d"}
	}
	head, err := rec.encode()
	if err != nil || len(head) > 4+maxRecordBytes {
		t.Fatalf("%d bytes, %v", len(head), err)
	}
	got, _, err := decodeRecord(append(head, 'x'), 9)
	if err != nil || got.Modules != nil || len(got.Open) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	rec.File = strings.Repeat("f", maxRecordBytes)
	if head, err = rec.encode(); !errors.Is(err, engine.ErrTooLarge) || head != nil {
		t.Errorf("%d bytes, %v", len(head), err)
	}
}

func TestRecordRefuses(t *testing.T) {
	frame := func(body string) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), "engine"...)
	}
	changed := func(change func(*record)) []byte {
		rec := sampleRecord()
		change(&rec)
		body, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		return frame(string(body))
	}
	many := func(n int, bytes int64) (out []openRecord) {
		for i := range n {
			out = append(out, openRecord{Call: uint64(i + 1), ID: int64(i + 1), Bytes: bytes})
		}
		return out
	}
	for name, in := range map[string][]byte{
		"nothing":              nil,
		"cut in the length":    {0, 0},
		"longer than it is":    {0, 0, 1, 0, 'x'},
		"no engine behind":     frame(`{"format":1}`)[:4+len(`{"format":1}`)],
		"over its limit":       append(binary.BigEndian.AppendUint32(nil, maxRecordBytes+1), make([]byte, maxRecordBytes+9)...),
		"not JSON":             frame(`{"format":`),
		"text behind":          frame(`{"format":1}{}`),
		"an unknown field":     frame(`{"format":1,"root":true}`),
		"another format":       frame(`{"format":2}`),
		"no format":            frame(`{}`),
		"a call of the future": changed(func(r *record) { r.Open[1].Call = 10 }),
		"call zero":            changed(func(r *record) { r.Open[0].Call = 0 }),
		"a call twice":         changed(func(r *record) { r.Open[1].Call = 2 }),
		"an id twice":          changed(func(r *record) { r.Open[1].ID = 1 }),
		"no id":                changed(func(r *record) { r.Open[1].ID = 0 }),
		"negative bytes":       changed(func(r *record) { r.Open[1].Bytes = -1 }),
		"huge arguments":       changed(func(r *record) { r.Open[1].Bytes = valueBytes + 1 }),
		"too many calls":       changed(func(r *record) { r.Open = many(executors.MaxOpenAsks+1, 0) }),
		"too many bytes":       changed(func(r *record) { r.Open = many(5, valueBytes) }),
		"negative console":     changed(func(r *record) { r.Console = -1 }),
		"negative dropped":     changed(func(r *record) { r.Dropped = -1 }),
		"negative denials":     changed(func(r *record) { r.Denials = -1 }),
		"negative time":        changed(func(r *record) { r.CPU = -1 }),
		"time that overflows":  changed(func(r *record) { r.CPU = 1 << 62 }),
		"count below the list": changed(func(r *record) { r.Count = 1 }),
		"a clock before time":  changed(func(r *record) { r.Clock = -1 }),
		"too many programs":    changed(func(r *record) { r.Programs, r.Count = make([]earlier, maxPrograms+1), 1000 }),
	} {
		asked := uint64(9)
		if strings.HasPrefix(name, "too many ") {
			asked = 5000
		}
		if _, _, err := decodeRecord(in, asked); !errors.Is(err, errRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is read is in bounds, and reads back as it was.
func FuzzRecord(f *testing.F) {
	head, err := sampleRecord().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(head, "engine"...), uint64(9))
	f.Add([]byte("\x00\x00\x00\x0c{\"format\":1}x"), uint64(0))
	f.Fuzz(func(t *testing.T, in []byte, asked uint64) {
		rec, rest, err := decodeRecord(in, asked)
		if err != nil {
			return
		}
		if !rec.sound(asked) || len(rest) == 0 || !bytes.HasSuffix(in, rest) {
			t.Fatalf("%+v %q", rec, rest)
		}
		head, err := rec.encode()
		if errors.Is(err, engine.ErrTooLarge) { // as JSON is written, a text may take six times as much
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := decodeRecord(slices.Concat(head, rest), asked)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Modules = maps.Clone(rec.Modules); len(head) < maxRecordBytes/2 &&
			!cmp.Equal(rec, again, cmp.Transformer("size", emptyIsNil)) {
			t.Fatal(cmp.Diff(rec, again))
		}
	})
}

// emptyIsNil makes no difference between an empty list or map and none.
func emptyIsNil(r record) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// readOnly is a connection of which only what arrives matters.
type readOnly struct{ *bytes.Reader }

func (readOnly) Write(p []byte) (int, error) { return len(p), nil }

// The pieces of a snapshot are as many bytes as were promised, and nothing else
// comes between.
func TestLoads(t *testing.T) {
	load := func(n int) executors.Load { return executors.Load{Bytes: bytes.Repeat([]byte("x"), n)} }
	for _, tt := range []struct {
		name  string
		bytes uint64
		sent  []executors.Message
		ok    bool
	}{
		{"in two pieces", 5, []executors.Message{load(3), load(2)}, true},
		{"too much", 5, []executors.Message{load(3), load(3)}, false},
		{"too little", 5, []executors.Message{load(3)}, false},
		{"a program between", 5, []executors.Message{load(3), executors.Start{}, load(2)}, false},
		{"an answer between", 5, []executors.Message{executors.Reply{Call: 1}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			host := executors.NewStream(&out, executors.HostSide)
			for _, m := range tt.sent {
				if err := host.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			guest := executors.NewStream(readOnly{bytes.NewReader(out.Bytes())}, executors.GuestSide)
			b, err := guest.Loads(executors.Restore{Bytes: tt.bytes})
			if (err == nil) != tt.ok || tt.ok && uint64(len(b)) != tt.bytes {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
}
