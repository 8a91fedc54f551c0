package httphead_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/egress/httphead"
)

// row is a line of testdata/attacks/http; its README says more.
type row struct {
	ID, Category, Why, Expect, Fault, By string
	Request                              struct {
		Kind         string
		Raw          string
		RawHex       string `json:"raw_hex"`
		Fill         int
		Fields, Each int
	}
}

// bytes are those on the wire.
func (r row) bytes(t testing.TB) []byte {
	t.Helper()
	if r.Request.RawHex != "" {
		b, err := hex.DecodeString(r.Request.RawHex)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var fields strings.Builder
	for i := range r.Request.Fields {
		fmt.Fprintf(&fields, "X-%d: %s\r\n", i, strings.Repeat("a", r.Request.Each))
	}
	raw := strings.ReplaceAll(r.Request.Raw, "%FILL%", strings.Repeat("a", r.Request.Fill))
	return []byte(strings.ReplaceAll(raw, "%FIELDS%", fields.String()))
}

func rows(t testing.TB) []row {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/attacks/http/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for line := range bytes.Lines(text) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// faults are the errors that the table names.
var faults = map[string]httphead.Error{
	"ErrLarge": httphead.ErrLarge, "ErrLine": httphead.ErrLine, "ErrVersion": httphead.ErrVersion, "ErrMethod": httphead.ErrMethod,
	"ErrTarget": httphead.ErrTarget, "ErrScheme": httphead.ErrScheme, "ErrUser": httphead.ErrUser, "ErrBreak": httphead.ErrBreak,
	"ErrFold": httphead.ErrFold, "ErrName": httphead.ErrName, "ErrValue": httphead.ErrValue, "ErrHost": httphead.ErrHost,
	"ErrLength": httphead.ErrLength, "ErrCoding": httphead.ErrCoding, "ErrBoth": httphead.ErrBoth, "ErrNoBody": httphead.ErrNoBody,
	"ErrConnection": httphead.ErrConnection, "ErrExpect": httphead.ErrExpect,
}

// TestRequests reads each row whole and byte by byte: the verdict is the same, and
// a refusal comes at the latest with the byte that it comes with in the whole.
func TestRequests(t *testing.T) {
	used := map[string]bool{}
	for _, tt := range rows(t) {
		t.Run(tt.ID+" "+tt.Category, func(t *testing.T) {
			raw := tt.bytes(t)
			var want error
			if tt.Fault != "" {
				used[tt.Fault] = true
				want = faults[tt.Fault]
			}
			whole, n, err := httphead.ParseRequest(raw)
			if !errors.Is(err, want) && err != want {
				t.Fatalf("%s: got %v, want %v", tt.Why, err, want)
			}
			if err == nil && (n == 0 || !bytes.Equal(whole.Bytes(), raw[:n])) {
				t.Errorf("%d bytes, the head is %q", n, whole.Bytes())
			}
			if err != nil && (n != 0 || whole.Method != nil || whole.Path != nil || whole.Host != nil) {
				t.Errorf("refused, and gives %d %q", n, whole.Method)
			}
			var slow httphead.Request
			if m, err := slowly(&slow, raw); m != n || !errors.Is(err, want) && err != want {
				t.Errorf("byte by byte: %d, %v; whole: %d, %v", m, err, n, want)
			}
		})
	}
	for name := range faults {
		if !used[name] {
			t.Errorf("no row has %s", name)
		}
	}
}

// slowly reads a head that comes in pieces, each time at another place.
func slowly(r *httphead.Request, raw []byte) (int, error) {
	step := 1 + len(raw)/200
	for n := 0; ; n = min(n+step, len(raw)) {
		m, err := r.Read(bytes.Clone(raw[:n]))
		if !errors.Is(err, httphead.ErrMore) || n == len(raw) {
			return m, err
		}
	}
}
