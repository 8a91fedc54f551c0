package profiles_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// corpusCase is one line of a corpus of egress.
type corpusCase struct {
	ID       string
	Category string
	Allow    []string
	Deny     []string
	Request  egress.Action
	Expect   string
	Why      string
	Arguable string
	MustDial string `json:"must_dial"`
}

func corpus(t *testing.T, path string) (out []corpusCase) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// listing compiles the entries of a case as the compiler does; false when one of
// them cannot be read, which closes the list.
func listing(allow, deny []string) (profiles.Agent, bool) {
	e := profiles.Egress{Mode: profiles.EgressAllowlist}
	ok := true
	for i, list := range [][]string{allow, deny} {
		for _, text := range list {
			entry, err := egress.ReadEntry(text)
			if err != nil {
				ok = false
				entry.Host = text
			}
			r := profiles.EgressRule{Host: entry.Host, Ports: entry.Ports, AnyPort: entry.AnyPort}
			if i == 0 {
				e.Allow = append(e.Allow, r)
			} else {
				e.Deny = append(e.Deny, r)
			}
		}
	}
	return profiles.Agent{Name: "a", Egress: e}, ok
}

func decider(a profiles.Agent) *profiles.Decider {
	return profiles.NewDecider(a, "r", profiles.Environment{Now: time.Unix(1e9, 0)})
}

// The corpus says what is allowed and what is denied; of an arguable line the
// expectation is our choice as well.
func TestEgressCorpus(t *testing.T) {
	cases := corpus(t, "../testdata/egress.jsonl")
	if len(cases) < 89 {
		t.Fatalf("the corpus has %d lines", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			a, _ := listing(c.Allow, c.Deny)
			got := decider(a).Egress(c.Request)
			if got.Verdict.String() != c.Expect {
				t.Errorf("%s: got %s, %s (%s); want %s", c.Why, got.Verdict, got.Code, got.Reason, c.Expect)
			}
			if c.MustDial != "" && got.Dial != c.MustDial {
				t.Errorf("dials %q, want %s", got.Dial, c.MustDial)
			}
			if got.Verdict == profiles.Deny && got.Code == "" {
				t.Error("a denial without a code")
			}
		})
	}
}

// The requests of testdata/attacks/http, in bytes as they come over the wire, are
// decided as they are expected.
func TestEgressWireTable(t *testing.T) {
	text, err := os.ReadFile("../testdata/attacks/http/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c struct {
			corpusCase
			Request struct {
				egress.Action
				Fill, Fields, Each int
			}
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		raw := strings.ReplaceAll(c.Request.Raw, "%FILL%", strings.Repeat("a", c.Request.Fill))
		var fields strings.Builder
		for i := range c.Request.Fields {
			fmt.Fprintf(&fields, "X-%d: %s\r\n", i, strings.Repeat("a", c.Request.Each))
		}
		c.Request.Raw = strings.ReplaceAll(raw, "%FIELDS%", fields.String())
		a, _ := listing(c.Allow, nil)
		if got := decider(a).Egress(c.Request.Action); got.Verdict.String() != c.Expect {
			t.Errorf("%s, %s: got %s, %s (%s)", c.ID, c.Why, got.Verdict, got.Code, got.Reason)
		}
	}
}

// Each case that others answer differently stands in the document with our
// answer.
func TestEgressArguable(t *testing.T) {
	doc, err := os.ReadFile("../docs/EGRESS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range corpus(t, "../testdata/egress.jsonl") {
		row := "| " + c.ID + " | " + c.Expect + ": "
		if listed := strings.Contains(string(doc), row); listed != (c.Arguable != "") {
			t.Errorf("%s is arguable: %q; docs/EGRESS.md has %q: %v", c.ID, c.Arguable, row, listed)
		}
	}
}
