package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Environment is the part of the environment that ringd uses. No guest gets any of it.
type Environment struct {
	NoColor bool   // NO_COLOR is set and not empty
	Dumb    bool   // TERM is dumb or unset
	Socket  string // RINGD_SOCKET: socket of the daemon, for clients
	Token   string // RINGD_TOKEN_FILE: file of a client's token, over TCP
	Home    string
	State   string // state folder: XDG_STATE_HOME/ringd, else ~/.local/state/ringd
	Cache   string // cache folder: XDG_CACHE_HOME/ringd, else ~/.cache/ringd; may be empty
	Runtime string // socket folder: XDG_RUNTIME_DIR/ringd; may be empty
	Path    string // PATH, to find the commands of bridges
	Temp    string // TMPDIR
	// PythonWasm is RINGD_PYTHON_WASM: the folder of the WebAssembly engine of Python. Empty means
	// python-wasm beside the program.
	PythonWasm string
	// Credentials is CREDENTIALS_DIRECTORY, systemd's folder of secrets.
	Credentials string
}

// FromSystem returns the environment of this process.
func FromSystem() Environment { return ReadEnvironment(os.LookupEnv) }

// OfGuest returns the environment of a guest process, which the kernel ring has set.
func OfGuest() []string { return os.Environ() }

// Variables returns the variables, as NAME=value, that the operator passes to the commands of bridges. A
// variable that is not set is an error.
func Variables(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		v, ok := os.LookupEnv(name)
		if !ok || name == "" || strings.Contains(name, "=") {
			return nil, fmt.Errorf("the variable %q is not set", name)
		}
		out = append(out, name+"="+v)
	}
	return out, nil
}

// ReadEnvironment reads variables with lookup, which is os.LookupEnv outside of tests. It ignores relative
// folders, as the XDG specification requires. A daemon without HOME (systemd) gets its folders from
// STATE_DIRECTORY, CACHE_DIRECTORY and RUNTIME_DIRECTORY.
func ReadEnvironment(lookup func(string) (string, bool)) Environment {
	get := func(name string) string { v, _ := lookup(name); return v }
	dir := func(names ...string) string {
		for _, name := range names {
			if v := get(name); filepath.IsAbs(v) {
				return filepath.Clean(v)
			}
		}
		return ""
	}
	join := func(root string, rest ...string) string {
		if root == "" {
			return ""
		}
		return filepath.Join(append([]string{root}, rest...)...)
	}
	either := func(a, b, c string) string {
		if a != "" {
			return a
		}
		if b != "" {
			return b
		}
		return c
	}
	e := Environment{
		NoColor: get("NO_COLOR") != "",
		Dumb:    get("TERM") == "" || get("TERM") == "dumb",
		Socket:  get("RINGD_SOCKET"),
		Token:   get("RINGD_TOKEN_FILE"),
		Home:    dir("HOME"),
		Path:    get("PATH"),
		Temp:    dir("TMPDIR"),

		PythonWasm: dir("RINGD_PYTHON_WASM"),

		Credentials: dir("CREDENTIALS_DIRECTORY"),
	}
	e.State = either(dir("STATE_DIRECTORY"), join(dir("XDG_STATE_HOME"), "ringd"),
		join(e.Home, ".local", "state", "ringd"))
	e.Cache = either(dir("CACHE_DIRECTORY"), join(dir("XDG_CACHE_HOME"), "ringd"), join(e.Home, ".cache", "ringd"))
	e.Runtime = either(dir("RUNTIME_DIRECTORY"), join(dir("XDG_RUNTIME_DIR"), "ringd"), "")
	return e
}

// DefaultSocket returns the default socket of daemon and clients. It is in the runtime folder, or else in the
// state folder.
func (e Environment) DefaultSocket() string {
	switch {
	case e.Socket != "":
		return e.Socket
	case e.Runtime != "":
		return filepath.Join(e.Runtime, "ringd.sock")
	case e.State != "":
		return filepath.Join(e.State, "ringd.sock")
	default:
		return ""
	}
}
