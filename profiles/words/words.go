// Package words owns how the words of a command are read without running it:
// which flags and operands are there in whatever spelling, and whether the
// program starts another. Package profiles asks it. It decides nothing, is pure,
// and reads conservatively: in doubt a pattern matches.
package words

import (
	"path"
	"slices"
	"strings"
)

// Words is an argv read the way most programs read theirs.
type Words struct {
	base    string
	argv    []string
	long    []string // --force, --force=x as "--force"
	short   [256]bool
	single  []string // -name: the whole word, for programs with long single-dash options
	leading []string // operands after the global options of a program with sub-commands
	sure    bool     // the first of leading is the sub-command
}

// Split reads an argv, which has its program.
func Split(argv []string) *Words {
	w := &Words{base: path.Base(argv[0]), argv: argv}
	for _, a := range argv[1:] {
		if a == "--" {
			break
		}
		switch {
		case a == "-" || !strings.HasPrefix(a, "-"):
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a, "=")
			w.long = append(w.long, name)
		default:
			name, _, _ := strings.Cut(a, "=")
			w.single = append(w.single, name)
			for i := 1; i < len(name); i++ {
				w.short[name[i]] = true
			}
		}
	}
	w.leading, w.sure = leadingOperands(w.base, argv[1:])
	return w
}

// Text is the words in one line, the program without its folder.
func (w *Words) Text() string { return strings.Join(append([]string{w.base}, w.argv[1:]...), " ") }

// Match reports whether every further word of a pattern is there: flags in any
// order, operands in theirs.
func (w *Words) Match(pattern []string) bool {
	var operands []string
	plain := false
	for _, p := range pattern {
		switch {
		case plain || p == "-" || !strings.HasPrefix(p, "-"):
			operands = append(operands, p)
		case p == "--":
			plain = true
		case strings.HasPrefix(p, "--"):
			if !w.hasLong(p) {
				return false
			}
		default:
			if !w.hasCluster(p) {
				return false
			}
		}
	}
	if len(operands) == 0 {
		return true
	}
	if w.sure && w.first() != operands[0] {
		return false
	}
	return subsequence(operands, w.argv[1:])
}

// hasCluster reports whether the short flags of p are all there, or p stands
// there whole (find -delete).
func (w *Words) hasCluster(p string) bool {
	if slices.Contains(w.single, p) {
		return true
	}
	if wholeWords(w.base) {
		return false
	}
	for i := 1; i < len(p); i++ {
		if !w.hasShort(p[i]) {
			return false
		}
	}
	return true
}

func (w *Words) hasShort(c byte) bool {
	if w.short[c] {
		return true
	}
	if other, ok := sameShort(w.base, c); ok && w.short[other] {
		return true
	}
	name := longOf(w.base, w.first(), c)
	return name != "" && w.abbreviates(name)
}

func (w *Words) hasLong(p string) bool {
	name, _, _ := strings.Cut(p, "=")
	if w.abbreviates(name) {
		return true
	}
	for c := range 128 {
		if longOf(w.base, w.first(), byte(c)) == name && w.hasShort(byte(c)) {
			return true
		}
	}
	return false
}

// abbreviates reports whether a long flag is name or an abbreviation of it.
func (w *Words) abbreviates(name string) bool {
	return slices.ContainsFunc(w.long, func(l string) bool {
		return len(l) > 2 && strings.HasPrefix(name, l)
	})
}

// first is the sub-command, as well as it is known.
func (w *Words) first() string {
	if len(w.leading) > 0 {
		return w.leading[0]
	}
	return ""
}

// subsequence reports whether the words of want stand in have, in their order.
// A word may also be joined to an option: -XPOST, --request=POST.
func subsequence(want, have []string) bool {
	for _, h := range have {
		if len(want) > 0 && (h == want[0] || strings.HasPrefix(h, "-") && strings.HasSuffix(h, want[0])) {
			want = want[1:]
		}
	}
	return len(want) == 0
}
