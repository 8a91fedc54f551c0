package engine

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/ringd/ringd/executors/wasmcache"
	"github.com/ringd/ringd/profiles"
)

// sources are what the metered code and the image depend on beside the engine
// file and the prelude: a build of other sources loads no file of this one's.
//
//go:embed code.go config.go doc.go end.go engine.go errors.go guest.go image.go imports.go kept.go memory.go memory_linux.go
//go:embed memory_other.go meter.go module.go names.go prelude.go reader.go snapshot.go state.go trace.go vm.go
var sources embed.FS

// startName is the name of the file in which this build keeps the metered code and the image.
func startName(prelude string) (string, error) {
	own, err := wasmcache.DigestOf(sources)
	if err != nil {
		return "", fmt.Errorf("name the engine's start: %w", err)
	}
	cache, err := wasmcache.Digest()
	if err != nil {
		return "", fmt.Errorf("name the engine's start: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d\n%s", wasmDigest, own, cache, len(prelude), prelude))
	return wasmcache.StartPrefix + hex.EncodeToString(sum[:]), nil
}

// words are the numbers of an image, in the order of the file.
func (im *image) words() []*uint32 {
	w := []*uint32{&im.from, &im.size, &im.scratch, &im.buffer, &im.undefined, &im.yes, &im.runtime}
	for i := range im.prelude {
		w = append(w, &im.prelude[i])
	}
	return w
}

func start(wasm []byte, im *image) wasmcache.Start {
	s := wasmcache.Start{Wasm: wasm, Memory: im.memory}
	for _, w := range im.words() {
		s.Numbers = append(s.Numbers, *w)
	}
	return s
}

// loadStart loads what is kept under path. It returns false if there is any error, since the content can be
// made again.
func loadStart(path string) (wasm []byte, im *image, ok bool) {
	s, err := wasmcache.Load(path)
	im = &image{memory: s.Memory}
	words := im.words()
	if err != nil || len(s.Numbers) != len(words) {
		return nil, nil, false
	}
	for i, w := range words {
		*w = s.Numbers[i]
	}
	if im.from >= im.size || im.size%pageSize != 0 || im.size > profiles.MaxJSMemoryBytes ||
		uint32(len(s.Memory)) != im.size-im.from {
		return nil, nil, false
	}
	for _, p := range words[2:] { // addresses
		if *p < im.from || *p >= im.size {
			return nil, nil, false
		}
	}
	return s.Wasm, im, true
}

// keepStart stores the content for the next process. If that fails, the only loss is the time of that process.
func keepStart(path string, wasm []byte, im *image) {
	b := start(wasm, im).Encode()
	if len(b) <= wasmcache.MaxBytes {
		_ = wasmcache.Keep(path, b)
		wasmcache.Prune(filepath.Dir(path), wasmcache.StartPrefix, wasmcache.StartFiles)
	}
}
