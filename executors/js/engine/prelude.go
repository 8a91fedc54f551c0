// The prelude is the JavaScript that a guest has before any program: the guest's side of the binding.

package engine

import (
	"embed"
	"fmt"
	"strings"
)

// preludeFiles are the parts of the prelude, one function body together, and in the folder
// fetch the bodies of the functions that make fetch.
//
//go:embed prelude/*.js prelude/fetch/*.js
var preludeFiles embed.FS

// preludeText is the text that is evaluated into the image, in order: each part on its own.
type preludeText []string

// String returns the whole text.
func (t preludeText) String() string { return strings.Join(t, "\n") }

// preludeMain is the part whose value is kept: an object of functions. It reads the global list __fetch, to
// which the parts after it add.
const preludeMain = 1

// preludeSource returns the parts.
func preludeSource() (preludeText, error) {
	fetch, err := preludeTexts("prelude/fetch")
	if err != nil {
		return nil, err
	}
	main, err := preludeTexts("prelude")
	if err != nil {
		return nil, err
	}
	t := preludeText{"globalThis.__fetch = []", "(() => {\n'use strict';\n" + strings.Join(main, "") + "})()"}
	for _, text := range fetch {
		t = append(t, "__fetch.push((hands, kit) => {\n'use strict';\n"+text+"})")
	}
	return append(t, "delete globalThis.__fetch"), nil
}

// preludeTexts are the files of a folder, in the order of their names.
func preludeTexts(folder string) (out []string, err error) {
	all, err := preludeFiles.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the prelude: %w", err)
	}
	for _, f := range all {
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
	preludeInstall = iota
	preludeSettle
	preludeResult
	preludeDescribe
	preludeMakeError
	preludeAdopt
	preludeExported
	preludeUnawaited
	preludeResume
	preludeRelease
	preludeCount
)

// preludeFunctions are their names, in that order.
func preludeFunctions() [preludeCount]string {
	return [preludeCount]string{
		"install", "settle", "result", "describe", "makeError", "adopt", "exported", "unawaited", "resume", "release",
	}
}
