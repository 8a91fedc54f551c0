package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/wire"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	src, in, bad := write("p.js", "1+1"), write("in.json", `{"a":[1]}`), write("bad.json", `{"a":`)
	big := write("big.js", strings.Repeat("a", cli.MaxProgram+1))
	for _, tt := range []struct {
		name  string
		given cli.GivenRequest
		want  wire.RunRequest
		fails string
	}{
		{"file", cli.GivenRequest{Agent: "a", Executor: "js", Program: src, Inputs: []string{"x=" + in}}, wire.RunRequest{
			Agent: "a", Executor: "js", Program: wire.Program{Name: src, Source: "1+1"},
			Inputs: map[string]json.RawMessage{"x": json.RawMessage(`{"a":[1]}`)},
		}, ""},
		{"stdin", cli.GivenRequest{Program: "-", Language: "ts"}, wire.RunRequest{
			Program: wire.Program{Name: "stdin", Language: "ts", Source: "from stdin"},
			Inputs:  map[string]json.RawMessage{},
		}, ""},
		{"no such program", cli.GivenRequest{Program: filepath.Join(dir, "none")}, wire.RunRequest{}, "no such file"},
		{"large program", cli.GivenRequest{Program: big}, wire.RunRequest{}, "larger than"},
		{"input without a name", cli.GivenRequest{Program: src, Inputs: []string{"=" + in}}, wire.RunRequest{}, "want NAME=FILE.json"},
		{"input twice", cli.GivenRequest{Program: src, Inputs: []string{"x=" + in, "x=" + in}}, wire.RunRequest{}, "given twice"},
		{"input that is no JSON", cli.GivenRequest{Program: src, Inputs: []string{"x=" + bad}}, wire.RunRequest{}, "bad.json"},
		{"no such input", cli.GivenRequest{Program: src, Inputs: []string{"x=" + dir + "/none"}}, wire.RunRequest{}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cli.ReadRequest(tt.given, strings.NewReader("from stdin"))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
