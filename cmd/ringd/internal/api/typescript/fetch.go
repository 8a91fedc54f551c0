package typescript

import (
	_ "embed"
	"strings"
)

// fetchName is the bridge that programs use as the platform's fetch; see docs/FETCH.md.
const fetchName = "fetch"

// fetchTypes are the types of fetch.
//
//go:embed fetch.d.ts
var fetchTypes string // go:embed needs a variable; never written

// fetch writes the declaration of fetch. A schema in the policy is about the request to the host, not about
// these types; the ring checks it.
func (w *writer) fetch(note string) {
	for _, name := range []string{"HeadersInit", "BodyInit", "RequestInit", "Headers", "Request", "Response",
		"AbortSignal", "AbortController",
		"DOMException", "URLSearchParams", "URL", "TextEncoder", "TextDecoder"} {
		w.taken[name] = true
	}
	w.line(0, "%s", strings.TrimSpace(fetchTypes))
	w.function([]string{fetchName}, "(input: string | URL | Request, init?: RequestInit): Promise<Response>",
		"A refused host throws CapabilityDenied, a failure of the network TypeError. "+note)
}
