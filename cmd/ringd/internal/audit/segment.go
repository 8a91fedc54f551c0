package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// file is a segment that is being written. Tests replace it by one that fails.
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

// segments returns the numbers of the segments in dir, ascending. A name that resembles a segment is an
// error, because the log would be ambiguous.
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

// Packed returns the bytes and the number of archived files, by the head of the archive.
func (l *Log) Packed() (bytes, count int64) { return l.packedBytes.Load(), l.packed.Load() }

// setPacked stores the counts of a head.
func (l *Log) setPacked(base Archived) {
	bytes := int64(0)
	for _, f := range base.Files {
		bytes += f.Bytes
	}
	l.packedBytes.Store(bytes)
	l.packed.Store(int64(len(base.Files)))
}

// Size returns the bytes and the number of segments in the log's folder. It returns zero if they cannot be
// read.
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

// ownDir creates dir if it is missing, and refuses one that other users can enter.
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
