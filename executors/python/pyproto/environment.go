package pyproto

import (
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Environment is the environment of an agent's programs: an interpreter of this host, and those of its packages
// that the policy allows. It is immutable.
type Environment struct {
	Interpreter string // real path of its program
	Version     string // "3.11.2"

	Own  []profiles.PathRule // files and folders that a guest may read, including the standard library
	Code []profiles.PathRule // shared objects, and folders of them, that it loads

	List []profiles.PathRule // folders in which it may list its entries

	Sites   []string // folders of packages, after the standard library on sys.path
	Preload []string // modules that a guest has loaded before a program
	// Library lists the top-level names of packages that libraries may load in addition to the standard
	// library. If nil, they may load all that they find.
	Library []string
	Digest  string // of all of it
}

// EngineOf is the digest of the engine that a guest of this interpreter reports.
func (e Environment) EngineOf() string { return Engine + " cpython-" + e.Version }

// Speaks reports whether a digest is of this interpreter. Version may lack its last number, which the
// interpreter itself reports.
func (e Environment) Speaks(digest string) bool {
	return digest == e.EngineOf() || strings.HasPrefix(digest, e.EngineOf()+".")
}

// Engine names the version of the code that reads and runs programs. A change in the content of a session, or
// in the form of a value, is another version.
const Engine = "python/1"
