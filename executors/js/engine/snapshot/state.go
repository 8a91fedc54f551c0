package snapshot

import (
	"encoding/binary"
	"fmt"
	"time"
)

// State holds the host's values of a VM, apart from its memory. Addresses are of the guest's memory.
type State struct {
	Bridges    []string   // in the guest's numbering
	Calls      int64      // ids given out
	Before     int64      // those of programs that had ended
	Open       []Open     // by ascending id
	Rejections int64      // seen so far
	Rejected   []Rejected // not handled, by ascending Seq
	Program    uint32     // its promise
	Module     bool       // the program is a module
	Adopted    bool       // Program is the promise that was the value of a script
	Ended      bool       // the program has ended, and another may be started
	Fuel       int64
	CPU        time.Duration
	Console    int64 // bytes given out
	Dropped    int64 // bytes over the limit
	Lines      int64 // lines over the limit
}

// Open is a call that waits.
type Open struct {
	ID     int64
	Bridge int // index in Bridges
}

// Rejected is a promise that was rejected and is not handled.
type Rejected struct {
	Seq                     int64
	Object, Promise, Reason uint32
}

// Limits of a state. Only a hostile program reaches one of them. No snapshot of such a program can be taken.
const (
	maxBridges = 1 << 12
	maxName    = 1 << 11
	maxOpen    = 1 << 16
	// maxRejected is far more than are ever read.
	maxRejected = 1 << 16
	maxState    = maxBridges*(maxName+4) + (maxOpen*2+maxRejected*4)*binary.MaxVarintLen64 + 4096
)

// Flags.
const (
	flagModule = 1 << iota
	flagAdopted
	flagEnded
	flagsEnd
)

func (s State) encode() ([]byte, error) {
	if len(s.Bridges) > maxBridges || len(s.Open) > maxOpen || len(s.Rejected) > maxRejected {
		return nil, fmt.Errorf("%w: %d bridges, %d open calls and %d unhandled rejections are too many",
			ErrSize, len(s.Bridges), len(s.Open), len(s.Rejected))
	}
	var flags uint64
	for bit, on := range map[uint64]bool{flagModule: s.Module, flagAdopted: s.Adopted, flagEnded: s.Ended} {
		if on {
			flags |= bit
		}
	}
	b := binary.AppendUvarint(nil, flags)
	put := func(numbers ...int64) {
		for _, n := range numbers {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	put(s.Calls, s.Before, s.Rejections, int64(s.Program), s.Fuel, int64(s.CPU), s.Console, s.Dropped, s.Lines)
	put(int64(len(s.Bridges)))
	for _, name := range s.Bridges {
		put(int64(len(name)))
		b = append(b, name...)
	}
	put(int64(len(s.Open)))
	for _, c := range s.Open {
		put(c.ID, int64(c.Bridge))
	}
	put(int64(len(s.Rejected)))
	for _, r := range s.Rejected {
		put(r.Seq, int64(r.Object), int64(r.Promise), int64(r.Reason))
	}
	return b, nil
}

// stateReader reads numbers, and keeps the first error.
type stateReader struct {
	b        []byte
	from, to uint32 // range of addresses of the guest's values
	err      error
}

func (r *stateReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: state: %s", errFormat, fmt.Sprintf(format, args...))
	}
}

// number reads a number between 0 and most.
func (r *stateReader) number(most int64) int64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(most) {
		r.fail("a number is missing or above %d", most)
		r.b = nil
		return 0
	}
	r.b = r.b[size:]
	return int64(n)
}

// address reads the address of a value of the guest.
func (r *stateReader) address() uint32 {
	at := uint32(r.number(1<<32 - 1))
	if r.err == nil && (at < r.from || uint64(at)+8 > uint64(r.to)) {
		r.fail("an address is outside of memory")
	}
	return at
}

func (r *stateReader) text(most int64) string {
	n := r.number(most)
	if int64(len(r.b)) < n {
		r.fail("a text is cut off")
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// decodeState decodes the output of encode, for a memory whose values are at from and above.
func decodeState(b []byte, from, to uint32) (State, error) {
	const most = 1<<63 - 1
	r := &stateReader{b: b, from: from, to: to}
	flags := r.number(flagsEnd - 1)
	s := State{
		Module: flags&flagModule != 0, Adopted: flags&flagAdopted != 0, Ended: flags&flagEnded != 0,
		Calls: r.number(1 << 53), Before: r.number(1 << 53), Rejections: r.number(most / 2),
		Program: uint32(r.number(1<<32 - 1)),
		Fuel:    r.number(most / 2), CPU: time.Duration(r.number(most / 2)),
		Console: r.number(most / 2), Dropped: r.number(most / 2), Lines: r.number(most / 2),
	}
	if at := s.Program; at != 0 && (at < from || uint64(at)+8 > uint64(to)) || at == 0 && !s.Ended {
		r.fail("the program is outside of memory")
	}
	if s.Before > s.Calls {
		r.fail("%d calls, %d of them before", s.Calls, s.Before)
	}
	for n := r.number(maxBridges); n > 0 && r.err == nil; n-- {
		s.Bridges = append(s.Bridges, r.text(maxName))
	}
	for n := r.number(maxOpen); n > 0 && r.err == nil; n-- {
		c := Open{ID: r.number(s.Calls), Bridge: int(r.number(maxBridges))}
		if c.Bridge >= len(s.Bridges) || len(s.Open) > 0 && c.ID <= s.Open[len(s.Open)-1].ID || c.ID == 0 {
			r.fail("open call %d", c.ID)
		}
		s.Open = append(s.Open, c)
	}
	for n := r.number(maxRejected); n > 0 && r.err == nil; n-- {
		x := Rejected{
			Seq: r.number(s.Rejections), Object: uint32(r.number(1<<32 - 1)), Promise: r.address(), Reason: r.address(),
		}
		if len(s.Rejected) > 0 && x.Seq <= s.Rejected[len(s.Rejected)-1].Seq || x.Object == 0 {
			r.fail("rejection %d", x.Seq)
		}
		s.Rejected = append(s.Rejected, x)
	}
	if len(r.b) > 0 {
		r.fail("%d bytes after its end", len(r.b))
	}
	return s, r.err
}
