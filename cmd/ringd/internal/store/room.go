package store

import (
	"os"
	"path/filepath"
)

// The write-ahead log has so many bytes of disk space reserved beyond its content. Below half of it the
// database is tight.
const reserveBytes = 4 << 20

// reserve reserves disk space for the write-ahead log, which every commit writes first. On a full disk some
// hundred small commits are then still possible. The space belongs to the file, so no other process can use
// it. The caller is the leader, or knows that there is none.
func (d *DB) reserve() {
	path := filepath.Join(d.cfg.Dir, DBName+"-wal")
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return // the commit reports the error
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if d.ahead != nil && (!os.SameFile(info, d.ahead) || info.Size() < d.ahead.Size()) {
		d.reserved = 0 // the truncation released the space after its end
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

// Tight reports whether the disk has no space for the database beyond the reserve. Small commits still work,
// but soon will not. If there was no space, it tries to reserve again.
func (d *DB) Tight() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tight.Load() && d.err == nil && !d.closed && !d.leading {
		d.reserve()
	}
	return d.tight.Load()
}
