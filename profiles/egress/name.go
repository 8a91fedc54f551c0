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

// Limits of DNS names.
const (
	maxName  = 253
	maxLabel = 63
)

// readName returns the canonical form of an ASCII name: lower case, without its trailing dot. It rejects text
// that a resolver could read as an address.
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

// letters has a class for each byte of a name: l lower case, d digit, p - or _, u upper case, a dot, h not
// ASCII, and a space for bytes that no name contains.
const letters = "                                " +
	"             p. dddddddddd       " +
	"uuuuuuuuuuuuuuuuuuuuuuuuuu    p " +
	"llllllllllllllllllllllllll     " +
	"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh" +
	"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"

// scanName checks the labels of a name without a trailing dot. It reports whether the name is all lower case,
// and whether a label begins with xn--.
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

// isPuny reports whether a label is punycode.
func isPuny(label string) bool {
	return len(label) >= 4 && label[3] == '-' && label[2] == '-' && label[0]|0x20 == 'x' && label[1]|0x20 == 'n'
}

// isName reports whether a name is in canonical form. It does not decode labels that begin with xn--.
func isName(name string) bool {
	if name == "" || len(name) > maxName || numeric(name) {
		return false
	}
	lower, _, err := scanName(name)
	return lower && err == nil
}

// numeric reports whether a resolver may read the last label as the end of an address: it is a number or
// begins with 0x.
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

// checkALabels rejects labels that begin with xn-- and are invalid or not in canonical form.
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
		if back, err := p.ToASCII(u); err != nil || back != label { // also a label that decodes to ASCII
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

// mapName maps a name that is not ASCII to its A-labels (UTS 46, not transitional). Then it is read like any
// other name.
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

// readLiteral reads an address in its usual form: a dotted quad, or IPv6 without a zone. An IPv4-mapped
// address becomes the IPv4 address.
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
