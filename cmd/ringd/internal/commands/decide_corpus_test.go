package commands

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// egressCase is a line of a corpus of egress.
type egressCase struct {
	ID       string
	Allow    []string
	Request  json.RawMessage
	Expect   string
	Why      string
	MustDial string `json:"must_dial"`
}

// compactSet is the compact form of a policy that lists hosts; nil when it has
// findings that refuse it, and nothing comes into force.
func compactSet(t *testing.T, hosts []string) *profiles.Set {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"interpreter_ring": map[string]any{"executor_network": "kernel-allowlist"},
		"kernel_ring":      map[string]any{"network_egress_allowlist": hosts},
	})
	if err != nil {
		t.Fatal(err)
	}
	policies, found := schema.Decode([]schema.Source{{Name: "policy.yaml", Data: text}})
	if found.Refused() {
		return nil
	}
	set, more := compiler.Compile(compiler.Config{Policies: policies})
	if more.Refused() {
		return nil
	}
	return &set
}

// The corpora come out of `ringd decide` as they are expected, from the policy a
// user would write: each list is compiled, each request goes in as a line and
// comes out as one. A list that does not compile comes into force nowhere, so all
// of it is denied.
func TestEgressCorpora(t *testing.T) {
	for file, least := range map[string]int{"egress.jsonl": 89, "attacks/egress/cases.jsonl": 250} {
		t.Run(file, func(t *testing.T) {
			cases := 0
			for _, group := range corpusByList(t, "../../../../testdata/"+file) {
				cases += len(group)
				var d *profiles.Decider
				if set := compactSet(t, group[0].Allow); set != nil {
					d = set.Decider("default", profiles.Environment{Now: time.Unix(1e9, 0)})
				}
				checkCorpus(t, d, group)
			}
			if cases < least {
				t.Errorf("%d cases", cases)
			}
		})
	}
}

func checkCorpus(t *testing.T, d *profiles.Decider, group []egressCase) {
	t.Helper()
	var in, out bytes.Buffer
	for _, c := range group {
		in.WriteString(`{"egress":` + string(c.Request) + "}\n")
	}
	if _, err := decideLines(t.Context(), d, "r", &in, &out); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	for _, c := range group {
		var got profiles.Decision
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Verdict.String() != c.Expect {
			t.Errorf("%s, %s: got %s, %s (%s); want %s", c.ID, c.Why, got.Verdict, got.Code, got.Reason, c.Expect)
		}
		if got.Code == profiles.CodeActionMalformed {
			t.Errorf("%s is not a valid action: %s", c.ID, got.Reason)
		}
		if c.MustDial != "" && got.Dial != c.MustDial {
			t.Errorf("%s dials %q, want %s", c.ID, got.Dial, c.MustDial)
		}
	}
}

// corpusByList reads a corpus in groups with the same list.
func corpusByList(t *testing.T, path string) map[string][]egressCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]egressCase{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c egressCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		key := strings.Join(c.Allow, "\xff")
		out[key] = append(out[key], c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
