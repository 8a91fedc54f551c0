package executors_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
)

// deaf takes lines and answers nothing.
type deaf struct{ text strings.Builder }

func (d *deaf) Ask(context.Context, executors.Question) (executors.Answer, error) {
	return executors.Answer{}, nil
}
func (d *deaf) Console(e executors.ConsoleEntry) { d.text.WriteString(e.Text) }
func (d *deaf) Idle([]string)                    {}

// Behind what did not fit nothing is handed on, however small: it would stand where the
// rest is missing.
func TestOutputLimit(t *testing.T) {
	tests := []struct {
		name    string
		most    int64
		pieces  []string
		want    string
		dropped int64
	}{
		{"it fits", 4, []string{"ab", "cd"}, "abcd", 0},
		{"too much", 3, []string{"ab", "cd"}, "abc", 1},
		{"half a character", 4, []string{"abc", "é", "x"}, "abc", 3},
		{"nothing", 0, []string{"a"}, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, over := &deaf{}, 0
			o := executors.NewOutput(executors.OutputConfig{Host: h, Max: tt.most, Over: func() { over++ }})
			for _, p := range tt.pieces {
				o.Print(executors.LevelStdout, []byte(p))
			}
			_, dropped := o.Entries()
			if h.text.String() != tt.want || dropped != tt.dropped || o.Cut() != (dropped > 0) ||
				o.Cut() != (over == 1) {
				t.Errorf("%q, %d dropped, cut %v, over %d times", h.text.String(), dropped, o.Cut(), over)
			}
		})
	}
}

// A reader hands on whole characters, whatever pieces they come in.
func TestReaderWholeCharacters(t *testing.T) {
	h := &deaf{}
	o := executors.NewOutput(executors.OutputConfig{Host: h, Max: 100, Over: func() { t.Error("over") }})
	r := o.Reader(executors.LevelStdout, &slow{"a\xc3\xa9\xe2\x82\xac\xff"})
	if r.ReadAll() {
		t.Error("it was stopped")
	}
	entries, _ := o.Entries()
	r.End()
	if got := h.text.String(); got != "aé€\ufffd" || len(entries) > 4 {
		t.Errorf("%q in %d", got, len(entries))
	}
}

// slow gives a byte at a time.
type slow struct{ text string }

func (s *slow) Read(p []byte) (int, error) {
	return strings.NewReader(s.next()).Read(p)
}

func (s *slow) next() string {
	if s.text == "" {
		return ""
	}
	b := s.text[:1]
	s.text = s.text[1:]
	return b
}
