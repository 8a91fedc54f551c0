package initproto_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

func TestProgramIsOneString(t *testing.T) {
	want := initproto.Order{Version: initproto.Version, Filter: initproto.Program{
		{Code: 0x20, K: 4}, {Code: 0x15, Jt: 1, Jf: 255, K: 0xc000003e}, {Code: 0x06, K: 0x7fff0000},
	}}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got initproto.Order
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || !strings.Contains(string(b), `"Filter":"`) {
		t.Errorf("%s\n%s", d, b)
	}
}

func TestProgramRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"no base64", "*"},
		{"half an instruction", "AAAAAA=="},
		{"bits behind the end", "AAAAAAAAAAB="},
		{"longer than the kernel takes", strings.Repeat("AAAAAAAA", (initproto.MaxInstructions+3)*8/6)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p initproto.Program
			if err := p.UnmarshalText([]byte(tt.text)); err == nil {
				t.Errorf("taken: %d instructions", len(p))
			}
		})
	}
}

func FuzzProgram(f *testing.F) {
	f.Add("AAAAAAAAAAA=")
	f.Fuzz(func(t *testing.T, text string) {
		var p initproto.Program
		if p.UnmarshalText([]byte(text)) != nil {
			return
		}
		again, err := p.MarshalText()
		if err != nil || string(again) != strings.NewReplacer("\r", "", "\n", "").Replace(text) {
			t.Errorf("%q reads back as %q: %v", text, again, err)
		}
	})
}

// The words of a profile and of an order are the same, though init does not
// carry the profiles.
func TestNetworks(t *testing.T) {
	if initproto.NetworkOff != profiles.NetworkOff || initproto.NetworkOwn != profiles.NetworkOwn {
		t.Errorf("networks %q, %q, want %q, %q", initproto.NetworkOff, initproto.NetworkOwn, profiles.NetworkOff,
			profiles.NetworkOwn)
	}
}
