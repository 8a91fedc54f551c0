// Package prelude holds the JavaScript that a guest has before any program: the
// guest's side of the binding. It is text; the engine alone evaluates it.
package prelude

import (
	"embed"
	"fmt"
	"strings"
)

// files are the parts of the prelude, one function body together, and in the folder
// fetch the bodies of the functions that make fetch.
//
//go:embed *.js fetch/*.js
var files embed.FS

// Text is what is evaluated into the image, in its order: each part on its own.
type Text []string

// String is all of it.
func (t Text) String() string { return strings.Join(t, "\n") }

// Main is the part whose value is kept: an object of functions. It takes the global
// list __fetch, to which those after it add.
const Main = 1

// Source gives the parts.
func Source() (Text, error) {
	fetch, err := texts("fetch")
	if err != nil {
		return nil, err
	}
	main, err := texts(".")
	if err != nil {
		return nil, err
	}
	t := Text{"globalThis.__fetch = []", "(() => {\n'use strict';\n" + strings.Join(main, "") + "})()"}
	for _, text := range fetch {
		t = append(t, "__fetch.push((hands, kit) => {\n'use strict';\n"+text+"})")
	}
	return append(t, "delete globalThis.__fetch"), nil
}

// texts are the files of a folder, in the order of their names.
func texts(folder string) (out []string, err error) {
	all, err := files.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the prelude: %w", err)
	}
	for _, f := range all {
		if f.IsDir() {
			continue
		}
		text, err := files.ReadFile(strings.TrimPrefix(folder+"/"+f.Name(), "./"))
		if err != nil {
			return nil, fmt.Errorf("read the prelude: %w", err)
		}
		out = append(out, string(text))
	}
	return out, nil
}

// The functions of the prelude that the host calls.
const (
	Install = iota
	Settle
	Result
	Describe
	MakeError
	Adopt
	Exported
	Unawaited
	Resume
	Release
	Count
)

// Functions are their names, in that order.
func Functions() [Count]string {
	return [Count]string{"install", "settle", "result", "describe", "makeError", "adopt", "exported", "unawaited", "resume", "release"}
}
