package snapshot // the header and the compressed content have no exported entry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

const from = 4 * block

func digest(c string) string { return digestPrefix + strings.Repeat(c, digestSize) }

func image() Image {
	im := Image{From: from, Memory: make([]byte, pageSize*2-from)}
	for i := range im.Memory {
		im.Memory[i] = byte(i * 7)
	}
	return im
}

// fresh is the memory of a VM of n pages that has just started.
func fresh(im Image, pages int) []byte {
	m := make([]byte, pages*pageSize)
	copy(m[im.From:], im.Memory)
	return m
}

func full() State {
	return State{
		Bridges: []string{"gate", "tools.search"}, Calls: 9, Before: 2, Open: []Open{{3, 1}, {9, 0}},
		Rejections: 5, Rejected: []Rejected{{1, 70000, 70008, 70016}, {5, 80000, 80008, 80016}},
		Program: 90000, Module: true, Fuel: 1 << 40, CPU: time.Second, Console: 3, Dropped: 4, Lines: 5,
	}
}

func TestRoundTrip(t *testing.T) {
	im := image()
	for _, s := range []State{full(), {Ended: true}, {Program: from, Adopted: true}, {Program: 2*pageSize - 8}} {
		for _, pages := range []int{2, 5} {
			memory := fresh(im, pages)
			for at := from + 3; at < len(memory); at += 9973 {
				memory[at] ^= 0x5a
			}
			var c Codec
			for range 2 { // with a used encoder and decoder too
				b, err := c.Write(digest("ab"), im, s, memory, 0)
				if err != nil {
					t.Fatal(err)
				}
				r, err := c.Open(b, digest("ab"), im, Limits{MemoryBytes: int64(len(memory))})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(s, r.State); diff != "" {
					t.Errorf("state:\n%s", diff)
				}
				got := fresh(im, pages)
				if err := r.Load(got); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, memory) {
					t.Error("the memory is another")
				}
				if err := r.Load(got); !errors.Is(err, errFormat) {
					t.Errorf("loaded twice: %v", err)
				}
				r.Close()
			}
		}
	}
}

func TestStackIsLeftOut(t *testing.T) {
	im := image()
	memory := fresh(im, 2)
	var c Codec
	want, err := c.Write(digest("ab"), im, full(), memory, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range from {
		memory[i] = 0xff
	}
	got, err := c.Write(digest("ab"), im, full(), memory, 0)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, and what was on the stack shows: %v", err, !bytes.Equal(got, want))
	}
}

// sealed makes a snapshot of parts that need not fit.
func sealed(t testing.TB, memory, state uint64, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(magic)
	b = append(b, bytes.Repeat([]byte{0xab}, digestSize)...)
	b = binary.LittleEndian.AppendUint64(b, memory)
	b = binary.LittleEndian.AppendUint64(b, state)
	b = append(b, make([]byte, sumSize)...)
	b = w.EncodeAll(content, b)
	copy(b[headerSize-sumSize:], sum(b))
	return b
}

func encoded(t testing.TB, s State) []byte {
	t.Helper()
	b, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read opens and loads b.
func read(b []byte, most int64) error {
	im := image()
	var c Codec
	r, err := c.Open(b, digest("ab"), im, Limits{MemoryBytes: most})
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Load(fresh(im, int(r.Memory)/pageSize))
}

func number(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// TestHostile: snapshots with a right sum that say what no VM could.
func TestHostile(t *testing.T) {
	state := encoded(t, full())
	size := uint64(len(state))
	one := append(number(from/block), make([]byte, block)...)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	with := func(change func(*State)) []byte {
		s := full()
		change(&s)
		return encoded(t, s)
	}
	tests := []struct {
		name          string
		memory, state uint64
		content       []byte
	}{
		{"memory below the image", pageSize, size, join(state, number(endOfBlocks))},
		{"memory of half a page", 2*pageSize + 8, size, join(state, number(endOfBlocks))},
		{"memory of 2^63", 1 << 63, size, join(state, number(endOfBlocks))},
		{"memory over the limit", 5 * pageSize, size, join(state, number(endOfBlocks))},
		{"a state over the bound", 2 * pageSize, maxState + 1, join(state, number(endOfBlocks))},
		{"a state that is not there", 2 * pageSize, maxState, state},
		{"a state that is too long", 2 * pageSize, size + 1, join(state, number(endOfBlocks))},
		{"a state that is too short", 2 * pageSize, size - 1, join(state, number(endOfBlocks))},
		{"no end", 2 * pageSize, size, join(state, one)},
		{"more after the end", 2 * pageSize, size, join(state, number(endOfBlocks), one)},
		{"a block on the stack", 2 * pageSize, size, join(state, number(from/block-1), one[4:], number(endOfBlocks))},
		{"a block after the memory", 2 * pageSize, size, join(state, number(2*pageSize/block), one[4:], number(endOfBlocks))},
		{"a block far away", 2 * pageSize, size, join(state, number(endOfBlocks-1), one[4:], number(endOfBlocks))},
		{"a block twice", 2 * pageSize, size, join(state, one, one, number(endOfBlocks))},
		{"a block cut off", 2 * pageSize, size, join(state, one[:100])},
	}
	for name, change := range map[string]func(*State){
		"program on the stack":         func(s *State) { s.Program = from - 8 },
		"program after the memory":     func(s *State) { s.Program = 2*pageSize - 7 },
		"no program":                   func(s *State) { s.Program = 0 },
		"more calls before than calls": func(s *State) { s.Before = 10 },
		"open call of no bridge":       func(s *State) { s.Open[0].Bridge = 2 },
		"open call out of order":       func(s *State) { s.Open[0].ID = 9 },
		"open call that never was":     func(s *State) { s.Open[1].ID = 10 },
		"open call 0":                  func(s *State) { s.Open[0].ID = 0 },
		"rejection out of order":       func(s *State) { s.Rejected[0].Seq = 5 },
		"rejection to come":            func(s *State) { s.Rejected[1].Seq = 6 },
		"rejection of nothing":         func(s *State) { s.Rejected[0].Object = 0 },
		"rejection outside":            func(s *State) { s.Rejected[0].Reason = 8 },
		"negative fuel":                func(s *State) { s.Fuel = -1 },
		"negative call":                func(s *State) { s.Open[0].ID = -3 },
	} {
		b := with(change)
		tests = append(tests, struct {
			name          string
			memory, state uint64
			content       []byte
		}{name, 2 * pageSize, uint64(len(b)), join(b, number(endOfBlocks))})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := read(sealed(t, tt.memory, tt.state, tt.content), 4*pageSize)
			if !errors.Is(err, errFormat) {
				t.Errorf("got %v", err)
			}
			if got := errors.Is(err, ErrSize); got != (tt.name == "memory over the limit") {
				t.Errorf("ErrSize %v: %v", got, err)
			}
		})
	}
	if err := read(sealed(t, 2*pageSize, size, join(state, one, number(endOfBlocks))), 4*pageSize); err != nil {
		t.Errorf("the sound one: %v", err)
	}
}

// TestBomb: a few bytes that claim to be many are refused without being many.
func TestBomb(t *testing.T) {
	state := encoded(t, full())
	bomb := sealed(t, 2*pageSize, uint64(len(state)), append(state, make([]byte, 64<<20)...))
	if err := read(bomb, 4*pageSize); !errors.Is(err, errFormat) {
		t.Errorf("got %v for %d bytes", err, len(bomb))
	}
}

func TestTooManyToWrite(t *testing.T) {
	im := image()
	var c Codec
	for _, s := range []State{
		{Program: from, Open: make([]Open, maxOpen+1)},
		{Program: from, Rejected: make([]Rejected, maxRejected+1)},
		{Program: from, Bridges: make([]string, maxBridges+1)},
	} {
		if _, err := c.Write(digest("ab"), im, s, fresh(im, 2), 0); !errors.Is(err, ErrSize) {
			t.Errorf("got %v", err)
		}
	}
	long := fresh(im, 2)
	for i, x := int(from), uint32(1); i < len(long); i++ {
		x = x*1664525 + 1013904223
		long[i] = byte(x >> 24)
	}
	if b, err := c.Write(digest("ab"), im, full(), long, int64(len(long))/2); !errors.Is(err, ErrSize) || b != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := c.Write(digest("ab"), im, full(), long, 2*int64(len(long))); err != nil {
		t.Errorf("after one that was too long: %v", err)
	}
	if _, err := c.Write("sha256:ab", im, full(), fresh(im, 2), 0); err == nil {
		t.Error("a short digest was taken")
	}
	if _, err := c.Write(digest("ab"), im, full(), fresh(im, 2)[:pageSize], 0); err == nil {
		t.Error("a memory below the image was taken")
	}
}

// FuzzSnapshot: no bytes make Open or Load panic, or take more than the limit; what
// opens is written again as it was.
func FuzzSnapshot(f *testing.F) {
	state := encoded(f, full())
	f.Add(uint64(2*pageSize), uint64(len(state)), append(state, number(endOfBlocks)...), false)
	f.Add(uint64(3*pageSize), uint64(len(state)),
		append(append(state, append(number(from/block), make([]byte, block)...)...), number(endOfBlocks)...), false)
	f.Add(uint64(2*pageSize), uint64(1), []byte{4, 0}, false)
	f.Add(uint64(0), uint64(0), sealed(f, 2*pageSize, uint64(len(state)), append(state, number(endOfBlocks)...)), true)
	f.Fuzz(func(t *testing.T, memory, size uint64, b []byte, raw bool) {
		if !raw {
			b = sealed(t, memory, size, b)
		} else if len(b) >= headerSize {
			b = append([]byte(nil), b...)
			copy(b[headerSize-sumSize:], sum(b))
		}
		im := image()
		var c Codec
		r, err := c.Open(b, digest("ab"), im, Limits{MemoryBytes: 4 * pageSize})
		if err != nil {
			if !errors.Is(err, errFormat) {
				t.Fatal(err)
			}
			return
		}
		if r.Memory > 4*pageSize {
			t.Fatalf("%d bytes", r.Memory)
		}
		m := fresh(im, int(r.Memory)/pageSize)
		s := r.State
		if err := r.Load(m); err != nil {
			return
		}
		again, err := c.Write(digest("ab"), im, s, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err = c.Open(again, digest("ab"), im, Limits{MemoryBytes: 4 * pageSize})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, r.State); diff != "" {
			t.Error(diff)
		}
		got := fresh(im, len(m)/pageSize)
		if err := r.Load(got); err != nil || !bytes.Equal(got, m) {
			t.Errorf("another memory, %v", err)
		}
	})
}
