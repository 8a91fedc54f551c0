package engine // the image is not exported

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/wasmcache"
)

// twoPlusTwo proves that an engine made from what is kept runs programs.
func twoPlusTwo(t *testing.T, c Config) *Engine {
	t.Helper()
	e, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	vm, err := e.Start(t.Context(), Options{CPU: time.Hour, CPUClock: func() time.Duration { return 0 },
		Now: time.Now, Clock: func() int64 { return 0 }, Bridges: []string{"f"}})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close(t.Context())
	if err := vm.Eval(t.Context(), Program{File: "p.js", Source: "const x = await f({ n: 1n }); x.a + 2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := vm.TakeCalls()
	if len(calls) != 1 || string(calls[0].Args) != `[{"n":{"$ringd":"bigint","value":"1"}}]` {
		t.Fatalf("%+v", calls)
	}
	s, err := vm.Turn(t.Context(), calls[0].ID, Answer{Value: []byte(`{"a":2}`)})
	if err != nil || string(s.Value) != "4" {
		t.Fatalf("%+v %v", s, err)
	}
	return e
}

func keptFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "ringd-js-start-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return found[0]
}

func TestKeptStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	first := twoPlusTwo(t, Config{CacheDir: dir})
	path := keptFile(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, im, ok := loadStart(path)
	if !ok {
		t.Fatal("what was kept is not loaded")
	}
	// The same each time it is made: a run may go on in another process.
	anew := twoPlusTwo(t, Config{})
	if !bytes.Equal(anew.image.memory, im.memory) || anew.digest != first.digest {
		t.Error("two images differ")
	}
	for _, p := range [][2]*image{{anew.image, im}, {first.image, im}} {
		for i, w := range p[0].words() {
			if *w != *p[1].words()[i] {
				t.Errorf("number %d: %d and %d", i, *w, *p[1].words()[i])
			}
		}
	}
	tests := []struct {
		name  string
		bytes []byte
		used  bool
	}{
		{"whole", whole, true},
		{"empty", nil, false},
		{"cut", whole[:len(whole)-1], false},
		{"longer", append(slices.Clone(whole), 0), false},
		{"a flip in the code", flip(whole, 1000), false},
		{"a flip in the image", flip(whole, len(whole)-1), false},
		{"whole, and no image", wasmcache.Start{Wasm: []byte("\x00asm"), Numbers: make([]uint32, len(im.words()))}.Encode(), false},
		{"whole, with an address outside", outside(*im).Encode(), false},
		{"whole, with numbers left out", wasmcache.Start{Numbers: []uint32{1}}.Encode(), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(path, tt.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			old := time.Unix(1_700_000_000, 0)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			e := twoPlusTwo(t, Config{CacheDir: dir})
			if e.digest != first.digest {
				t.Errorf("digest %s, want %s", e.digest, first.digest)
			}
			info, err := os.Stat(keptFile(t, dir))
			if err != nil || info.ModTime().Equal(old) != tt.used {
				t.Errorf("used %v, want %v; %v", info.ModTime().Equal(old), tt.used, err)
			}
		})
	}
}

// outside is a start whose image has its scratch space below its memory.
func outside(im image) wasmcache.Start {
	im.scratch = im.from - 8
	return start(nil, &im)
}

func flip(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 1
	return b
}

// What other builds have left is removed, but for some.
func TestStartsOfOtherBuilds(t *testing.T) {
	dir := t.TempDir()
	old := time.Unix(1_700_000_000, 0)
	for _, n := range []string{"1", "2", "3", "4", "5", "6-123"} {
		path := filepath.Join(dir, wasmcache.StartPrefix+n)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := preludeSource()
	if err != nil {
		t.Fatal(err)
	}
	name, err := startName(text.String())
	twoPlusTwo(t, Config{CacheDir: dir})
	_, own := os.Stat(filepath.Join(dir, name))
	if found, _ := filepath.Glob(filepath.Join(dir, wasmcache.StartPrefix+"*")); err != nil || own != nil ||
		len(found) != wasmcache.StartFiles {
		t.Errorf("%v %v %v", found, err, own)
	}
}

func TestKeptStartInALaxFolder(t *testing.T) {
	dir := t.TempDir()
	twoPlusTwo(t, Config{CacheDir: dir})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	e, err := New(t.Context(), Config{CacheDir: dir})
	if err == nil || !strings.Contains(err.Error(), "only its owner can write") {
		_ = e.Close(t.Context())
		t.Errorf("%v: a folder that others can write was used", err)
	}
}

func TestStartNameFollowsThePrelude(t *testing.T) {
	one, err := startName("a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := startName("b")
	if err != nil || one == other {
		t.Errorf("%s %v", other, err)
	}
	var all []string
	for _, pattern := range []string{"*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	for _, path := range all {
		if _, err := sources.ReadFile(path); (err == nil) == strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s: the name depends on it: %v", path, err == nil)
		}
	}
}

// Of a folder that cannot be written an engine takes all or nothing: it does not
// compile for itself.
func TestReadOnlyCache(t *testing.T) {
	full := t.TempDir()
	first := twoPlusTwo(t, Config{CacheDir: full})
	for _, tt := range []struct {
		name string
		lack func(dir string) error
		want error
	}{
		{"whole", func(string) error { return nil }, nil},
		{"empty", func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, ErrCold},
		{"a start that is damaged", func(dir string) error { return os.Truncate(keptFile(t, dir), 100) }, ErrCold},
		{"compiled code that is damaged", func(dir string) error {
			found, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
			if err != nil || len(found) == 0 {
				return errors.New("no compiled code")
			}
			for _, f := range found {
				b, err := os.ReadFile(f)
				if err = errors.Join(err, os.WriteFile(f, flip(b, len(b)/2), 0o600)); err != nil {
					return err
				}
			}
			return nil
		}, ErrCold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			if err := errors.Join(os.CopyFS(dir, os.DirFS(full)), os.Chmod(dir, 0o700), tt.lack(dir)); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			e, err := New(t.Context(), Config{CacheDir: dir, ReadOnly: true})
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err == nil {
				if e.digest != first.digest {
					t.Errorf("digest %s, want %s", e.digest, first.digest)
				}
				if err := e.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if after := listing(t, dir); !slices.Equal(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
}

func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}
