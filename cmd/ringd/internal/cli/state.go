package cli

import (
	"cmp"
	"os"
	"path/filepath"
)

// statePaths are the paths in a state folder.
type statePaths struct {
	Audit    string // log
	Store    string // database and snapshots
	Key      string // of the host: signs the log
	Lockdown string // state of the lockdown
	Pushes   string // state about signed pushes
	Seal     string // key that seals paused runs, if the configuration names no other
}

// Layout returns the paths in a state folder.
func Layout(state string) statePaths {
	return statePaths{
		Audit: filepath.Join(state, "audit"), Store: filepath.Join(state, "store"),
		Key: filepath.Join(state, "host.key"), Seal: filepath.Join(state, "snapshot.key"),
		Lockdown: filepath.Join(state, "lockdown.json"),
		Pushes:   filepath.Join(state, "pushes.json"),
	}
}

// State returns the absolute path of a state folder that has a store: dir, or the default of the user.
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
