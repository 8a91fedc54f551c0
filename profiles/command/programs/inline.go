package programs

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles/tables"
)

// The code below reports whether a program text names a way to start programs. Text that names none is
// allowed. It is not a security boundary: the kernel limits what the program does. The text is read as it is,
// with quotes and comments. Names that could be assembled at run time count as starts.

//go:embed inline.txt
var inlineTable string // go:embed needs a variable; it is never written

// inlinePatterns returns the patterns of each language, which are parsed on the first call.
//
//nolint:gochecknoglobals // parsed once, never written
var inlinePatterns = sync.OnceValues(func() (map[string][]string, error) { return parseInline(inlineTable) })

// mostInline is the longest text that is read.
const mostInline = 64 << 10

// inlineText returns which part of a program text starts programs.
func inlineText(language, text string) (what string, starts bool) {
	var texts []string
	refused := ""
	switch language {
	case "awk":
		p := parseAwk(text)
		texts, refused = p.Texts, p.Refused
	case "sed":
		p := parseSed(text)
		texts, refused = p.Texts, p.Refused
	default:
		return inlineStarts(language, text)
	}
	if refused == "" && len(texts) > 0 {
		return texts[0], true
	}
	return refused, refused != ""
}

// inlineStarts returns which part of a text in a language starts programs, or could hide that it does. A text
// in an unknown language is checked for the names of all languages.
func inlineStarts(language, text string) (what string, starts bool) {
	if len(text) > mostInline {
		return "a text that is too long to be read", true
	}
	if disguised(text) {
		return "letters that look like others", true
	}
	lower := strings.ToLower(text)
	for _, pattern := range patterns(language) {
		if general(language) && !possible(pattern, lower) {
			continue
		}
		// The patterns are constants: the tests compile each of them.
		re, err := regexp.Compile(pattern)
		if err != nil {
			return "a pattern that cannot be read", true
		}
		for _, at := range re.FindAllStringIndex(text, -1) {
			found := strings.TrimSpace(text[at[0]:at[1]])
			if language == "python" && pythonHarmless(text, at) {
				continue
			}
			return found, true
		}
	}
	return "", false
}

// general reports a language whose patterns have a name in each of their branches, or none in any.
func general(language string) bool {
	return slices.Contains([]string{"python", "perl", "ruby", "node", "php", "lua"}, language)
}

// patterns returns the patterns of a language. If the table is malformed, anything is a start.
func patterns(language string) []string {
	all, err := inlinePatterns()
	if err != nil {
		return []string{`.`, `\n`}
	}
	if own, ok := all[language]; ok {
		return own
	}
	return all["*"]
}

// parseInline reads a table of patterns.
func parseInline(text string) (map[string][]string, error) {
	rows, err := tables.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, row := range rows {
		var own []string
		for _, f := range row.Fields {
			if f.Key != "pattern" || f.Text() == "" {
				return nil, f.Errorf("no pattern")
			}
			own = append(own, strings.Join(f.Lines, ""))
		}
		for _, name := range row.Names {
			out[name] = own
		}
	}
	return out, nil
}

// possible reports whether a text contains one of the names in a pattern. Without any the pattern cannot
// match, so it need not be compiled, which is slow.
func possible(pattern, lower string) bool {
	some := false
	for i := 0; i < len(pattern); {
		var name string
		if name, i = nextName(pattern, i); len(name) > 1 {
			if some = true; strings.Contains(lower, strings.ToLower(name)) {
				return true
			}
		}
	}
	return !some
}

// nextName reads the next part of a pattern: a name that every match contains, or something else.
func nextName(pattern string, i int) (name string, next int) {
	switch c := pattern[i]; {
	case c == '\\' && strings.HasPrefix(pattern[i:], `\x`):
		return "", i + 4
	case c == '\\':
		return "", i + 2
	case c == '[':
		for i++; i < len(pattern) && pattern[i] != ']'; i++ {
			if pattern[i] == '\\' {
				i++
			}
		}
		return "", i
	case !nameByte(c):
		return "", i + 1
	}
	end := i
	for end < len(pattern) && nameByte(pattern[end]) {
		end++
	}
	name = pattern[i:end]
	if end < len(pattern) && strings.IndexByte("?*{", pattern[end]) >= 0 {
		name = name[:len(name)-1] // the last letter may be missing
	}
	return name, end
}

func nameByte(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// pythonHarmless allows platform.system(), which only returns the system's name.
func pythonHarmless(text string, at []int) bool {
	end := at[0] + len("system")
	before := text[:at[0]]
	if strings.HasPrefix(text[at[0]:], ".") {
		end++
		before += "."
	}
	return strings.HasSuffix(before, "platform.") && strings.HasPrefix(text[min(end, len(text)):], "()") &&
		!strings.Contains(text, "as platform")
}

// disguised reports whether a text has letters that compilers read as ASCII ones, as Python does.
func disguised(text string) bool {
	ranges := []rune{
		0xAA, 0xAA, 0xBA, 0xBA, 0x17F, 0x17F, 0x2B0, 0x2FF, 0x1D2C, 0x1DBF, 0x2070, 0x209F, 0x2100, 0x218F,
		0x24B6, 0x24E9, 0xFB00, 0xFB06, 0xFF00, 0xFF5E, 0x1D400, 0x1D7FF,
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		for i := 0; r >= 0x80 && i < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return true
			}
		}
		return false
	})
}
