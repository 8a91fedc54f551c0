package wasmcache_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/wasmcache"
)

func sample() wasmcache.Start {
	return wasmcache.Start{Wasm: []byte("wasm"), Memory: []byte("memory"), Numbers: []uint32{1, 1 << 31}}
}

func TestLoadReturnsWhatWasKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "start")
	for range 2 { // the second over the first
		if err := wasmcache.Keep(path, sample().Encode()); err != nil {
			t.Fatal(err)
		}
		got, err := wasmcache.Load(path)
		if diff := cmp.Diff(sample(), got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	whole := sample().Encode()
	flip := func(at int) []byte {
		b := slices.Clone(whole)
		b[at] ^= 1
		return b
	}
	cases := map[string][]byte{"empty": {}, "longer": append(slices.Clone(whole), 0),
		"another format": []byte("ringd js start 2\n")}
	for i := range whole {
		cases["cut at "+string(rune('0'+i%10))] = whole[:i]
		cases["flip"] = flip(i)
		for name, b := range cases {
			if _, err := wasmcache.Decode(b); !errors.Is(err, wasmcache.ErrDamaged) {
				t.Fatalf("%s, %d: %v", name, i, err)
			}
		}
	}
	dir := t.TempDir()
	if _, err := wasmcache.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	target := filepath.Join(dir, "target")
	if err := errors.Join(os.WriteFile(target, whole, 0o600),
		os.Symlink(target, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if _, err := wasmcache.Load(filepath.Join(dir, "link")); !errors.Is(err, wasmcache.ErrDamaged) {
		t.Errorf("a link: %v", err)
	}
	if err := wasmcache.Keep(filepath.Join(dir, "no", "start"), whole); err == nil {
		t.Error("kept in a folder that is not there")
	}
}

// FuzzStart gives every body a digest that holds, so that what is behind it is
// reached.
func FuzzStart(f *testing.F) {
	head := len("ringd js start 1\n")
	f.Add(sample().Encode()[head+sha256.Size:])
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := sha256.Sum256(b)
		file := append(append([]byte("ringd js start 1\n"), sum[:]...), b...)
		s, err := wasmcache.Decode(file)
		if err == nil && !bytes.Equal(s.Encode(), file) {
			t.Errorf("no round trip: %+v", s)
		}
	})
}

// The newest files stay, and what has another name.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"start-a", "start-b", "other", "start-c", "start-d-123"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "start-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	wasmcache.Prune(dir, "start-", 2)
	wasmcache.Prune(filepath.Join(dir, "none"), "start-", 2)
	var got []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{"other", "start-c", "start-d-123", "start-folder"}; err != nil || !slices.Equal(want, got) {
		t.Errorf("%v %v", got, err)
	}
}
