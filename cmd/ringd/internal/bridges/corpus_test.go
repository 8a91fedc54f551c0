package bridges_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/profiles"
	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// errDialed stops a request of the corpus where it would be dialed: its addresses
// are not those of this host.
var errDialed = errors.New("dialed")

// corpusCase is one line of the corpus.
type corpusCase struct {
	ID      string
	Allow   []string
	Request dest.Action
	Expect  string
	Why     string
}

// TestCorpus drives each fetch of the corpus through the provider, up to where it
// would be dialed, and holds the end against what the decision says of it whole.
func TestCorpus(t *testing.T) {
	f, err := os.Open("../../../../testdata/egress.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, n := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Request.Kind != "fetch" || len(c.Request.Redirects) > 0 { // those are in TestRedirects: they need a server
			continue
		}
		n++
		t.Run(c.ID, func(t *testing.T) {
			d, readable := corpusDecider(c.Allow)
			want := d.Egress(c.Request)
			if want.Verdict.String() != c.Expect {
				t.Errorf("%s: decided %s (%s), want %s", c.Why, want.Verdict, want.Code, c.Expect)
			}
			dialed, err := corpusFetch(t, d, c.Request)
			if allowed := errors.Is(err, errDialed); allowed != (c.Expect == "allow") || allowed && !readable {
				t.Errorf("%s: %v, want %s", c.Why, err, c.Expect)
			}
			if want.Dial != "" && dialed != want.Dial {
				t.Errorf("dials %q, want %q", dialed, want.Dial)
			}
			var no *profiles.Denial
			if errors.As(err, &no) && no.Decision.Code != want.Code {
				t.Errorf("refused with %s, decided with %s", no.Decision.Code, want.Code)
			}
		})
	}
	if err := lines.Err(); err != nil || n < 6 {
		t.Fatalf("%d cases, %v", n, err)
	}
}

// corpusDecider compiles a list as the compiler does; one entry that cannot be
// read closes it.
func corpusDecider(allow []string) (*profiles.Decider, bool) {
	e, ok := profiles.Egress{Mode: profiles.EgressAllowlist}, true
	for _, text := range allow {
		entry, err := dest.ReadEntry(text)
		if err != nil {
			ok, entry.Host = false, text
		}
		e.Allow = append(e.Allow, profiles.EgressRule{Host: entry.Host, Ports: entry.Ports, AnyPort: entry.AnyPort})
	}
	a := profiles.Agent{Egress: e, Bridges: map[string]profiles.Bridge{
		"fetch": {Name: "fetch", Limits: profiles.BridgeLimits{ResultBytes: 1 << 20}}}}
	return profiles.NewDecider(a, "r", profiles.Environment{Now: time.Unix(1e9, 0)}), ok
}

// corpusFetch performs the request with the answers of the case. What would be
// dialed is on record before it is; the record fails then.
func corpusFetch(t *testing.T, d *profiles.Decider, a dest.Action) (dialed string, err error) {
	t.Helper()
	var work sync.WaitGroup
	lookups := 0
	e, err := proxy.New(proxy.Config{
		Go: work.Go, Now: func() time.Time { return time.Unix(1e9, 0) },
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			if a.NoDNS {
				t.Error("the resolver was asked")
			}
			all := a.ResolvesTo
			if len(all) == 0 {
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			}
			if a.ResolveMode != "rrset" {
				all = all[min(lookups, len(all)-1):][:1]
			}
			lookups++
			var out []netip.Addr
			for _, text := range all {
				if ip, err := netip.ParseAddr(text); err == nil {
					out = append(out, ip)
				}
			}
			if len(out) == 0 {
				return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
			}
			return out, nil
		},
		Record: func(ev proxy.Event) error {
			if ev.Decision.Verdict == profiles.Allow && ev.End == "" {
				dialed = ev.Dial.String()
				return errDialed
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := bridges.NewFetch(bridges.Config{Egress: e})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		e.Close()
		work.Wait()
	}()
	args := map[string]any{"url": a.Target, "method": http.MethodGet, "headers": map[string]string{}}
	if a.Method != "" {
		args["method"] = strings.ToUpper(a.Method)
	}
	if a.Path != "" || a.HostHeader != nil {
		t.Fatalf("a fetch with more than is known here: %+v", a)
	}
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), contract.Call{Run: "run", Agent: "a", Bridge: "fetch", Args: b,
		Deciders: func() []*profiles.Decider { return []*profiles.Decider{d} }})
	if err == nil {
		err = fmt.Errorf("an answer from nowhere")
	}
	return dialed, err
}
