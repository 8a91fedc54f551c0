package cli

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Below leastRoom a daemon does not start or soon closes; below enoughRoom the
// audit log, which reserves a segment at a time, is short of it.
const (
	leastRoom  = 4 << 20
	enoughRoom = 128 << 20
)

// defaultFloor is how much has to be free on the disk of a state folder where the
// configuration does not say, or a twentieth of a smaller disk.
const defaultFloor = 256 << 20

// Floor is how many bytes have to be free on the disk of a state folder for new runs:
// what is asked for, else a default.
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

// Shares reports whether what is written below a path of a policy, with a ~ for home,
// goes to the disk of dir.
func Shares(dir, home, path string) bool {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = home + rest
	}
	path, _, _ = strings.Cut(path, "*")
	return filepath.IsAbs(path) && sameDisk(dir, path)
}

// Full reports whether err, which kept the state folder dir from being used, comes
// from a full disk: the error says so, or the disk does. A database that finds no
// room for its files tells other things.
func Full(dir string, err error) bool {
	free, known := Room(dir)
	return outOfRoom(err) || known && free < leastRoom
}

// FullRemedy is what helps a state folder on a full disk.
func FullRemedy(dir string) string {
	return fmt.Sprintf("make room on the disk of %s (or raise the quota), then start ringd again: the records are "+
		"still there; "+
		"remove nothing in the folder by hand; a smaller limits.retention and `ringd sessions drop` take less from "+
		"then on", dir)
}

// StateLayer says whether the disk has room for a state folder. required is
// whether a daemon needs it there.
func StateLayer(dir string, required bool) Layer {
	l := Layer{Name: "state", Required: required, State: LayerEnforced}
	free, known := Room(dir)
	if !known {
		l.State, l.Reason = LayerPartly, "the free space for "+dir+" is not known"
		return l
	}
	l.Reason = fmt.Sprintf("%d MiB of room for %s", free>>20, dir)
	if floor := Floor(dir, 0); floor > 0 && free < floor+floor/4 {
		l.Reason += fmt.Sprintf("; below %d MiB (limits.freeSpace) no new runs are taken", floor>>20)
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
