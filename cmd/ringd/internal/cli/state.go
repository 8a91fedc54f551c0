package cli

import (
	"cmp"
	"os"
	"path/filepath"
)

// folders is what a state folder holds.
type folders struct {
	Audit    string // log
	Store    string // database and snapshots
	Key      string // of the host: signs the log
	Lockdown string // whether everything is closed
	Pushes   string // what is remembered of signed pushes
	Seal     string // key that seals paused runs, where the config names no other
}

// Layout is where things lie in a state folder.
func Layout(state string) folders {
	return folders{
		Audit: filepath.Join(state, "audit"), Store: filepath.Join(state, "store"),
		Key: filepath.Join(state, "host.key"), Seal: filepath.Join(state, "snapshot.key"),
		Lockdown: filepath.Join(state, "lockdown.json"),
		Pushes:   filepath.Join(state, "pushes.json"),
	}
}

// State is the absolute path of a state folder that has a store: dir, or the
// user's own.
func (p *Program) State(dir string) (string, error) {
	dir = cmp.Or(dir, p.Env.State)
	if dir == "" {
		return "", Usage("no state folder: give one with --state")
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(Layout(abs).Store)
	}
	if err != nil {
		return "", Usage("read state folder: %w", Bare(err))
	}
	return abs, nil
}
