package pyguest_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/executorstest"
	"github.com/ringd/ringd/executors/js/engine/value"
)

// maker makes tagged values in the form in which the guest writes them, so that what
// comes back can be compared by its text.
type maker struct {
	r    *rand.Rand
	ids  int
	kept []int // ids of containers that are whole
}

func (m *maker) value(depth int) string {
	n := 14
	if depth > 4 {
		n = 9
	}
	switch m.r.IntN(n) {
	case 0:
		return []string{"null", "true", "false"}[m.r.IntN(3)]
	case 1:
		return fmt.Sprint(m.r.IntN(1 << 20))
	case 2:
		return []string{"1.5", "-0.25", "3.0", "1e+22", "5e-324", "-9007199254740991", "9007199254740991"}[m.r.IntN(7)]
	case 3:
		return []string{`"a"`, `""`, `"\ud800"`, `"\u00e4\ud83d\ude00\"\\\n"`, `"$ringd"`,
			`"{\"$ringd\":1}"`}[m.r.IntN(6)]
	case 4:
		return `{"$ringd":"number","value":"` + []string{"NaN", "Infinity", "-Infinity", "-0"}[m.r.IntN(4)] + `"}`
	case 5:
		return `{"$ringd":"bigint","value":"` + []string{"9007199254740992", "-123456789012345678901234567890",
			strings.Repeat("7", 5000)}[m.r.IntN(3)] + `"}`
	case 6:
		return `{"$ringd":"date","value":"` + []string{"2024-02-29T23:59:59.007Z", "0001-01-01T00:00:00.000Z",
			"9999-12-31T23:59:59.999Z"}[m.r.IntN(3)] + `"}`
	case 7:
		b := binary.LittleEndian.AppendUint64(nil, m.r.Uint64())
		kind := []string{"Uint8Array", "Float64Array", "Int32Array", "BigUint64Array", "Int8Array",
			"Uint16Array"}[m.r.IntN(6)]
		if kind == "Float64Array" {
			b = make([]byte, 16)
		}
		return `{"$ringd":"bytes","type":"` + kind + `","value":"` + base64.StdEncoding.EncodeToString(b) + `"}`
	case 8:
		if len(m.kept) > 0 {
			return fmt.Sprintf(`{"$ringd":"ref","id":%d}`, m.kept[m.r.IntN(len(m.kept))])
		}
		return "[]"
	case 9:
		return `{"$ringd":"error","name":"BridgeError","message":"no \"x\""}`
	case 10:
		return `{"$ringd":"set","value":[` + fmt.Sprint(m.r.IntN(9)) + `]}`
	case 11:
		return `{"$ringd":"map","value":[[7,` + m.value(depth+1) + `],["k",` + m.value(depth+1) + `]]}`
	case 12:
		return "{" + m.list(depth, func(i int) string { return fmt.Sprintf(`"k%d":`, i) }) + "}"
	default:
		return m.array(depth)
	}
}

func (m *maker) list(depth int, key func(int) string) string {
	var items []string
	for i := range m.r.IntN(4) {
		items = append(items, key(i)+m.value(depth+1))
	}
	return strings.Join(items, ",")
}

// array is one, with an id where it is mentioned later: in itself, or beside.
func (m *maker) array(depth int) string {
	items := func() string { return m.list(depth, func(int) string { return "" }) }
	switch m.r.IntN(4) {
	case 0:
		m.ids++
		id := m.ids
		body := items()
		if body != "" {
			body = "," + body
		}
		return fmt.Sprintf(`{"$ringd":"array","id":%d,"value":[{"$ringd":"ref","id":%d}%s]}`, id, id, body)
	case 1:
		m.ids++
		id := m.ids
		first := fmt.Sprintf(`{"$ringd":"object","id":%d,"value":{"a":%s}}`, id, m.value(depth+2))
		m.kept = append(m.kept, id)
		return fmt.Sprintf(`[%s,{"$ringd":"ref","id":%d},{"$ringd":"entries","value":[["$ringd",1],["b",%s]]}]`, first,
			id, m.value(depth+2))
	default:
		return "[" + items() + "]"
	}
}

// TestValuesBack sends values of the encoding to programs that send them back.
func TestValuesBack(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		r := rand.New(rand.NewPCG(1, 2))
		var texts []string
		for range 400 {
			m := &maker{r: r}
			text := m.value(0)
			if err := value.Check([]byte(text), value.Limits{Bytes: 1 << 20, Nodes: 1 << 16}); err != nil {
				t.Fatalf("the test itself: %v: %s", err, text)
			}
			texts = append(texts, text)
		}
		next := 0
		h := &executorstest.Host{Answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
			if next > 0 {
				want := "[" + texts[next-1] + "]"
				if d := cmp.Diff(want, string(q.Args)); d != "" {
					t.Errorf("value %d: %s", next-1, d)
				}
			}
			if next == len(texts) {
				return executors.Answer{Value: json.RawMessage(`"end"`)}, nil
			}
			next++
			return executors.Answer{Value: json.RawMessage(texts[next-1])}, nil
		}}
		out := run(t, python, options(t), "import ringd\nv = ringd.call('next')\nn = 0\nwhile v != 'end':\n    v = "+
			"ringd.call('next', v)\n    n += 1\nn", h)
		if out.State != executors.StateDone || string(out.Value) != "400" {
			t.Errorf("%s %s %+v", out.State, out.Value, out.Error)
		}
	})
}

// TestValuesOut has a program make values, and checks that each is one of the encoding
// and is the same when it comes back.
func TestValuesOut(t *testing.T) {
	program := `
import ringd, random, datetime, decimal, array, collections, math
r = random.Random(7)
def key():
    return r.choice(["a", "$ringd", "b\ud800", "", 3, 2**60, (1, 2), None, True, 1.5, b"k"])
def make(d=0):
    n = r.randrange(16 if d < 5 else 9)
    if n == 0: return r.choice([None, True, False])
    if n == 1: return r.randrange(-2**70, 2**70)
    if n == 2: return r.randrange(-9, 9)
    if n == 3: return r.choice([r.random(), float("inf"), -0.0, 1e300, 5e-324, 2.0])
    if n == 4: return "".join(chr(r.randrange(1, 0x10ffff)) for _ in range(r.randrange(5)))
    if n == 5: return r.randbytes(r.randrange(9))
    if n == 6: return datetime.datetime(r.randrange(1, 9999), 5, 6, 7, 8, 9, 123000, datetime.timezone.utc)
    if n == 7: return memoryview(array.array(r.choice("bhHiIlLqQd"), [1, 2]))
    if n == 8: return decimal.Decimal("19.99")
    if n == 9: return {r.randrange(99) for _ in range(4)}
    if n in (10, 11): return [make(d + 1) for _ in range(r.randrange(4))]
    if n == 12: return {str(i): make(d + 1) for i in range(r.randrange(4))}
    if n == 13: return {key(): make(d + 1) for i in range(r.randrange(4))}
    if n == 14: return collections.OrderedDict(x=make(d + 1))
    a = [make(d + 1)]
    a.append(a)
    return [a, a, {"again": a}]
def same(a, b, seen):
    if isinstance(a, (list, dict)):
        if id(a) in seen: return seen[id(a)] is b
        seen[id(a)] = b
    if isinstance(a, (list, tuple)) and isinstance(b, list): return len(a) == len(b) and all(same(x, y, seen) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all((same(k, j, seen)) and same(v, w, seen) for (k, v), (j, w) in zip(a.items(), b.items()))
    if isinstance(a, dict): return isinstance(b, list) and all(same(x, y[0], seen) and same(v, y[1], seen) for (x, v), y in zip(a.items(), b))
    if isinstance(a, float) and a == 0: return math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, decimal.Decimal): return float(a) == b
    if isinstance(a, memoryview): return a.tobytes() == bytes(b)
    return type(a) is type(b) and a == b
for i in range(400):
    v = make()
    back = ringd.call("echo", v)[0]
    assert same(v, back, {}), (v, back)
`
	each(t, func(t *testing.T, python string) {
		var mu sync.Mutex
		calls := 0
		h := &executorstest.Host{Answer: func(_ context.Context, q executors.Question) (executors.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			if err := value.Check(q.Args, value.Limits{Bytes: 1 << 22, Nodes: 1 << 20}); err != nil {
				t.Errorf("%v: %s", err, q.Args)
			}
			return executors.Answer{Value: q.Args}, nil
		}}
		out := run(t, python, options(t), program, h)
		if out.State != executors.StateDone || calls != 400 {
			t.Errorf("%s after %d calls: %+v", out.State, calls, out.Error)
		}
	})
}

// TestArguments shows what cannot cross, and how a program is told.
func TestArguments(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		for name, c := range map[string]struct{ value, want string }{
			"function":      {"lambda: 1", "echo: $[0]: a function cannot cross"},
			"class":         {"[int]", "echo: $[0][0]: a class cannot cross"},
			"object":        {"{'items': [object()]}", "echo: $[0].items[0]: an object cannot cross"},
			"date":          {"__import__('datetime').date(2024, 1, 1)", "echo: $[0]: a date cannot cross, its .isoformat() can"},
			"path":          {"__import__('pathlib').Path('x')", "echo: $[0]: a PosixPath cannot cross, str() of it can"},
			"enum":          {"__import__('enum').Enum('E', 'A').A", "echo: $[0]: an E cannot cross, its .value can"},
			"range":         {"range(3)", "echo: $[0]: a range cannot cross, list() of it can"},
			"view":          {"{}.keys()", "echo: $[0]: a dict_keys cannot cross, list() of it can"},
			"naive":         {"__import__('datetime').datetime(2024, 1, 1)", "echo: $[0]: a datetime without a time zone cannot cross: give it tzinfo"},
			"decimal":       {"__import__('decimal').Decimal('0.1234567890123456789')", "echo: $[0]: this Decimal has more digits than a number holds, str() of it can cross"},
			"complex":       {"1j", "echo: $[0]: a complex cannot cross"},
			"deep":          {"__import__('functools').reduce(lambda a, _: [a], range(100), 1)", "echo: $" + strings.Repeat("[0]", 100) + ": nested deeper than 100"},
			"wide":          {"(lambda t: [t := (t, t, t, t) for _ in range(30)][-1])(1)", "echo: $"},
			"large":         {"'x' * (17 << 20)", "echo: more than 16776192 bytes"},
			"large integer": {"1 << 400_000_000", "echo: more than 16776192 bytes"},
		} {
			t.Run(name, func(t *testing.T) {
				h := &executorstest.Host{}
				out := run(t, python, options(t), "import ringd\ntry:\n    ringd.call('echo', "+c.value+
					")\nexcept ringd.ArgumentError as e:\n    r = e.name, str(e)\nr", h)
				var got []string
				_ = json.Unmarshal(out.Value, &got)
				if len(got) != 2 || got[0] != "ArgumentError" ||
					!strings.HasPrefix(got[1], c.want[:min(len(c.want), 300)]) {
					t.Errorf("%s %q %+v, want %q", out.State, got, out.Error, c.want)
				}
				if len(h.Asked()) > 0 {
					t.Error("the host was asked")
				}
			})
		}
	})
}
