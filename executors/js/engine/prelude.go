package engine

import (
	"embed"
	"fmt"
	"strings"
)

// preludeFiles are the parts of the prelude, one function body together.
//
//go:embed prelude/*.js
var preludeFiles embed.FS

// preludeSource is evaluated into the image. Its value is an object of the
// functions that preludeFunctions names.
func preludeSource() (string, error) {
	files, err := preludeFiles.ReadDir("prelude") // sorted by name
	if err != nil {
		return "", fmt.Errorf("read the prelude: %w", err)
	}
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, f := range files {
		text, err := preludeFiles.ReadFile("prelude/" + f.Name())
		if err != nil {
			return "", fmt.Errorf("read the prelude: %w", err)
		}
		b.Write(text)
	}
	b.WriteString("})()")
	return b.String(), nil
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
