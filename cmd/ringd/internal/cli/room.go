package cli

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Below leastRoom a daemon does not start or soon closes. Below enoughRoom there is little space for the
// audit log, which reserves a segment at a time.
const (
	leastRoom  = 4 << 20
	enoughRoom = 128 << 20
)

// defaultFloor is the default free space on the disk of a state folder. On a small disk the default is a
// twentieth of it.
const defaultFloor = 256 << 20

// Floor returns the free space that new runs require on the disk of a state folder: asked, or a default if
// that is zero.
func Floor(dir string, asked uint64) uint64 {
	size, ok := diskSize(dir)
	switch {
	case asked > 0:
		return asked
	case ok:
		return min(defaultFloor, size/20)
	default:
		return 0
	}
}

// Shares reports whether a path of a policy, with a ~ for home, is on the disk of dir.
func Shares(dir, home, path string) bool {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = home + rest
	}
	path, _, _ = strings.Cut(path, "*")
	return filepath.IsAbs(path) && sameDisk(dir, path)
}

// Full reports whether err, an error of opening the state folder dir, comes from a full disk. The error or
// the disk shows that. A database without space for its files returns other errors.
func Full(dir string, err error) bool {
	free, known := Room(dir)
	return outOfRoom(err) || known && free < leastRoom
}

// FullRemedy returns a remedy for a state folder on a full disk.
func FullRemedy(dir string) string {
	return fmt.Sprintf("make room on the disk of %s (or raise the quota), then start ringd again: the records are "+
		"still there; "+
		"remove nothing in the folder by hand; a smaller limits.retention and `ringd sessions drop` take less from "+
		"then on", dir)
}

// StateLayer reports whether the disk has space for a state folder. required is set if a daemon needs it
// there.
func StateLayer(dir string, required bool) Layer {
	l := Layer{Name: "state", Required: required, State: LayerEnforced}
	free, known := Room(dir)
	if !known {
		l.State, l.Reason = LayerPartly, "the free space for "+dir+" is not known"
		return l
	}
	l.Reason = fmt.Sprintf("%d MiB of room for %s", free>>20, dir)
	if floor := Floor(dir, 0); floor > 0 && free < floor+floor/4 {
		l.Reason += fmt.Sprintf("; below %d MiB (limits.freeSpace) no new runs are accepted", floor>>20)
	}
	switch {
	case free < leastRoom:
		l.State, l.Fix = LayerUnavailable, FullRemedy(dir)
		l.Reason += ": nothing runs without a record"
	case free < enoughRoom:
		l.State, l.Fix = LayerPartly, FullRemedy(dir)
	}
	return l
}
