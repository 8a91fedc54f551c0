//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ceiling lists two servers in one entry of the organisation, with a limit.
const ceiling = `apiVersion: ringd/v1
kind: OrgPolicy
metadata: {name: acme, revision: 1, owner: "team:sec"}
spec:
  network:
    egress: [{host: 127.0.0.1, ports: [%d, %d]%s}]
`

// What a ceiling limits is one budget for all grants within its entry: a guest that
// uses several of them gets no more, and no less without the limit.
func TestCeilingBudgetBindsAGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 64<<10))
	})
	a, b := httptest.NewServer(answer), httptest.NewServer(answer)
	defer a.Close()
	defer b.Close()
	whole := fmt.Sprintf("all %d", len("200 ")+64<<10)
	port := func(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }
	for limit, want := range map[string]int{", limits: {down: 160KiB}": 2, "": 6} {
		h := newHost(t, false)
		h.write("sync/org.yaml", fmt.Sprintf(ceiling, port(a), port(b), limit))
		policy := fmt.Sprintf(reachPolicy, "", listed(entry(a, ""), entry(b, "")))
		h.write("sync/p.yaml", strings.Replace(policy, `owner: "user:a"`, `owner: "user:a", parent: acme`, 1))
		h.write("ringd.yaml", h.reachConfig(""))
		h.start("", 0)
		run := h.program(fmt.Sprintf(
			`const all = []; for (const url of [%q, %q, %[1]q, %[2]q, %[1]q, %[2]q]) { %s; all.push(said.length > 9999 ? "all " + said.length : said) } all.join("\n")`,
			a.URL, b.URL, strings.Replace(tryFetch, "%q", "url", 1)))
		all := strings.Split(h.value(h.ended(run.ID)), "\n")
		for i, said := range all {
			if i < want && said != whole || i >= want && !strings.Contains(said, "egress.budget") {
				t.Errorf("limit %q: request %d: %.200s", limit, i+1, said)
			}
		}
		if len(all) != 6 {
			t.Errorf("limit %q: %d answers", limit, len(all))
		}
	}
}
