package engine

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ringd/ringd/executors/js/engine/kept"
)

// sources are what the metered code and the image depend on beside the engine
// file and the prelude: a build of other sources loads no file of this one's.
//
//go:embed config.go doc.go end.go engine.go errors.go guest.go image.go imports.go kept.go memory.go memory_linux.go memory_other.go
//go:embed prelude/prelude.go snapshot.go state.go vm.go kept/install.go kept/kept.go kept/owner_other.go kept/owner_unix.go meter/code.go meter/meter.go meter/module.go meter/reader.go names/names.go
var sources embed.FS

// startName names the file in which this build keeps them.
func startName(prelude string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n%s", wasmDigest, len(prelude), prelude)
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(text))
		h.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("name the engine's start: %w", err)
	}
	return kept.StartPrefix + hex.EncodeToString(h.Sum(nil)), nil
}

// words are the numbers of an image, in the order of the file.
func (im *image) words() []*uint32 {
	w := []*uint32{&im.from, &im.size, &im.scratch, &im.buffer, &im.undefined, &im.yes, &im.runtime}
	for i := range im.prelude {
		w = append(w, &im.prelude[i])
	}
	return w
}

func start(wasm []byte, im *image) kept.Start {
	s := kept.Start{Wasm: wasm, Memory: im.memory}
	for _, w := range im.words() {
		s.Numbers = append(s.Numbers, *w)
	}
	return s
}

// loadStart returns what is kept under path, or false: whatever is wrong with
// it, it can be made again.
func loadStart(path string) (wasm []byte, im *image, ok bool) {
	s, err := kept.Load(path)
	im = &image{memory: s.Memory}
	words := im.words()
	if err != nil || len(s.Numbers) != len(words) {
		return nil, nil, false
	}
	for i, w := range words {
		*w = s.Numbers[i]
	}
	if im.from >= im.size || im.size%pageSize != 0 || im.size > MaxMemoryBytes || uint32(len(s.Memory)) != im.size-im.from {
		return nil, nil, false
	}
	for _, p := range words[2:] { // addresses
		if *p < im.from || *p >= im.size {
			return nil, nil, false
		}
	}
	return s.Wasm, im, true
}

// keepStart keeps them for the next process. Where that does not work, it costs
// that process its time and nothing else.
func keepStart(path string, wasm []byte, im *image) {
	b := start(wasm, im).Encode()
	if len(b) <= kept.MaxBytes {
		_ = kept.Keep(path, b)
		kept.Prune(filepath.Dir(path), kept.StartPrefix, kept.StartFiles)
	}
}
