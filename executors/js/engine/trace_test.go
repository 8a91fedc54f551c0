package engine

import (
	"testing"
)

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
