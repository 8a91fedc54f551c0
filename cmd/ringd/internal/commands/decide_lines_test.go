package commands

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
)

func decisions(t *testing.T, in io.Reader) (codes []profiles.Code, denied bool) {
	t.Helper()
	var out bytes.Buffer
	denied, err := decideLines(t.Context(), (&profiles.Set{}).Decider("a", profiles.Environment{}), "r", in, &out)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	for dec.More() {
		var d profiles.Decision
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		if d.Revision == "" {
			t.Errorf("a decision without a revision: %+v", d)
		}
		codes = append(codes, d.Code)
	}
	return codes, denied
}

// A line above the largest action is denied without being kept, and the lines
// around it are answered.
func TestDecideBoundsLines(t *testing.T) {
	const action = `{"import":{"executor":"js","module":"x"}}` + "\n"
	in := io.MultiReader(strings.NewReader(action), io.LimitReader(zeros{}, 3*profiles.MaxActionBytes),
		strings.NewReader("\n"+action))
	got, denied := decisions(t, in)
	want := []profiles.Code{profiles.CodeUnknownAgent, profiles.CodeActionMalformed, profiles.CodeUnknownAgent}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || !denied {
		t.Errorf("got %v, %v, want %v, true", got, denied, want)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// A caller that asks one action and waits gets its decision before it sends
// the next.
func TestDecideAnswersAtOnce(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := decideLines(t.Context(), nil, "r", in, out)
		done <- err
	}()
	r := bufio.NewReader(answers)
	for range 3 {
		if _, err := io.WriteString(ask, `{"bridge":{"name":"x"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := r.ReadString('\n')
		if err != nil || !strings.Contains(line, `"verdict":"deny"`) {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Whatever comes in, there is one decision a line, and none of them allows what
// a set without agents cannot grant.
func FuzzDecideLines(f *testing.F) {
	f.Add([]byte("{\"import\":{\"executor\":\"js\",\"module\":\"x\"}}\nnonsense\n\n{}"))
	f.Add([]byte("\x00\n\xff\xfe\n[[[["))
	f.Fuzz(func(t *testing.T, in []byte) {
		lines := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			lines++
		}
		got, denied := decisions(t, bytes.NewReader(in))
		if len(got) != lines || denied != (lines > 0) {
			t.Errorf("%d decisions, denied %v, for %d lines", len(got), denied, lines)
		}
	})
}
