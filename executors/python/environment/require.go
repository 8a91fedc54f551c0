// The dependencies of Python packages are lines of Requires-Dist (PEP 508), and of requires.txt, with their
// markers.
//
// A marker is evaluated if its variables are known: the version of the interpreter, the platform, the extras. A
// marker that cannot be evaluated or parsed counts as needed. A package that is granted without need can do no
// more than one that declares it, but a package without a dependency does not work.

package environment

import (
	"regexp"
	"slices"
	"strings"
)

// requirement is one package that another needs.
type requirement struct {
	Name   string   // normalized
	Extras []string // of it, normalized
	marker string   // if empty, always
}

// Platform holds the values of the variables in markers.
type Platform struct {
	Version string // of the interpreter: 3.11.2
	Machine string // x86_64
}

// normalizeName returns the canonical spelling of a distribution's name, as PEP 503 defines it.
func normalizeName(name string) string {
	return strings.ToLower(runs.ReplaceAllString(strings.TrimSpace(name), "-"))
}

var (
	runs = regexp.MustCompile(`[-_.]+`)
	head = regexp.MustCompile(`^\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?`)
)

// parseRequirement parses a line of Requires-Dist. ok is false for a line that names no package.
func parseRequirement(line string) (r requirement, ok bool) {
	line, marker, _ := strings.Cut(line, ";")
	// a semicolon in its address
	if at := strings.Index(line, " @ "); at >= 0 && strings.Contains(marker, ";") {
		marker = marker[strings.LastIndex(marker, ";")+1:]
	}
	m := head.FindStringSubmatch(line)
	if m == nil {
		return requirement{}, false
	}
	r = requirement{Name: normalizeName(m[1]), marker: strings.TrimSpace(marker)}
	for e := range strings.SplitSeq(m[2], ",") {
		if e = normalizeName(e); e != "" {
			r.Extras = append(r.Extras, e)
		}
	}
	return r, true
}

// parseRequirements parses requires.txt of an egg-info: sections "[extra:marker]" of lines.
func parseRequirements(text string) (all []requirement) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if in, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(in, "]")
			continue
		}
		r, ok := parseRequirement(line)
		if !ok {
			continue
		}
		extra, marker, _ := strings.Cut(section, ":")
		if extra != "" {
			marker = join(marker, `extra == "`+extra+`"`)
		}
		r.marker = join(r.marker, marker)
		all = append(all, r)
	}
	return all
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return "(" + a + ") and (" + b + ")"
	}
}

// readMetadata parses the headers of a METADATA or PKG-INFO: the name, the version and the dependencies. The
// name is empty if there is none.
func readMetadata(text string) (name, version string, needs []requirement) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break // the description follows
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		switch value = strings.TrimSpace(value); strings.ToLower(key) {
		case "name":
			name = normalizeName(value)
		case "version":
			version = value
		case "requires-dist":
			if r, ok := parseRequirement(value); ok {
				needs = append(needs, r)
			}
		}
	}
	return name, version, needs
}

// Needed reports whether the requirement applies here, with these extras of the package that declares it.
func (r requirement) Needed(p Platform, extras []string) bool {
	if r.marker == "" {
		return true
	}
	e := &evaluation{platform: p, extras: extras, rest: words(r.marker)}
	got := e.or()
	return got != no || e.bad || len(e.rest) > 0
}

// verdict is the value of a marker, or of a part of it.
type verdict int

const (
	unknown verdict = iota
	yes
	no
)

// evaluation is the evaluation of one marker.
type evaluation struct {
	platform Platform
	extras   []string
	rest     []string
	depth    int
	bad      bool // it cannot be parsed
}

const maxMarkerDepth = 32

var token = regexp.MustCompile(`\s*(\(|\)|"[^"]*"|'[^']*'|===|==|~=|!=|<=|>=|<|>|[A-Za-z_][A-Za-z0-9_.]*|\S)`)

func words(marker string) (all []string) {
	for _, m := range token.FindAllStringSubmatch(marker, 256) {
		all = append(all, m[1])
	}
	return all
}

func (e *evaluation) next() string {
	if len(e.rest) == 0 {
		e.bad = true
		return ""
	}
	w := e.rest[0]
	e.rest = e.rest[1:]
	return w
}

func (e *evaluation) peek() string {
	if len(e.rest) == 0 {
		return ""
	}
	return e.rest[0]
}

func (e *evaluation) or() verdict {
	out := e.and()
	for e.peek() == "or" {
		e.next()
		switch right := e.and(); {
		case out == yes || right == yes:
			out = yes
		case out == unknown || right == unknown:
			out = unknown
		}
	}
	return out
}

func (e *evaluation) and() verdict {
	out := e.one()
	for e.peek() == "and" {
		e.next()
		switch right := e.one(); {
		case out == no || right == no:
			out = no
		case out == unknown || right == unknown:
			out = unknown
		}
	}
	return out
}

func (e *evaluation) one() verdict {
	if e.peek() == "(" {
		if e.depth++; e.depth > maxMarkerDepth {
			e.bad = true
			return unknown
		}
		e.next()
		out := e.or()
		if e.next() != ")" {
			e.bad = true
		}
		e.depth--
		return out
	}
	left, op := e.next(), e.next()
	if op == "not" {
		op += " " + e.next()
	}
	right := e.next()
	if e.bad {
		return unknown
	}
	return e.compare(left, op, right)
}

// compare evaluates "variable op text" and "text op variable".
func (e *evaluation) compare(left, op, right string) verdict {
	l, lvar, lok := e.value(left)
	r, rvar, rok := e.value(right)
	if !lok || !rok {
		return unknown
	}
	switch {
	case lvar == "extra" || rvar == "extra":
		name := l
		if lvar == "extra" {
			name = r
		}
		has := slices.Contains(e.extras, normalizeName(name))
		switch op {
		case "==":
			return say(has)
		case "!=":
			return say(!has)
		default:
			return unknown
		}
	case op == "in", op == "not in":
		return say(slices.Contains(strings.FieldsFunc(r, apart), l) == (op == "in"))
	case versioned(lvar) || versioned(rvar):
		return versions(l, op, r)
	case op == "==", op == "===":
		return say(l == r)
	case op == "!=":
		return say(l != r)
	default:
		return unknown
	}
}

func apart(c rune) bool { return c == ' ' || c == ',' || c == '|' }

func say(b bool) verdict {
	if b {
		return yes
	}
	return no
}

func versioned(variable string) bool {
	return variable == "python_version" || variable == "python_full_version" || variable == "implementation_version"
}

// value is the value of a word. ok is false if it is not known here.
func (e *evaluation) value(word string) (value, variable string, ok bool) {
	if len(word) >= 2 && (word[0] == '"' || word[0] == '\'') {
		return word[1 : len(word)-1], "", true
	}
	switch word {
	case "extra":
		return "", word, true
	case "python_version":
		parts := strings.Split(e.platform.Version, ".")
		return strings.Join(parts[:min(2, len(parts))], "."), word, e.platform.Version != ""
	case "python_full_version", "implementation_version":
		return e.platform.Version, word, e.platform.Version != ""
	case "sys_platform", "sys.platform":
		return "linux", word, true
	case "os_name", "os.name":
		return "posix", word, true
	case "platform_system":
		return "Linux", word, true
	case "platform_machine", "platform.machine":
		return e.platform.Machine, word, e.platform.Machine != ""
	case "implementation_name":
		return "cpython", word, true
	case "platform_python_implementation", "platform.python_implementation", "python_implementation":
		return "CPython", word, true
	default:
		return "", word, false
	}
}
