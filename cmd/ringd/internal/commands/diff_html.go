// The document of ringd diff: its JSON form and the HTML page for reviewers. The page is one file. It loads
// nothing, runs nothing, and shows every text of a policy as text.

package commands

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"

	"github.com/ringd/ringd/profiles/diff"
)

// pageDocument is the result of ringd diff.
type pageDocument struct {
	Old    Side           `json:"old"`
	New    Side           `json:"new"`
	Class  diff.Class     `json:"class"`  // of all changes
	Counts map[string]int `json:"counts"` // number of changes by class
	// Ceilings are the documents above agents, by layer name.
	Ceilings []Agent `json:"ceilings"`
	Agents   []Agent `json:"agents"`
	Impact   *Impact `json:"impact,omitempty"` // nil without a log
}

// Side is one of the two policies.
type Side struct {
	Path     string `json:"path"`
	Revision string `json:"revision"`
}

// Agent is the difference of one agent.
type Agent struct {
	Name    string     `json:"name"`  // empty for the whole set
	State   string     `json:"state"` // added, removed, changed or same
	Class   diff.Class `json:"class"`
	Changes []Change   `json:"changes"`
}

// Change is one change with its lines.
type Change struct {
	diff.Change
	OldLine *Line `json:"oldLine,omitempty"`
	NewLine *Line `json:"newLine,omitempty"`
}

// Line is a line of a policy.
type Line struct {
	File  string `json:"file"` // as the user would type it
	Line  int    `json:"line"`
	Text  string `json:"text,omitempty"` // empty for a compiled set
	Path  string `json:"path,omitempty"`
	Layer string `json:"layer,omitempty"`
}

// Results of a repeated decision.
const (
	wouldAllow    = "would_allow"
	wouldDeny     = "would_deny"
	wouldAsk      = "would_ask"
	Unchanged     = "unchanged"
	notReplayable = "not_replayable"
)

// Impact is the effect of the new policy on recorded decisions.
type Impact struct {
	Log       string         `json:"log"`
	Records   int            `json:"records"`   // records read
	Decisions int            `json:"decisions"` // decisions in them; each counts once below
	Head      string         `json:"head,omitempty"`
	Counts    map[string]int `json:"counts"` // number of decisions by result
	Groups    []Group        `json:"groups"`
}

// Group is a number of equal decisions.
type Group struct {
	Result     string `json:"result"`
	Agent      string `json:"agent,omitempty"`
	Capability string `json:"capability"`
	Was        string `json:"was,omitempty"` // recorded verdict, or that of the old policy if one is given
	Now        string `json:"now,omitempty"`
	Why        string `json:"why,omitempty"`
	Count      int    `json:"count"`
	Example    int64  `json:"example,omitempty"` // sequence of one of the records
}

//go:embed page.html
var pageText string

func writePage(w io.Writer, doc pageDocument) error {
	t, err := template.New("page").
		Funcs(template.FuncMap{"mark": mark, "groups": doc.changesOf, "count": count, "class": classOf}).
		Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	var out bytes.Buffer
	if err = t.Execute(&out, doc); err == nil {
		_, err = w.Write(escapeInvisible(out.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// escapeInvisible replaces characters that change the text direction or are invisible, so that a reviewer reads a name
// as it is compared. The page itself has no such character, and the replacements have no meaning in HTML.
func escapeInvisible(page []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(page) {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			form := `\u%04x`
			if r > 0xffff {
				form = `\U%08x`
			}
			fmt.Fprintf(&out, form, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// Gained returns the changes that widen.
func (a Agent) Gained() []Change { return a.by(diff.Widens) }

// Raised returns the changes of a ceiling that let agents ask for more.
func (a Agent) Raised() []Change { return a.by(diff.Headroom) }

// Lost returns the changes that narrow.
func (a Agent) Lost() []Change { return a.by(diff.Narrows) }

// Same returns the changes without effect.
func (a Agent) Same() []Change { return a.by(diff.Neutral) }

func (a Agent) by(c diff.Class) (out []Change) {
	for _, ch := range a.Changes {
		if ch.Class == c {
			out = append(out, ch)
		}
	}
	return out
}

// Prominent returns the changes that a reviewer reads first: those of exceptions, of the rule of two, of
// guardrails and of the mode.
func (d pageDocument) Prominent() (out []Change) {
	for _, a := range d.Agents {
		for _, ch := range a.Changes {
			for _, of := range []string{"exceptions", "ruleOfTwo", "guardrails", "mode", "inputs", "layers"} {
				if strings.HasPrefix(ch.Field, of) {
					out = append(out, ch)
					break
				}
			}
			if strings.HasSuffix(ch.Field, ".powers") {
				out = append(out, ch)
			}
		}
	}
	return out
}

// Touched returns the agents with changes.
func (d pageDocument) Touched() []Agent { return touched(d.Agents) }

// Above returns the ceilings with changes.
func (d pageDocument) Above() []Agent { return touched(d.Ceilings) }

func touched(list []Agent) (out []Agent) {
	for _, a := range list {
		if len(a.Changes) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func (d pageDocument) changesOf(result string) (out []Group) {
	if d.Impact == nil {
		return nil
	}
	for _, g := range d.Impact.Groups {
		if g.Result == result {
			out = append(out, g)
		}
	}
	return out
}

func mark(k diff.Kind) string {
	switch k {
	case diff.Added:
		return "+"
	case diff.Removed:
		return "−"
	case diff.Changed:
		return "~"
	default:
		return "?"
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func classOf(c diff.Class) string { return c.String() }
