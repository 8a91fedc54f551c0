package schema

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// remedy finds the text that the author probably meant instead of a rejected text. fix is that text, or ""
// if it is unknown. fix is valid, so the rest of the policy is checked with it. hint is for the finding.
func (c *checker) remedy(text string, s *Shape) (fix, hint string) {
	if plain := unquoted(text); plain != text {
		if !s.Matches(plain) {
			plain, _ = c.remedy(plain, s)
		}
		return plain, "the quotes are curly: write \" instead"
	}
	word := strings.TrimSpace(text)
	if word != text && s.Matches(word) {
		return word, "leave the space around it out: write " + shown(word)
	}
	switch s.Name {
	case "#Bytes":
		fix = size(word)
	case "#Dur":
		fix = duration(word)
	case "#Rate":
		fix = rate(word)
	case "#Host":
		return host(word, s)
	case "#FsPath":
		return filePath(word, s)
	case "#AbsPath":
		return absolute(word, s)
	case "#Prefix":
		fix = "/" + word
	case "#Upstream":
		if !strings.Contains(word, "://") {
			fix = "https://" + word
		}
	case "#Owner":
		return c.owner(word, s)
	case "#Name", "#Label":
		fix = strings.Trim(oddLetters().ReplaceAllString(strings.ToLower(word), "-"), "-")
	case "#BridgeName":
		fix = camel(word)
	case "#Date":
		fix = date(word)
	case "#Ticket":
		if digits := strings.TrimLeft(strings.ToUpper(word), "EXC- #"); digits != "" {
			fix = "EXC-" + digits
		}
	case "#Flag":
		fix = "--" + word
	case "#Digest":
		fix = "sha256:" + strings.ToLower(strings.TrimPrefix(word, "sha256-"))
	case "#Module", "#PyImport", "#AnyModule", "#AnyImport":
		fix = module(word)
	}
	if fix == "" || fix == text || !s.Matches(fix) {
		return "", generalHint(s)
	}
	return fix, "write " + shown(fix)
}

// generalHint returns the general hint for a text whose meaning is unknown.
func generalHint(s *Shape) string {
	return map[string]string{
		"#Date":       `write the day as "2026-12-31": year, month, day`,
		"#Digest":     "ringd vet --probe prints the digest of an environment; leave the field out to pin nothing",
		"#Rate":       "write how many in a minute or a second: 60/m, 10/s",
		"#Dur":        "write a whole number and ms, s, m or h: 90s, 24h",
		"#Bytes":      "write a whole number and B, KiB, MiB or GiB: 512MiB",
		"#Credential": "put the secret into the configuration of the host, and write its name here",
		"#Upstream":   "write https://host; the host's configuration adds the credential",
		"#JsModule":   "write a module of modules/, such as lodash-lite: programs have no modules of Node.js",
		"#PyImport":   "write the name that import takes, such as pandas or pandas.*",
		"#Module":     "write the name that import takes, such as pandas or pandas.*",
		"#AnyModule":  "write the name that import takes, such as pandas or pandas.*",
		"#AnyImport":  "write the name that import takes, such as pandas or pandas.*",
		"#ModuleFile": "put the module below modules/, beside the policy, and write modules/NAME.js",
		"#RegoFile":   "put the rule below guardrails/, beside the policy, and write guardrails/NAME.rego",
		"#Spiffe":     "write spiffe://DOMAIN/NAME, or leave identities out",
		"#BridgeName": "begin with a small letter: searchWeb, tools.search",
	}[s.Name]
}

// mayBeSecret reports whether a text may hold a secret, since findings are stored and shown to others.
func mayBeSecret(text string, s *Shape) bool {
	return s.Name == "#Credential" || (s.Name == "#Upstream" || s.Name == "#Host") && strings.ContainsAny(text, "@?")
}

// shown returns a text in the author's notation: in quotes where YAML needs them.
func shown(text string) string {
	if text == "" || strings.ContainsAny(text[:1], "*&!@%`\"'#?|>{}[]-,") || strings.Contains(text, ": ") ||
		strings.Contains(text, " #") ||
		text[0] <= '9' && strings.Count(text, "-") == 2 { // many readers read it as a date
		return strconv.Quote(text)
	}
	return text
}

// curly are the quotes of word processors.
const curly = "“”„‟‘’‚‛«»"

// unquoted removes curly quotes from a text.
func unquoted(text string) string {
	if text == "" || !strings.ContainsRune(curly, []rune(text)[0]) {
		return text
	}
	return strings.Trim(text, curly)
}

func oddLetters() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9-]+`) }

// parts parses numbers with units: 1h30m, 5 minutes. scale returns the value of a unit. The result is 0 if
// the text is invalid.
func parts(text string, scale func(unit string) float64) float64 {
	const one = `([0-9]+(?:[.,][0-9]+)?)\s*([A-Za-z]*)\s*`
	if !regexp.MustCompile(`^(` + one + `){1,4}$`).MatchString(text) {
		return 0
	}
	total := 0.0
	for _, m := range regexp.MustCompile(one).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
		worth := scale(strings.ToLower(m[2]))
		if err != nil || worth == 0 {
			return 0
		}
		total += n * worth
	}
	return total
}

type unit struct {
	name  string
	worth float64
}

// whole formats a number in the largest unit without a fraction.
func whole(n float64, units []unit) string {
	for _, u := range units {
		if v := n / u.worth; n > 0 && v == float64(int64(v)) && v < 1e9 {
			return strconv.FormatInt(int64(v), 10) + u.name
		}
	}
	return ""
}

// size parses 1GB, 512M, 1.5 GiB. A unit of 1000 is read as 1024, because programs whose options have such
// units mean 1024.
func size(text string) string {
	return whole(parts(text, func(unit string) float64 {
		if unit == "byte" || unit == "bytes" {
			return 1
		}
		letter, rest := "", ""
		if unit != "" {
			letter, rest = unit[:1], unit[1:]
		}
		if unit != "b" && rest != "" && rest != "b" && rest != "ib" && rest != "i" {
			return 0
		}
		return map[string]float64{"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}[letter]
	}), []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}})
}

// duration parses 5 minutes, 1 day, 1h30m, 1.5h.
func duration(text string) string {
	if iso := regexp.MustCompile(`^P(?:([0-9]+)D)?T?((?:[0-9]+[HMS])*)$`).FindStringSubmatch(text); iso != nil {
		text = strings.ToLower(iso[2])
		if iso[1] != "" {
			text = iso[1] + "d" + text
		}
	}
	return whole(parts(text, func(unit string) float64 {
		for _, u := range []struct {
			names string
			worth float64
		}{{"ms msec millisecond milliseconds millis", 1}, {"s sec secs second seconds", 1e3},
			{"m min mins minute minutes", 60e3},
			{"h hr hrs hour hours", 3600e3}, {"d day days", 24 * 3600e3}, {"w week weeks", 7 * 24 * 3600e3}} {
			if slices.Contains(strings.Fields(u.names), unit) {
				return u.worth
			}
		}
		return 0
	}), []unit{{"d", 24 * 3600e3}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}, {"ms", 1}})
}

// rate parses 60/min, 60 per minute.
func rate(text string) string {
	m := regexp.MustCompile(`^([0-9]+)\s*(?:/|per|p|r?p)\s*([A-Za-z]+)$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, u := range []string{"s", "m"} {
		if strings.HasPrefix(strings.ToLower(m[2]), u) && !strings.HasPrefix(m[2], "mo") {
			return m[1] + "/" + u
		}
	}
	return ""
}

// host finds the intended host of a URL, a pattern or a regular expression.
func host(text string, s *Shape) (fix, hint string) {
	rest := text
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	rest, where, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	switch {
	case text == "*" || text == "*.*" || text == ".*":
		return "", `name the hosts: *.example.com is each host below one domain`
	case strings.ContainsAny(rest, `^$\()[]+|`):
		name := strings.NewReplacer("^", "", "$", "", `\.`, ".", `.*\.`, "*.", ".*.", "*.", ".+.", "*.", `.*`,
			"*").Replace(rest)
		if strings.ContainsAny(name, `\()[]+|`) || !s.Matches(name) {
			return "", "a host is no regular expression: name each host, or *. and the domain above it"
		}
		return name, "a host is no regular expression: write " + shown(name)
	case strings.Contains(strings.TrimPrefix(rest, "*."), "*"):
		labels := strings.Split(rest, ".")
		last := 0
		for i, l := range labels {
			if strings.Contains(l, "*") {
				last = i
			}
		}
		if len(labels)-last < 3 {
			return "", "name each host: * is allowed only as the first label of a domain"
		}
		return "", "name each host, or write " + shown("*."+strings.Join(labels[last+1:], ".")) +
			": * matches whole labels, only at the front"
	case rest == text || !s.Matches(rest):
		return "", ""
	}
	hint = "write " + shown(rest)
	if strings.Contains(text, "://") {
		hint += ", without " + text[:strings.Index(text, "://")+3]
	}
	if where != "" {
		hint += "; write a path under paths, if requests can be read"
	}
	return rest, hint
}

// filePath corrects a path that does not start at a place.
func filePath(text string, s *Shape) (fix, hint string) {
	fix = strings.TrimPrefix(text, "file://")
	for _, place := range [][2]string{{"${HOME}", "~"}, {"$HOME", "~"}, {"${WORKSPACE}", "$WORKSPACE"},
		{"$PWD", "$WORKSPACE"}, {"${PWD}", "$WORKSPACE"}, {"%WORKSPACE%", "$WORKSPACE"}} {
		if rest, ok := strings.CutPrefix(fix, place[0]); ok && (rest == "" || rest[0] == '/') {
			fix = place[1] + rest
		}
	}
	switch {
	case strings.Contains(text, `\`):
		return "", `paths have / between folders, and begin with /, ~/ or $WORKSPACE`
	case strings.HasPrefix(fix, "../") || fix == "..":
		return "", "write the whole path, or one below $WORKSPACE: .. leads out of the folder"
	case fix == "~":
		fix = "~/"
	case !strings.HasPrefix(fix, "/") && !strings.HasPrefix(fix, "~") && !strings.HasPrefix(fix, "$"):
		fix = path.Join("$WORKSPACE", fix)
	}
	if strings.Contains(fix, "..") {
		fix = path.Clean(fix)
	}
	if fix == text || !s.Matches(fix) || fix == "." {
		return "", ""
	}
	return fix, "write " + shown(fix)
}

// absolute corrects the path of a program or a folder of the host.
func absolute(text string, s *Shape) (fix, hint string) {
	switch {
	case regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`).MatchString(text):
		return "/usr/bin/" + text, "write the whole path, such as /usr/bin/" + text
	case strings.HasPrefix(text, "/") && strings.Contains(text, ".."):
		if fix = path.Clean(text); s.Matches(fix) {
			return fix, "write " + shown(fix)
		}
	}
	return "", "write the whole path, which begins with /"
}

// owner corrects a name that lacks its kind, such as user: or team:.
func (c *checker) owner(text string, s *Shape) (fix, hint string) {
	name := strings.TrimPrefix(strings.ReplaceAll(text, " ", "-"), "@")
	if kind, rest, ok := strings.Cut(name, ":"); ok {
		word := map[string]string{"u": "user", "users": "user", "person": "user", "g": "group", "groups": "group",
			"role": "group", "t": "team", "teams": "team"}[strings.ToLower(kind)]
		if word == "" {
			word = "group"
		}
		name = word + ":" + rest
	} else if strings.Contains(name, "@") {
		name = "user:" + name
	} else {
		name = "group:" + name
		if c.domain != "" {
			name += "@" + c.domain
		}
	}
	if !s.Matches(name) {
		return "", ""
	}
	return name, "write " + name + " (user:, group: or team: in front of who it is)"
}

// camel joins words to one name: spawn-subagent becomes spawnSubagent.
func camel(text string) string {
	var groups []string
	for _, group := range strings.Split(text, ".") {
		out := ""
		for _, word := range strings.FieldsFunc(group, func(r rune) bool { return r == '-' || r == '_' || r == ' ' }) {
			if out == "" {
				out = strings.ToLower(word[:1]) + word[1:]
			} else {
				out += strings.ToUpper(word[:1]) + word[1:]
			}
		}
		groups = append(groups, out)
	}
	return strings.Join(groups, ".")
}

// date parses other notations of a day.
func date(text string) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	for _, form := range []string{"2006/01/02", "2006.01.02", "02.01.2006", "2.1.2006", "20060102", "2 January 2006",
		"January 2, 2006", "2 Jan 2006", "Jan 2, 2006", "2006-1-2", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
		"2006-01-02T15:04Z"} {
		if t, err := time.Parse(form, text); err == nil {
			if t.Hour()+t.Minute()+t.Second() > 0 {
				return t.Format("2006-01-02T15:04:05Z")
			}
			return t.Format("2006-01-02")
		}
	}
	return ""
}

// module converts a requirement, an import statement or a package name to a module name.
func module(text string) string {
	text = strings.TrimPrefix(text, "import ")
	if i := strings.IndexAny(text, " =<>~!;["); i > 0 {
		text = text[:i]
	}
	text = strings.TrimSuffix(strings.ReplaceAll(text, ".**", ".*"), "/*")
	return strings.ReplaceAll(text, "-", "_")
}

// synonym finds the choice of a definition that an author means by another word.
func synonym(word string, s *Shape) string {
	for _, m := range []struct{ words, means string }{
		{"javascript node nodejs node.js typescript ts ecmascript es", "js"}, {"py python3 cpython", "python"},
		{"bash sh zsh posix", "shell"},
		{"docker oci pod", "container"}, {"vm firecracker kata", "microvm"}, {"webassembly", "wasm"},
		{"none any host", "process"},
		{"enforced enforcing strict block", "enforce"}, {"warn report permissive dry-run dryrun monitor log", "audit"},
		{"gateway proxy broker-only tappass-only", "gateway-only"},
		{"allow-list whitelist allowed kernel-allowlist", "allowlist"}, {"deny block disabled closed", "off"},
		{"approve approval ask", "require-approval"}, {"block refuse", "deny"},
		{"agent policy", "AgentPolicy"}, {"org organisation organization", "OrgPolicy"}, {"team", "TeamPolicy"},
	} {
		if slices.Contains(strings.Fields(m.words), strings.ToLower(word)) && slices.Contains(s.Enum, m.means) {
			return m.means
		}
	}
	return ""
}

// choiceHint explains a choice in more detail.
func choiceHint(s *Shape, meant string) string {
	switch {
	case slices.Contains(s.Enum, "AgentPolicy"):
		return "write AgentPolicy, which grants; OrgPolicy and TeamPolicy set ceilings"
	case slices.Contains(s.Enum, "GET") && meant == "":
		return "leave methods out to allow every one"
	case meant != "":
		return "write " + meant
	case len(s.Enum) == 1:
		return "write " + s.Enum[0]
	default:
		return "" // the finding lists the choices
	}
}

// missingHint shows an example of a required field.
func missingHint(name string) string {
	for _, h := range [][2]string{
		{"apiVersion", "apiVersion: ringd/v1"}, {"kind", "kind: AgentPolicy"}, {"revision", "revision: 1"},
		{"owner", "owner: team:NAME@DOMAIN"},
		{"metadata", "metadata: {name: NAME, revision: 1, owner: team:NAME@DOMAIN}"},
		{"spec", "spec: with executors, bridges and what else is granted"},
		{"powers", "powers: {sensitive: BOOL, untrusted: BOOL, external: BOOL}, each true or false"},
		{"host", "host: api.example.com"}, {"path", "path: /usr/bin/NAME"},
		{"match", "match: NAME, of the agent"}, {"pattern", "pattern: rm -rf, the words that are refused"},
		{"words", "words: push --force"}, {"required", "required: true, which asks people"},
		{"id", "id: EXC-1"}, {"expires", `expires: "2026-12-31"`}, {"reason", "reason: why it is needed"},
		{"approvedBy", "approvedBy: [group:NAME@DOMAIN]"},
		{"grants", "grants: with imports, egress or binaries"},
	} {
		if h[0] == name {
			return "add " + h[1]
		}
	}
	if slices.Contains([]string{"sensitive", "untrusted", "external"}, name) {
		return "add " + name + ": true or false; every bridge says all three"
	}
	return "add " + name
}
