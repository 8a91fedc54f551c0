package store

import (
	"os"
	"path/filepath"
)

// The write-ahead log has room on the disk for so many bytes more than it holds; with
// less than the half of it the database is tight.
const reserveBytes = 4 << 20

// reserve takes room for the write-ahead log, which every commit goes to first: where
// the disk is full, some hundred small ones still are made. What was taken stays with
// the file, so no other process gets it. Whoever calls it leads, or knows that nobody
// does.
func (d *DB) reserve() {
	path := filepath.Join(d.cfg.Dir, DBName+"-wal")
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return // the commit says what there is to say
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if d.ahead != nil && (!os.SameFile(info, d.ahead) || info.Size() < d.ahead.Size()) {
		d.reserved = 0 // what lay behind its end went with the cut
	}
	d.ahead = info
	if info.Size()+reserveBytes/2 <= d.reserved {
		d.tight.Store(false)
		return
	}
	to := info.Size() + reserveBytes
	if err := Reserve(f, to); err != nil {
		d.tight.Store(true)
		return
	}
	d.reserved = to
	d.tight.Store(false)
}

// Tight reports whether the disk has no more room for the database than it took
// before: small changes are still made, and soon are not. It asks the disk again when
// it had none.
func (d *DB) Tight() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tight.Load() && d.err == nil && !d.closed && !d.leading {
		d.reserve()
	}
	return d.tight.Load()
}
