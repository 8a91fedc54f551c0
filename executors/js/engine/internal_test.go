package engine // the build without an engine file, and the parser of stack traces, have no other door

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestUnavailableWithoutTheFile(t *testing.T) {
	_, err := engineFile(Config{}, fstest.MapFS{"wasm/README.md": {}})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "make engine") {
		t.Errorf("%v names no remedy", err)
	}
	if _, err := engineFile(Config{}, fstest.MapFS{"wasm/quickjs.wasm": {Data: []byte("\x00asm")}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a file that is not the pinned one: %v", err)
	}
}

// FuzzException: what a program says of its error never panics and stays bounded.
func FuzzException(f *testing.F) {
	for _, s := range []string{
		`{"name":"TypeError","message":"m","stack":"    at f (p.js:1:2)\n    at p.js:3:4\n"}`,
		`{"name":1}`, `{`, `{"stack":"at (::)\nat :1:1\nat x:99999999999999999999:1"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := parseException(text)
		if len(e.Frames) > maxFrames {
			t.Errorf("%d frames", len(e.Frames))
		}
		for _, frame := range e.Frames {
			if frame.Line < 1 || frame.Column < 0 {
				t.Errorf("frame %+v", frame)
			}
		}
	})
}
