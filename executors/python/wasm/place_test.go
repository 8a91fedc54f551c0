package wasm_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/python/wasm"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/profiles"
)

// An engine that is not there, or that somebody has changed by a bit, runs nothing, and
// the refusal says what to do.
func TestAnotherEngine(t *testing.T) {
	whole := engineDir(t)
	for name, tt := range map[string]struct {
		change func(dir string) error
		want   error
		text   string
	}{
		"no folder":            {func(dir string) error { return os.RemoveAll(dir) }, place.ErrAbsent, place.WasmName},
		"no library":           {func(dir string) error { return os.Remove(filepath.Join(dir, place.LibraryName)) }, place.ErrAbsent, place.LibraryName},
		"a bit of the code":    {func(dir string) error { return flip(filepath.Join(dir, place.WasmName)) }, place.ErrOther, place.WasmName},
		"a bit of the library": {func(dir string) error { return flip(filepath.Join(dir, place.LibraryName)) }, place.ErrOther, place.LibraryName},
		"a folder in its place": {func(dir string) error {
			p := filepath.Join(dir, place.WasmName)
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o755))
		}, place.ErrOther, place.WasmName},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "engine")
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), tt.change(dir)); err != nil {
				t.Fatal(err)
			}
			e := executor(t, func(c *wasm.Config) { c.Dir = dir })
			if err := e.Available(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v", err)
			}
			var denial *profiles.Denial
			_, err := e.Run(t.Context(), run("1"), &executorstest.Host{})
			if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeExecutorUnavailable ||
				len(denial.Decision.Instead) == 0 {
				t.Errorf("%v", err)
			}
		})
	}
}

func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(path, b, 0o644)
}
