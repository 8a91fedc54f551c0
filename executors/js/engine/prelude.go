package engine

import (
	"embed"
	"fmt"
	"strings"
)

// preludeFiles are the parts of the prelude, one function body together, and in
// the folder fetch the bodies of the functions that make fetch.
//
//go:embed prelude/*.js prelude/fetch/*.js
var preludeFiles embed.FS

// preludeText is what is evaluated into the image, in its order: each part on its
// own, since the memory that compiling one takes stays in the image.
type preludeText []string

func (p preludeText) String() string { return strings.Join(p, "\n") }

// preludeSource gives the parts. The value of preludeMain is an object of the
// functions that preludeFunctions names; it takes the global list __fetch, to which
// those after it add.
func preludeSource() (preludeText, error) {
	fetch, err := texts("prelude/fetch")
	if err != nil {
		return nil, err
	}
	main, err := texts("prelude")
	if err != nil {
		return nil, err
	}
	p := preludeText{"globalThis.__fetch = []", "(() => {\n'use strict';\n" + strings.Join(main, "") + "})()"}
	for _, text := range fetch {
		p = append(p, "__fetch.push((hands, kit) => {\n'use strict';\n"+text+"})")
	}
	return append(p, "delete globalThis.__fetch"), nil
}

// preludeMain is the part whose value the host keeps.
const preludeMain = 1

// texts are the files of a folder, in the order of their names.
func texts(folder string) (out []string, err error) {
	files, err := preludeFiles.ReadDir(folder) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read the prelude: %w", err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text, err := preludeFiles.ReadFile(folder + "/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("read the prelude: %w", err)
		}
		out = append(out, string(text))
	}
	return out, nil
}

// The functions of the prelude that the host calls.
const (
	preInstall = iota
	preSettle
	preResult
	preDescribe
	preMakeError
	preAdopt
	preExported
	preUnawaited
	preResume
	preRelease
	preCount
)

// preludeFunctions are their names, in that order.
func preludeFunctions() [preCount]string {
	return [preCount]string{"install", "settle", "result", "describe", "makeError", "adopt", "exported", "unawaited", "resume", "release"}
}
