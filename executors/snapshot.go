package executors

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// snapshotFormat is the version of the header in front of a guest's bytes.
const snapshotFormat = 1

// runCounts is the host's own half of a snapshot: counts for which it does not trust the guest. The guest's bytes
// are opaque to the host.
type runCounts struct {
	asked    uint64   // number of the last call
	consumed int64    // console bytes
	lines    int64    // console entries
	open     []uint64 // numbers of the open calls, rising
	guest    []byte
}

// encode returns the bytes that decodeKept reads. It releases the pieces of the guest while it copies them.
func (k runCounts) encode(parts [][]byte) []byte {
	size := 16 + 10*(len(k.open)+4)
	for _, p := range parts {
		size += len(p)
	}
	b := append(make([]byte, 0, size), snapshotFormat)
	b = binary.AppendUvarint(b, k.asked)
	b = binary.AppendUvarint(b, uint64(k.consumed))
	b = binary.AppendUvarint(b, uint64(k.lines))
	b = binary.AppendUvarint(b, uint64(len(k.open)))
	for _, n := range k.open {
		b = binary.AppendUvarint(b, n)
	}
	for i, p := range parts {
		b = append(b, p...)
		parts[i] = nil // keeps the time in which both copies exist short
	}
	return b
}

// decodeKept reads a snapshot. The caller has verified that it is authentic, but the decoder trusts it no more
// for that.
func decodeKept(b []byte) (runCounts, error) {
	if len(b) == 0 {
		return runCounts{}, fmt.Errorf("%w: it is empty", ErrSnapshot)
	}
	if b[0] != snapshotFormat {
		return runCounts{}, fmt.Errorf("%w: %w: %d", ErrSnapshot, ErrFormat, b[0])
	}
	const most = 1 << 40 // limit of every count, far from an overflow
	f := fields{b: b[1:]}
	k := runCounts{asked: f.atMost(most), consumed: int64(f.atMost(most)), lines: int64(f.atMost(most))}
	n := f.atMost(MaxOpenAsks)
	last := uint64(0)
	for range n {
		v := f.atMost(k.asked)
		if f.bad || v <= last {
			f.bad = true
			break
		}
		k.open, last = append(k.open, v), v
	}
	if f.bad || len(f.b) == 0 || len(f.b) > MaxSnapshotBytes {
		return runCounts{}, fmt.Errorf("%w: malformed", ErrSnapshot)
	}
	k.guest = f.b
	return k, nil
}

// checkResume reads the snapshot of r and compares it with the calls to repeat: these must be exactly the open
// ones.
func checkResume(r *Resume) (runCounts, error) {
	k, err := decodeKept(r.Snapshot)
	if err != nil {
		return runCounts{}, err
	}
	if r.Session {
		if len(k.open) > 0 || len(r.Open) > 0 {
			return runCounts{}, fmt.Errorf("%w: open calls in what is to be a session", ErrSnapshot)
		}
		return runCounts{guest: k.guest}, nil // a run of its own: its counts start at zero
	}
	open := map[string]bool{}
	for _, n := range k.open {
		open[callID(n)] = true
	}
	for _, q := range r.Open {
		if !open[q.Call] {
			return runCounts{}, fmt.Errorf("%w: call %q is not open in it, or named twice", ErrSnapshot, q.Call)
		}
		delete(open, q.Call)
	}
	if len(open) > 0 {
		return runCounts{}, fmt.Errorf(
			"%w: calls %v are open in it and not named", ErrSnapshot, slices.Sorted(maps.Keys(open)),
		)
	}
	if len(k.open) == 0 {
		return runCounts{}, fmt.Errorf("%w: no call is open in it", ErrSnapshot)
	}
	return k, nil
}

// callID is the name of the call with number n.
func callID(n uint64) string { return "c" + strconv.FormatUint(n, 10) }
