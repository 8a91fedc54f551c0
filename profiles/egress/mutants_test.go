package egress_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant takes one check out of the source.
type mutant struct{ file, old, with string }

func mutants() []mutant {
	return []mutant{
		// names
		{"name.go", `name == "" || len(name) > maxName {
		return "", errors`, `name == "" {
		return "", errors`},
		{"name.go", `case n > maxLabel:`, `case n > 2*maxLabel:`},
		{"name.go", `case n == 0:`, `case n < 0:`},
		{"name.go", `if numeric(name) {
		return "", errors`, `if false {
		return "", errors`},
		{"name.go", `last[1]|0x20 == 'x'`, `false`},
		{"name.go", `if puny {`, `if puny && false {`},
		{"name.go", `err != nil || back != label`, `err != nil && back != label`},
		{"name.go", `case 'h':
			return false, false, errors.New("the name is not in its ASCII form, xn--…")`, `case 'h':`},
		{"name.go", `default:
			return false, false, fmt.Errorf("%s cannot stand`, `case '!':
			return false, false, fmt.Errorf("%s cannot stand`},
		{"name.go", `text == "" || len(text) > 5 || text[0] == '0'`, `text == "" || text[0] == '0'`},
		{"name.go", `len(text) > 5 || text[0] == '0'`, `len(text) > 5`},
		{"name.go", `if n > 65535 {`, `if false {`},
		{"name.go", `if c < '0' || c > '9' {
			return 0, errPort
		}`, `if c < '0' || c > '9' {
			continue
		}`},
		{"name.go", `if a.Zone() != "" {
		return netip.Addr{}`, `if false {
		return netip.Addr{}`},
		{"name.go", `return a.Unmap(), nil`, `return a, nil`},
		// targets
		{"target.go", `end == len(text) || text[end] != ':'`, `end == len(text)`},
		{"target.go", `if !ok || strings.IndexByte(inner, ':') < 0 {`, `if !ok {`},
		{"target.go", `!strings.EqualFold(target[:len(scheme)], scheme)`, `false`},
		{"target.go", `case c <= ' ' || c >= 0x7f:`, `case c == 0:`},
		{"target.go", `case c == '#':`, `case c == 0:`},
		{"target.go", `case c == '\\':`, `case c == 0:`},
		{"target.go", `if h != d {`, `if h.Port != d.Port {`},
		{"target.go", `if h != d {`, `if h.Name != d.Name {`},
		{"target.go", `		name, err := readName(domain)
		if err != nil {`, `		if a, err := netip.ParseAddr(domain); err == nil {
			return Dest{Addr: a, Port: port}, nil
		}
		name, err := readName(domain)
		if err != nil {`},
		// entries
		{"entry.go", `if !strings.Contains(name, ".") {
		return "", errors`, `if false {
		return "", errors`},
		{"entry.go", `case p != p.Masked():`, `case false:`},
		{"entry.go", `case p.Bits() == 0:`, `case false:`},
		{"entry.go", `case bracketed && a.Is4():`, `case false:`},
		// the list
		{"list.go", `		return closed(err.Error())
	}
	if l.denied`, `		l.allowed = index{}
	}
	if l.denied`},
		{"list.go", `if denied >= 0 {`, `if false {`},
		{"list.go", `case !e.on(d.Port):`, `case false:`},
		{"list.go", `case !e.live(now):`, `case false:`},
		{"list.go", `!now.IsZero() && now.Before(expires)`, `now.Before(expires)`},
		{"list.go", `for rest := d.Name; ; {`, `for rest := "x." + d.Name; ; {`},
		{"list.go", `!d.Addr.IsValid() && !isName(d.Name)`, `false`},
		{"list.go", `Reads: len(opaque) == 0}`, `}`},
		{"list.go", `if m.Reads && d.Port == 443 {`, `if false {`},
		{"list.go", `case d.Port != 80:`, `case false:`},
		{"list.go", `case !live(v.Expires, now):`, `case false:`},
		{"list.go", `if i := l.deniedOnEveryPort(d); i >= 0 {`, `if i := l.deniedOnEveryPort(d); i > len(l.deny) {`},
		{"list.go", `		if l.allow[i].live(now) {
			m.Entries`, `		if true {
			m.Entries`},
		// the guard
		{"guard.go", `a.Zone() != "", a.IsUnspecified()`, `a.IsUnspecified()`},
		{"guard.go", `a.IsLinkLocalUnicast(), `, ``},
		{"guard.go", `a.IsMulticast(), `, ``},
		{"guard.go", `, metadata(a):`, `:`},
		{"guard.go", `b[0] == 0 || b[0] >= 240`, `b[0] >= 240`},
		{"guard.go", `b[0] == 0 || b[0] >= 240`, `b[0] == 0`},
		{"guard.go", `if inner, ok := translated(a); ok {
		return classifyTranslated`, `if inner, ok := translated(a); ok && false {
		return classifyTranslated`},
		{"guard.go", `v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12)`, `v4(6, 7, 9, 10), v4(7, 9, 10, 11)`},
		{"guard.go", `v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12)`, `v4(9, 10, 11, 12)`},
		{"guard.go", `if c == loopback { // the loopback of the translator`, `if false { // of the translator`},
		{"guard.go", `case zero(0, 12), `, `case `},
		{"guard.go", `		zero(0, 8) && b[8] == 0xff && b[9] == 0xff && zero(10, 12), `, `		`},
		{"guard.go", `		b[0] == 0x20 && b[1] == 0x02, `, `		`},
		{"guard.go", `		b[0] == 0x20 && b[1] == 0x01 && zero(2, 4), `, `		`},
		{"guard.go", `b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe`, `b[8] == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe`},
		{"guard.go", `p.IsSingleIP() && port })`, `port })`},
		{"guard.go", `p.IsSingleIP() && port })`, `p.IsSingleIP() })`},
		{"guard.go", `return p.Bits() >= kind.Bits() })`, `return p.Bits() >= kind.Bits() || true })`},
		{"guard.go", `e.on(a.Port()) && e.live(now) && fits`, `e.live(now) && fits`},
		{"guard.go", `e.on(a.Port()) && e.live(now) && fits`, `e.on(a.Port()) && fits`},
		{"guard.go", `if i := l.denied.covers(addr, a.Port(), l.deny); i >= 0 {`, `if i := -1; i >= 0 {`},
		{"guard.go", `if i := l.denied.covers(v4, a.Port(), l.deny); i >= 0 {`, `if i := l.denied.covers(v4, a.Port(), l.deny); i > len(l.deny) {`},
		{"guard.go", `part.Bits() >= kind.Bits() && whole.Bits() < kind.Bits()`, `part.Bits() > kind.Bits()+1000`},
		{"guard.go", `case loopback:
		return part.IsSingleIP()`, `case loopback:
		return false`},
		{"guard.go", `if l.Dialable(netip.AddrPortFrom(a, d.Port), now) == nil {`, `if true {`},
		{"guard.go", `if r := l.Dialable(netip.AddrPortFrom(d.Addr, d.Port), now); r != nil {`, `if r := l.Dialable(netip.AddrPortFrom(d.Addr, d.Port), now); r != nil && r.Entry > 1e6 {`},
		// requests
		{"request.go", `strings.EqualFold(method, "TRACE") || strings.EqualFold(method, "TRACK") ||
		`, ``},
		{"request.go", `!Joins(path)`, `false`},
		{"request.go", `s == "" && i < len(segments)-1`, `s == "" && i < 0`},
		{"request.go", `s == "." || s == ".." || s == ""`, `s == ""`},
		{"request.go", `|| strings.ContainsAny(decoded, "\\%") ||
`, `||
`},
		{"request.go", `strings.ContainsFunc(decoded, unicode.IsControl)`, `strings.ContainsFunc(decoded, unicode.IsControl) && false`},
		{"request.go", `strings.EqualFold(method, "TRACE") || `, `method == "TRACE" || `},
		{"request.go", `!slices.Contains(methods, method)`, `!slices.Contains(methods, method) && false`},
		{"request.go", `if len(paths) == 0 {
		return nil`, `if true {
		return nil`},
		{"request.go", `case '/', '\\':`, `case 0:`},
		{"request.go", `case '%':
			return`, `case 0:
			return`},
		{"request.go", `if !utf8.Valid(b) {`, `if !utf8.Valid(b) && false {`},
		{"request.go", `if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {`, `if segment == "." || segment == ".." {`},
		{"request.go", `if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {`, `if strings.Contains(segment, "\x00") {`},
		{"request.go", `if c == '\\' || c == '#' {`, `if false {`},
		{"request.go", `clean[len(p)] == '/'`, `true`},
		{"request.go", `if !live(expires, now) {`, `if false {`},
		{"request.go", `return m.withFirst(at), nil`, `return m.withFirst(0 * at), nil`},
		// first bytes
		{"sni.go", `case errors.Is(err, clienthello.ErrName):`, `case errors.Is(err, clienthello.ErrName) && false:`},
		{"sni.go", `case err != nil:`, `case false:`},
		{"sni.go", `case h.ECH && !l.passesECH(m):`, `case false:`},
		{"sni.go", `case h.HasName:
		return l.server(d, h.Name, entry, now)`, `case h.HasName:
		return nil`},
		{"sni.go", `case !d.Addr.IsValid():`, `case false:`},
		{"sni.go", `name, err := readName(text)
	if err != nil {`, `name, err := readName(text)
	if err != nil && false {`},
		{"sni.go", `m, r := l.match(Dest{Name: name, Port: d.Port}, now)`, `m, r := l.matchName(name, now)`},
		{"sni.go", `case m.Reads:`, `case false:`},
		// the steps of a decision
		{"decision.go", `		return d
	}
	kept, r`, `	}
	kept, r`},
		{"decision.go", `		return d.Refusal()
	}`, `	}`},
		{"decision.go", `		return d
	}
	return d.next(d.match, d.list.hello`, `	}
	return d.next(d.match, d.list.hello`},
		{"decision.go", `		return d
	}
	return d.next(d.list.request`, `	}
	return d.next(d.list.request`},
		{"decision.go", `	if r != nil {
		return Decision{`, `	if r != nil && len(m.Entries) == 0 {
		return Decision{`},
		{"decision.go", `return Decision{list: d.list, target: d.target, refusal: r}`, `d.refusal = r
		return d`},
		// fetch
		{"url.go", `u.Username() != "" || u.Password() != "" || hasUserinfo(text)`, `hasUserinfo(text)`},
		{"url.go", `u.Username() != "" || u.Password() != "" || hasUserinfo(text)`, `u.Username() != ""`},
		{"url.go", `default:
		return URL{}, refusal(Target, "only http`, `case "x":
		return URL{}, refusal(Target, "only http`},
		{"url.go", `why == "" && !validEscapes(out.Path)`, `false`},
		{"fetch.go", `if i == MaxRedirects {`, `if i == 1e6 {`},
		{"fetch.go", `			d = t.hop(u)
`, ``},
		{"fetch.go", `if d.Allowed() && u.Scheme == "http" && Inspected(u.Dest) {`, `if false {`},
		{"fetch.go", `if t.HostHeader != nil {`, `if false {`},
		{"fetch.go", `if ForbiddenField(h[0]) {`, `if false {`},
		// listeners
		{"trial.go", `if r := SameHost(target, string(req.Host), 80); r != nil {`, `if false {`},
		{"heads.go", `if r := SameHost(d, string(req.Host), d.Port); r != nil {`, `if false {`},
		{"trial.go", `if Inspected(target) {
		return d.Hello`, `if false {
		return d.Hello`},
		{"trial.go", `case Inspected(target):
		return t.hello(d, first)`, `case false:
		return t.hello(d, first)`},
		{"trial.go", `if t.Cmd != "" && t.Cmd != "connect" {`, `if false {`},
		{"trial.go", `strings.ContainsAny(h[0]+h[1], "\r\n\x00")`, `false`},
		{"trial.go", `if atyp != "domain" {
			return`, `if false {
			return`},
		{"action.go", `if t.NoDNS {`, `if false {`},
		{"action.go", `if t.ResolveMode == "" && len(texts) > 0 {`, `if false {`},
		{"action.go", `	t.lookups++
`, ``},
		// what a request says beside its first line
		{"fieldmeaning.go", `case has(name, "httpmethod"), has(name, "httpverb"):`, `case has(name, "httpverb"):`},
		{"fieldmeaning.go", `continue
		}
		dst`, `c = '-'
		}
		dst`},
		{"fieldmeaning.go", `"consumer", "anonymousconsumer"`, `"anonymousconsumer"`},
		{"fieldmeaning.go", `"url", "uri", "path",`, `"uri",`},
		{"fields.go", `case override == OverridesFields && virtual:`, `case false:`},
		{"fields.go", `case carriesFields(plain):`, `case false:`},
	}
}

// Each check is there, once, to be taken out.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants() {
		text, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s has %d times: %s", m.file, n, m.old)
		}
	}
}

// With any one check taken out, a test fails: an attack passes, or what is
// allowed is not. It compiles the packages once for each, so it is asked for with
// RINGD_MUTANTS=1.
func TestMutants(t *testing.T) {
	if os.Getenv("RINGD_MUTANTS") == "" {
		t.Skip("compiles everything a hundred times: RINGD_MUTANTS=1")
	}
	only := os.Getenv("RINGD_MUTANTS_FILE")
	for _, m := range mutants() {
		if only != "" && only != m.file {
			continue
		}
		t.Run(m.file, func(t *testing.T) {
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			at, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
			with := strings.Replace(string(text), m.old, m.with, 1)
			if err := os.WriteFile(changed, []byte(with), 0o600); err != nil {
				t.Fatal(err)
			}
			rules, err := json.Marshal(map[string]any{"Replace": map[string]string{at: changed}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, rules, 0o600); err != nil {
				t.Fatal(err)
			}
			test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay", overlay,
				"-failfast", "-run", "Egress|Guard|Upstream|Fuzz|List|Entry|Path|Opens|Match|Deny|Expiry|Ports|Request|Hello", "-skip", "AttackFile|GuardAgainst|FuzzMatch", ".", "..")
			test.Env = append(os.Environ(), "RINGD_MUTANTS=")
			out, err := test.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("no test misses: %s", m.old)
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("does not compile: %s\n%s", m.old, out)
			}
		})
	}
}
