package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// file is a segment that is written. Tests put failing ones in its place.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Sync() error
	Reserve(off, n int64) error
	Truncate(size int64) error
	Close() error
}

const (
	segmentPrefix = "audit-"
	segmentSuffix = ".jsonl"
	lockName      = "audit.lock"
)

func segmentName(n int64) string { return fmt.Sprintf("%s%08d%s", segmentPrefix, n, segmentSuffix) }

// segments lists the numbers of the segments in dir, ascending. A name that
// looks like a segment and is none is an error: the log would be ambiguous.
func segments(dir string) ([]int64, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list audit log: %w", err)
	}
	var out []int64
	for _, d := range names {
		digits, ok := strings.CutPrefix(d.Name(), segmentPrefix)
		if !ok || !strings.HasSuffix(digits, segmentSuffix) {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(digits, segmentSuffix), 10, 64)
		if err != nil || segmentName(n) != d.Name() || !d.Type().IsRegular() {
			return nil, fmt.Errorf("%w: %s is not a segment", ErrTampered, filepath.Join(dir, d.Name()))
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// Packed is how many bytes and files of the log are in an archive, as its head has them.
func (l *Log) Packed() (bytes, count int64) { return l.packedBytes.Load(), l.packed.Load() }

// note takes note of what a head has.
func (l *Log) note(base Archived) {
	bytes := int64(0)
	for _, f := range base.Files {
		bytes += f.Bytes
	}
	l.packedBytes.Store(bytes)
	l.packed.Store(int64(len(base.Files)))
}

// Size is how many bytes and segments the log has in its folder; zero where that
// cannot be told.
func (l *Log) Size() (bytes, count int64) {
	list, err := segments(l.cfg.Dir)
	if err != nil {
		return 0, 0
	}
	for _, n := range list {
		if info, err := os.Stat(filepath.Join(l.cfg.Dir, segmentName(n))); err == nil {
			bytes += info.Size()
		}
	}
	return bytes, int64(len(list))
}

// ownDir makes dir when it is not there and refuses one that others can enter.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make audit folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("audit folder: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("audit folder %s has mode %04o: others can enter it; run chmod 700 on it", dir, mode)
	}
	return nil
}
