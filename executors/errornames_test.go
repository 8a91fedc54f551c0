package executors_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestErrorNames compares the names that the guests' own code states with the table of
// package profiles; RINGD_UPDATE=1 writes them.
func TestErrorNames(t *testing.T) {
	names := []string{
		profiles.ErrorImportDenied, profiles.ErrorCapabilityDenied, profiles.ErrorCapabilityRevoked,
		profiles.ErrorApprovalDenied, profiles.ErrorBudgetExceeded, profiles.ErrorArgument, profiles.ErrorResultTooLarge,
		profiles.ErrorBridge,
	}
	for _, c := range []struct {
		file, begin, end string
		names            []string
		quote            string
		indent           string
	}{
		{"js/engine/prelude/1-captured.js", "const guestErrors = [", "];", names, "'", "  "},
		{"python/pyguest/py/bridge.py", "NAMES = (", ")", without(names, profiles.ErrorImportDenied), `"`, strings.Repeat(" ", 9)},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(regexp.QuoteMeta(c.begin) + `[^\])]*` + regexp.QuoteMeta(c.end)).FindIndex(text)
		if found == nil {
			t.Errorf("%s has no list that begins with %q", c.file, c.begin)
			continue
		}
		want := c.begin + list(c.names, c.quote, c.indent, len(c.begin)) + c.end
		if string(text[found[0]:found[1]]) == want {
			continue
		}
		if os.Getenv("RINGD_UPDATE") == "" {
			t.Errorf("%s: the names of errors are not those of package profiles; RINGD_UPDATE=1 writes them", c.file)
			continue
		}
		if err := os.WriteFile(c.file, slices.Concat(text[:found[0]], []byte(want), text[found[1]:]),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// list is names in quotes, in lines that end before column 112.
func list(names []string, quote, indent string, column int) string {
	var b strings.Builder
	for i, n := range names {
		word := quote + n + quote
		switch {
		case i == 0:
		case column+len(word)+2 > 112:
			b.WriteString(",\n" + indent)
			column = len(indent)
		default:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
