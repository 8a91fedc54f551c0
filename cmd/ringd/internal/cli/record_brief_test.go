package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/profiles"
)

// A short record says when, which run, what was decided, of what, and why.
func TestBriefRecords(t *testing.T) {
	const run = "r5w2ocmttxozm5hjytsw3n265we"
	deny := func(code profiles.Code, reason string) *audit.Decision {
		return &audit.Decision{Code: code, Reason: reason}
	}
	allow := &audit.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Reason: "the policy lists it"}
	var b strings.Builder
	for _, r := range []audit.Record{
		{Kind: audit.DaemonStarted, Detail: map[string]string{"version": "v1.2.3"}},
		{Kind: audit.RunAsked, Run: run, Capability: "executor:js", Actor: "uid:1000"},
		{Kind: audit.RunStarted, Run: run, State: "running", Detail: map[string]string{"executor": "js", "program": "/srv/agents/nightly/reports/review.ts"}},
		{Kind: audit.CallOpened, Run: run, Call: "c1", Capability: "bridge:search", State: "open", Decision: allow, Detail: map[string]string{"touched": "untrusted"}},
		{Kind: audit.CallOpened, Run: run, Call: "c2", Capability: "bridge:pay", State: "open", Decision: &audit.Decision{Verdict: profiles.Ask, Code: profiles.CodeApprovalRequired, Reason: "an approval is needed"}},
		{Kind: audit.CallApproved, Run: run, Call: "c2", Capability: "bridge:pay", Actor: "owner:uid:0", Detail: map[string]string{"as": "group:leads@acme.example"}},
		{Kind: audit.CallDecided, Run: run, Call: "c3", Capability: "bridge:search", State: "refused", Decision: deny(profiles.CodeBridgeCalls, "search may be called once in a run")},
		{Kind: audit.CallClosed, Run: run, Call: "c4", Capability: "bridge:search", State: "failed", Fault: &audit.Fault{ID: run + "/c4", Text: "exit status 3: oops"}},
		{Kind: audit.ImportDecided, Run: run, Capability: "import:node:fs", State: "refused", Decision: deny(profiles.CodeImportNotAllowed, `import of "node:fs" is not allowed`), Detail: map[string]string{"source": "guest"}},
		{Kind: audit.FileDecided, Run: run, Capability: "file", State: "refused", Decision: deny(profiles.CodeFileNotGranted, "reading is not granted: /etc/passwd")},
		{Kind: audit.EgressDecided, Run: run, Capability: "egress:pastebin.com:443", Decision: deny(profiles.CodeEgressNotGranted, "pastebin.com:443 is not listed"), Detail: map[string]string{"door": "fetch", "method": "GET", "path": "/raw"}},
		{Kind: audit.EgressDecided, Run: run, Capability: "egress:docs.acme.example.attacker.example:443", Decision: deny(profiles.CodeEgressNotGranted, "")},
		{Kind: audit.EgressDecided, Run: run, Capability: "egress:a.example:443", Decision: allow, Detail: map[string]string{"method": "POST", "path": "/v1/messages/of/all"}},
		{Kind: audit.EgressCounted, Capability: "egress:b.example:80", Decision: deny(profiles.CodeEgressNotGranted, ""), Detail: map[string]string{"count": "400"}},
		{Kind: audit.GuestRefused, Run: run, Decision: deny(profiles.CodeGuestRefused, "exec refused execve /usr/bin/uname"), Detail: map[string]string{"call": "execve", "detail": "/usr/bin/uname", "count": "1", "layer": "exec"}},
		{Kind: audit.ShadowDecided, Run: run, Call: "c1", Capability: "bridge:search", Decision: deny(profiles.CodeBridgeNotGranted, ""), Detail: map[string]string{"enforced": "allow"}},
		{Kind: audit.LockdownBegun, Actor: "uid:0", Detail: map[string]string{"reason": "INC-7"}},
		{Kind: audit.RunEnded, Run: run, State: "done", Decision: deny(profiles.CodeBridgeCalls, "x"), Detail: map[string]string{"enforced": "mounts namespaces", "tier": "os-sandbox"}},
	} {
		r.Time = time.Date(2026, 11, 23, 18, 58, 43, 496e6, time.FixedZone("", 3600))
		if err := (cli.Page{W: &b, Terminal: true}).Brief(audit.Entry{
			Head: audit.Head{Seq: 7}, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	want := `-             -      daemon_started  v1.2.3
r5w2ocmttxoz  -      run_asked executor:js  by uid:1000
r5w2ocmttxoz  -      run_started …ents/nightly/reports/review.ts
r5w2ocmttxoz  allow  call_opened c1 search
r5w2ocmttxoz  ask    call_opened c2 pay
r5w2ocmttxoz  -      call_approved c2 pay  as group:leads@acme.…
r5w2ocmttxoz  deny   call c3 search  bridge.calls
r5w2ocmttxoz  fault  call_closed c4 search  failed  exit status…
r5w2ocmttxoz  deny   import node:fs  not_allowed
r5w2ocmttxoz  deny   file  not_granted  reading is not granted:…
r5w2ocmttxoz  deny   egress pastebin.com:443  not_granted
r5w2ocmttxoz  deny   egress …e.attacker.example:443  not_granted
r5w2ocmttxoz  allow  egress a.example:443  POST /v1/messages/of…
-             deny   egress_counted b.example:80  400 times  no…
r5w2ocmttxoz  deny   guest_refused execve /usr/bin/uname
r5w2ocmttxoz  deny   shadow c1 search  in force: allow  bridge.…
-             -      lockdown_begun  by uid:0  INC-7
r5w2ocmttxoz  deny   run_ended  done  bridge.calls
`
	if d := cmp.Diff(want, strings.ReplaceAll(b.String(), "11-23 17:58:43  ", "")); d != "" {
		t.Error(d)
	}
}

// TestBriefFits: whatever stands in a record of any kind, its short line has 80 columns
// at most, is one line, and sends a terminal text alone.
func TestBriefFits(t *testing.T) {
	fault := &audit.Fault{ID: "f", Text: "text"}
	for _, kind := range audit.Kinds() {
		for _, text := range append(clitest.Hostile(), "short", strings.Repeat("x", 300), strings.Repeat("東京", 99),
			strings.Repeat("…", 99)) {
			detail := map[string]string{}
			for _, key := range []string{"as", "call", "detail", "program", "method", "path", "reason", "error",
				"count", "enforced", "version"} {
				detail[key] = text
			}
			for _, r := range []audit.Record{
				{Run: text, Call: text, Capability: text, State: text, Actor: text, Fault: fault, Detail: detail},
				{Run: text, Call: text, Capability: "egress:" + text, Decision: &audit.Decision{Code: profiles.Code(text), Reason: text}},
				{Call: "c1", Capability: "bridge:" + text, Decision: &audit.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed}, Detail: detail},
				{Actor: text, State: text, Fault: &audit.Fault{ID: text, Text: text}},
			} {
				r.Kind = kind
				var b bytes.Buffer
				if err := (cli.Page{W: &b, Terminal: true}).Brief(audit.Entry{Record: r}); err != nil {
					t.Fatal(err)
				}
				if n := columns(strings.TrimSuffix(b.String(), "\n")); n > 80 {
					t.Errorf("%s of %.40q is %d columns wide: %q", kind, text, n, b.String())
				}
				clitest.Check(t, "Brief", text, b.String(), 1)
			}
		}
	}
}

// columns is how wide a line is at a terminal: wide letters count twice.
func columns(line string) int {
	n := utf8.RuneCountInString(line)
	for _, r := range line {
		if r >= 0x3000 {
			n++
		}
	}
	return n
}
