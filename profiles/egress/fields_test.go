package egress_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles/egress"
)

// saidRow is a line of testdata/attacks/http/fields.jsonl: a field, or a query, and what
// it says to servers that believe it.
type saidRow struct {
	Name  string          `json:"name"`
	Query *string         `json:"query"`
	Says  egress.Override `json:"says"`
}

func saidRows(t *testing.T) (rows []saidRow) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/attacks/http/fields.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r saidRow
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 100 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}

// TestFieldsThatSayAnotherRequest: where methods or paths are listed, a field or a
// parameter that says another request is refused; what says none passes, and where
// nothing is listed all of them do.
func TestFieldsThatSayAnotherRequest(t *testing.T) {
	open := egress.Entry{Host: "open.example.com", Ports: []int{80}}
	byMethod, byPath := open, open
	byMethod.Host, byMethod.Methods = "method.example.com", []string{"POST"}
	byPath.Host, byPath.Paths = "path.example.com", []string{"/v1"}
	l := egress.NewList(egress.Allowlist, []egress.Entry{open, byMethod, byPath}, nil, []egress.Virtual{
		{Name: "open"}, {Name: "method", Methods: []string{"POST"}}, {Name: "path", Paths: []string{"/v1"}},
		{Name: "lists", Methods: []string{"POST"}, Headers: []string{"x-forwarded-for", "x-http-method-override"}},
	})
	refused := func(host string, says egress.Overrides) egress.Code {
		r := l.Decide(dest(t, host+":80"), time.Time{}).Request("POST", "/v1", says, time.Time{}).Refusal()
		if r == nil {
			return ""
		}
		return r.Code
	}
	for _, row := range saidRows(t) {
		var says egress.Overrides
		credential, carries := false, false
		if row.Query != nil {
			says = says.Query("?" + *row.Query)
			credential, carries = row.Says == egress.OverridesCaller, row.Says == egress.OverridesFields
		} else {
			says = says.Field("Accept").Field(row.Name).Field("Content-Type")
			if got := egress.FieldOverride(row.Name); got != row.Says {
				t.Errorf("%s says %q, want %q", row.Name, got, row.Says)
			}
		}
		for host, want := range map[string]bool{
			"open.example.com": false, "open.ringd.internal": credential || carries,
			"method.example.com": row.Says != "" && !credential, "path.example.com": row.Says != "" && !credential,
			"method.ringd.internal": row.Says != "", "path.ringd.internal": row.Says != "",
			"lists.ringd.internal": row.Says != "" && row.Name != "X-Forwarded-For", // a method is nobody's to list
		} {
			if got := refused(host, says); (got == egress.Field) != want || got != "" && !want {
				t.Errorf("%s for %s: got %q, want refused: %t", says, host, got, want)
			}
		}
	}
}

// TestFieldPasses: no field passes every gateway that frames a message, says who the
// client is or says another request; nor can a policy let the first two through.
func TestFieldPasses(t *testing.T) {
	for _, row := range saidRows(t) {
		if row.Name != "" && row.Says != "" && egress.FieldPasses(row.Name) {
			t.Errorf("%s passes", row.Name)
		}
	}
	for _, name := range []string{"Authorization", "cookie", "X-API-Key", "X_Api_Key", "Proxy-Foo", "Host",
		"Connection", "content-length", "Content_Length", "Transfer-Encoding", "TE", "Upgrade", "Expect"} {
		if egress.FieldPasses(name) || egress.FieldOfGateway(name, false) == "" {
			t.Errorf("%s passes, or may be listed", name)
		}
	}
	for _, name := range []string{"DD-API-KEY", "X-Shopify-Access-Token", "X-Figma-Token", "Stripe-Account",
		"Content_Type", "accept\x00", "X-Anything", ""} {
		if egress.FieldPasses(name) {
			t.Errorf("%q passes", name)
		}
	}
	for _, name := range []string{"Accept", "accept-language", "Content-Type", "CONTENT-ENCODING", "If-None-Match",
		"Range", "User-Agent", "traceparent", "Idempotency-Key", "Sec-WebSocket-Key"} {
		if !egress.FieldPasses(name) {
			t.Errorf("%s does not pass", name)
		}
	}
	for name, bounded := range map[string]bool{"anthropic-version": true, "x-forwarded-for": true,
		"x-http-method-override": false, "x-original-url": false} {
		if why := egress.FieldOfGateway(name, bounded); why != "" {
			t.Errorf("%s cannot be listed: %s", name, why)
		}
	}
	for _, name := range []string{"x-http-method-override", "x-original-url", "destination"} {
		if egress.FieldOfGateway(name, true) == "" {
			t.Errorf("%s may be listed beside methods or paths", name)
		}
	}
}

func FuzzSaying(f *testing.F) {
	f.Add("X-HTTP-Method-Override", "a=b&_method=x;access_token[]=%zz")
	f.Fuzz(func(t *testing.T, name, query string) {
		if says := egress.Overrides("").Field(name).Query(query); strings.ContainsFunc(
			string(says), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q %q says %q", name, query, says)
		}
	})
}

func BenchmarkSaying(b *testing.B) {
	names := []string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent", "Authorization",
		"X-Stainless-Retry-Count", "X-Request-Id", "Traceparent"}
	b.ReportAllocs()
	for b.Loop() {
		var s egress.Overrides
		for _, n := range names {
			s = s.Field(n)
		}
		if s.Query("?page=1&limit=10") != "" {
			b.Fatal(s)
		}
	}
}
