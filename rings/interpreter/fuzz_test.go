package interpreter_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// Whatever a guest asks and a provider returns: the provider is called only with JSON within
// the limits, for no more subagents than granted, and the guest gets JSON within the limits
// or a typed error.
func FuzzAsk(f *testing.F) {
	for _, seed := range [][3]string{
		{"plain", `[{"a":1}]`, `{"b":[1,2]}`},
		{"plain", `[1,2]`, `{"__proto__":{"x":1}}`},
		{"typed", `[{"n":1,"n":"x"}]`, `"text"`},
		{"typed", `[{"n":{"$ringd":"undefined"}}]`, `{"$ringd":"map","value":[]}`},
		{"spawn", `[[1,2,3]]`, ``},
		{"spawn", `[{"tasks":[1,2],"t\u0061sks":[1,2,3]}]`, `1e999999`},
		{"spawn", `[{"$ringd":"array","id":1,"value":[1,2,3]}]`, "\xff"},
		{"missing", `[`, `[[[[`},
		{"plain", `[1e99999]`, `nul`},
	} {
		f.Add(seed[0], []byte(seed[1]), []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, name string, args, result []byte) {
		w := newWorld(t, func(c *interpreter.Config) {
			c.CheckValue = nil
			c.Default = provide(func(_ context.Context, c contract.Call) (json.RawMessage, error) {
				if !json.Valid(c.Args) || len(c.Args) > 1000 {
					t.Errorf("a provider got %d bytes: %q", len(c.Args), c.Args)
				}
				var n struct{ N float64 } // 1.0 is an integer to a schema
				if c.Bridge == "typed" && json.Unmarshal(c.Args, &n) != nil {
					t.Errorf("a provider got what its schema refuses: %q", c.Args)
				}
				var tasks []any
				if c.Bridge == "spawn" && json.Unmarshal(c.Args, &tasks) == nil && args[0] == '[' && len(tasks) > 2 &&
					string(args) != string(c.Args) {
					t.Errorf("%d subagents were let through: %q", len(tasks), c.Args)
				}
				return result, nil
			})
		})
		w.apply(set("a", bridge("plain"), bridge("spawn", spawner(2, 2, 2)),
			bridge("typed", arguments(
				`{"type":"object","properties":{"n":{"type":"integer","maximum":1000}},"additionalProperties":false}`), results(`{"type":"string"}`))))
		v := w.end(w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			a, err := h.Ask(ctx, executors.Question{Call: "c1", Bridge: name, Args: args})
			switch {
			case err != nil:
				t.Errorf("the run was closed: %v", err)
			case a.Error != nil && (a.Error.Name == "" || a.Value != nil || len(a.Error.Message) > 1000):
				t.Errorf("error %+v", a)
			case a.Error == nil && a.Value != nil && (!json.Valid(a.Value) || len(a.Value) > 1000):
				t.Errorf("value %q", a.Value)
			case a.Error == nil && name == "missing":
				t.Error("a bridge that is not granted answered")
			}
			return executors.Outcome{State: executors.StateDone}, nil
		}))
		for _, d := range v.Denials {
			if d.Verdict != profiles.Deny || d.Code == "" {
				t.Errorf("denial %+v", d)
			}
		}
	})
}
