package pyproto

import (
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Environment is what the programs of an agent run on: an interpreter of this host,
// and of its packages those that the policy allows. It is immutable.
type Environment struct {
	Interpreter string // real path of its program
	Version     string // "3.11.2"

	Own  []profiles.PathRule // files and folders that a guest may read, the standard library among them
	Code []profiles.PathRule // shared objects, and folders of them, that it loads

	List []profiles.PathRule // folders in which it may list what it has

	Sites   []string // folders of packages, behind the standard library on sys.path
	Preload []string // modules that a guest has loaded before a program
	// Library lists the top-level names of packages that libraries may load beside the
	// standard library; nil: all that they find.
	Library []string
	Digest  string // of all of it
}

// EngineOf is the digest of the engine that a guest of this interpreter says.
func (e Environment) EngineOf() string { return Engine + " cpython-" + e.Version }

// Speaks tells whether a digest is of this interpreter. Version may lack its last
// number, which the interpreter itself says.
func (e Environment) Speaks(digest string) bool {
	return digest == e.EngineOf() || strings.HasPrefix(digest, e.EngineOf()+".")
}

// Engine is how programs are read and run; a change in what a session keeps, or in
// what a value looks like, is another one.
const Engine = "python/1"
