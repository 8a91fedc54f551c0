package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Bounds of DNS names.
const (
	maxName  = 253
	maxLabel = 63
)

// readName gives the canonical form of a name in ASCII: lower case, without its
// trailing dot. What resolvers could read as an address is none.
func readName(text string) (string, error) {
	name := strings.TrimSuffix(text, ".")
	if name == "" || len(name) > maxName {
		return "", errors.New("a name has 1 to 253 characters")
	}
	lower, puny, err := scanName(name)
	if err != nil {
		return "", err
	}
	if !lower {
		name = strings.ToLower(name)
	}
	if numeric(name) {
		return "", errors.New("its last part is a number, and it is no address in its usual form")
	}
	if puny {
		if err := checkALabels(name); err != nil {
			return "", err
		}
	}
	return name, nil
}

// Letters of names, one for each byte: l lower, d of a number, p - or _, u upper,
// a dot, h not ASCII, and a space for what stands in no name.
const letters = "                                " +
	"             p. dddddddddd       " +
	"uuuuuuuuuuuuuuuuuuuuuuuuuu    p " +
	"llllllllllllllllllllllllll     " +
	"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh" +
	"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"

// scanName checks the labels of a name without a trailing dot. It reports whether
// all of it is lower case, and whether a label begins with xn--.
func scanName(name string) (lower, puny bool, err error) {
	lower = true
	start := 0
	for i := range len(name) {
		switch letters[name[i]] {
		case 'l', 'd', 'p':
		case 'u':
			lower = false
		case '.':
			if err := checkLabel(i - start); err != nil {
				return false, false, err
			}
			puny = puny || isPuny(name[start:i])
			start = i + 1
		case 'h':
			return false, false, errors.New("the name is not in its ASCII form, xn--…")
		default:
			return false, false, fmt.Errorf("%s cannot stand in a name", strconv.QuoteRuneToASCII(rune(name[i])))
		}
	}
	return lower, puny || isPuny(name[start:]), checkLabel(len(name) - start)
}

func checkLabel(n int) error {
	switch {
	case n == 0:
		return errEmptyLabel
	case n > maxLabel:
		return errLongLabel
	default:
		return nil
	}
}

var (
	errEmptyLabel = errors.New("a part of the name is empty")
	errLongLabel  = errors.New("a part of the name has more than 63 characters")
)

// isPuny reports whether a label says that it stands for another.
func isPuny(label string) bool {
	return len(label) >= 4 && label[3] == '-' && label[2] == '-' && label[0]|0x20 == 'x' && label[1]|0x20 == 'n'
}

// isName reports whether a name is in canonical form. Labels that begin with
// xn-- are not looked into.
func isName(name string) bool {
	if name == "" || len(name) > maxName || numeric(name) {
		return false
	}
	lower, _, err := scanName(name)
	return lower && err == nil
}

// numeric reports whether the last label is one that resolvers may read as the
// end of an address: a number, or anything that begins with 0x.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(last) >= 2 && last[0] == '0' && last[1]|0x20 == 'x' {
		return true
	}
	for i := range len(last) {
		if last[i] < '0' || last[i] > '9' {
			return false
		}
	}
	return last != ""
}

// checkALabels refuses labels that begin with xn-- and stand for nothing, or for
// what would be written in another way.
func checkALabels(name string) error {
	p := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false))
	for label := range strings.SplitSeq(name, ".") {
		if !strings.HasPrefix(label, "xn--") {
			continue
		}
		u, err := p.ToUnicode(label)
		if err != nil {
			return errors.New("a part of the name begins with xn-- and is not valid")
		}
		if back, err := p.ToASCII(u); err != nil || back != label { // also of one that stands for ASCII
			return errors.New("a part of the name begins with xn-- and is not in its usual form")
		}
	}
	return nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// mapName maps a name that is not ASCII to its A-labels (UTS 46, not
// transitional), then reads it as any other.
func mapName(text string) (string, error) {
	if isASCII(text) {
		return readName(text)
	}
	if !utf8.ValidString(text) {
		return "", errors.New("the name is not UTF-8")
	}
	p := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false),
		idna.CheckHyphens(false))
	mapped, err := p.ToASCII(text)
	if err != nil {
		return "", errors.New("the name has characters that no name can have")
	}
	return readName(mapped)
}

// readLiteral reads an address in its usual form: a dotted quad, or IPv6 without
// a zone. The IPv4 address in a mapped one is what counts.
func readLiteral(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, errors.New("it is not an address in its usual form")
	}
	if a.Zone() != "" {
		return netip.Addr{}, errors.New("an address has no zone here")
	}
	return a.Unmap(), nil
}

// readPort reads 1 to 65535 without a sign or a leading zero.
func readPort(text string) (uint16, error) {
	if text == "" || len(text) > 5 || text[0] == '0' {
		return 0, errPort
	}
	n := 0
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, errPort
		}
		n = n*10 + int(c-'0')
	}
	if n > 65535 {
		return 0, errPort
	}
	return uint16(n), nil
}

var errPort = errors.New("a port is a number from 1 to 65535, without a sign or leading zeros")
