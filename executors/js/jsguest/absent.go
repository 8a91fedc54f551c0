package jsguest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles/spelling"
)

// Limits of the list of bridges in a hint.
const (
	maxListed      = 16
	maxListedBytes = 512
)

// absent returns a hint to append to the message of an error about a name that the program does not have: why
// it is absent, what to use instead, and the bridges that exist. It is empty for any other error, and for a
// name that is only the program's own. The name is the program's text. The rest comes from the options.
func absent(x *engine.Exception, o *jsproto.Options) string {
	name, ok := strings.CutSuffix(x.Reference, " is not defined")
	if !ok || slices.Contains(roots(o), name) {
		return ""
	}
	why := instead(name, o)
	if why == "" {
		return ""
	}
	lead := "; "
	if !strings.Contains(x.Message, x.Reference) { // the program wrapped it
		lead += x.Reference + ": "
	}
	if !strings.HasSuffix(why, "?") {
		why += ";"
	}
	return lead + why + " " + bridgeHint(o.Bridges)
}

// bridgeHint lists the bridges of a program, at most a few.
func bridgeHint(bridges []string) string {
	if len(bridges) == 0 {
		return "this program has no bridges"
	}
	n, size := 0, 0
	for n < len(bridges) && n < maxListed && size+len(bridges[n]) <= maxListedBytes {
		size += len(bridges[n])
		n++
	}
	text := "this program has: " + strings.Join(bridges[:n], ", ")
	if left := len(bridges) - n; left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// roots are the global names that a program has from the policy: for a bridge with a dotted name its first
// part.
func roots(o *jsproto.Options) []string {
	out := make([]string, 0, len(o.Bridges)+1)
	for _, b := range o.Bridges {
		root, _, _ := strings.Cut(b, ".")
		out = append(out, root)
	}
	return append(out, "inputs")
}

// instead says why a global of other platforms is absent and what to use, or which name of the policy a
// misspelled one probably means. It is empty for any other name.
func instead(name string, o *jsproto.Options) string {
	if slices.Contains(o.DenyGlobals, name) {
		return "the policy denies this global"
	}
	if why := ofPlatforms(name, o); why != "" {
		return why
	}
	known := roots(o)
	if i := spelling.Of(name, known, spelling.Effort{Names: 256, Letters: 4096}); i >= 0 {
		return fmt.Sprintf("did you mean %s?", known[i])
	}
	return ""
}

// ofPlatforms knows the globals of browsers, Node.js, Deno and Bun.
func ofPlatforms(name string, o *jsproto.Options) string {
	switch name {
	case "setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate",
		"requestAnimationFrame", "requestIdleCallback":
		return "there are no timers: retry at once, or end and be run again later"
	case "queueMicrotask":
		return "not granted; use Promise.resolve().then(f)"
	case "performance":
		return "not granted; use Date.now()"
	case "structuredClone":
		return "not granted; copy plain data with JSON.parse(JSON.stringify(value))"
	case "Buffer", "atob", "btoa":
		return "not granted; use Uint8Array.fromBase64, toBase64, fromHex and toHex"
	case "require", "module", "exports", "importScripts":
		return "not granted; use import; " + importable(o)
	case "process", "Deno", "Bun":
		return "not granted; values for the program are in inputs"
	case "window", "global", "self":
		return "not granted; the global object is globalThis"
	case "Intl":
		return "there is no Intl, and dates and numbers have no locale"
	case "URL", "URLSearchParams", "TextEncoder", "TextDecoder", "AbortController", "AbortSignal", "Headers", "Request",
		"Response", "DOMException":
		if slices.Contains(o.Bridges, "fetch") {
			return "" // the program removed it
		}
		return "it comes with the bridge fetch, which is not granted"
	case "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "document", "navigator", "location", "localStorage",
		"sessionStorage", "indexedDB", "caches", "alert", "crypto", "fs", "child_process", "__dirname", "__filename",
		"Blob", "File", "FileReader", "FormData", "ReadableStream", "WritableStream", "TransformStream", "Event",
		"EventTarget", "MessageChannel", "BroadcastChannel", "Worker", "WebAssembly", "SharedArrayBuffer", "Atomics":
		return "not granted"
	default:
		return ""
	}
}

// importable names the modules that a program may import.
func importable(o *jsproto.Options) string {
	m := modules{o: *o}
	if names := m.allowed(); len(names) > 0 {
		return "allowed modules: " + strings.Join(names, ", ")
	}
	return "no modules are allowed here"
}
