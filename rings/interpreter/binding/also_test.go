package binding // the grant of a bridge is not exported

import (
	"encoding/json"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestAlsoResult: a result fits the schemas of every layer, and not that of the agent alone.
func TestAlsoResult(t *testing.T) {
	bridge := profiles.Bridge{Name: "read", Limits: profiles.BridgeLimits{ResultBytes: 1000},
		Result:     json.RawMessage(`{"type":"string"}`),
		AlsoResult: []json.RawMessage{json.RawMessage(`{"maxLength":3}`)}}
	judge := func(b profiles.Bridge, result string) bool {
		g, err := New(t.Context(), &profiles.Set{Format: profiles.Format,
			Agents: map[string]profiles.Agent{"a": {Name: "a", Bridges: map[string]profiles.Bridge{"read": b}}}}, 1,
			nil, Places{})
		if err != nil {
			t.Fatal(err)
		}
		_, flaw := g.Agent("a").grants["read"].ResultRule().Check(json.RawMessage(result), nil)
		return flaw == nil
	}
	for result, want := range map[string]bool{`"abc"`: true, `"abcd"`: false, `1`: false} {
		if got := judge(bridge, result); got != want {
			t.Errorf("%s fits: %t, want %t", result, got, want)
		}
	}
	if bridge.AlsoResult = nil; !judge(bridge, `"abcd"`) {
		t.Error("without the layer's schema the longer text does not fit: the test shows nothing")
	}
	if bridge.Result, bridge.AlsoResult = nil, []json.RawMessage{
		json.RawMessage(`{"maxLength":3}`)}; judge(bridge, `"abcd"`) {
		t.Error("the schema of a layer alone does not count")
	}
}
