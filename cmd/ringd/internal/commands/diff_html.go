// This file owns the document of ringd diff: the shape of its JSON, and the page
// for reviewers. The page is one file: it loads nothing, runs nothing, and shows every
// text of a policy as text.

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

// pageDocument is what ringd diff says.
type pageDocument struct {
	Old    Side           `json:"old"`
	New    Side           `json:"new"`
	Class  diff.Class     `json:"class"`  // of the changes together
	Counts map[string]int `json:"counts"` // of changes by class
	// Ceilings are the documents above agents, each under its layer's name.
	Ceilings []Agent `json:"ceilings"`
	Agents   []Agent `json:"agents"`
	Impact   *Impact `json:"impact,omitempty"` // nil: it was not asked for
}

// Side is one of the two policies.
type Side struct {
	Path     string `json:"path"`
	Revision string `json:"revision"`
}

// Agent is what changed for one agent.
type Agent struct {
	Name    string     `json:"name"`  // "": of the whole set
	State   string     `json:"state"` // added, removed, changed, same
	Class   diff.Class `json:"class"`
	Changes []Change   `json:"changes"`
}

// Change is one change with the lines that it stands in.
type Change struct {
	diff.Change
	OldLine *Line `json:"oldLine,omitempty"`
	NewLine *Line `json:"newLine,omitempty"`
}

// Line is a line of a policy.
type Line struct {
	File  string `json:"file"` // as the user would type it
	Line  int    `json:"line"`
	Text  string `json:"text,omitempty"` // "": only a compiled set was read
	Path  string `json:"path,omitempty"`
	Layer string `json:"layer,omitempty"`
}

// Results of a decision that is made again.
const (
	wouldAllow    = "would_allow"
	wouldDeny     = "would_deny"
	wouldAsk      = "would_ask"
	Unchanged     = "unchanged"
	notReplayable = "not_replayable"
)

// Impact is what the new policy means to decisions that are on record.
type Impact struct {
	Log       string         `json:"log"`
	Records   int            `json:"records"`   // that were read
	Decisions int            `json:"decisions"` // among them, each of them counted once below
	Head      string         `json:"head,omitempty"`
	Counts    map[string]int `json:"counts"` // of decisions by result
	Groups    []Group        `json:"groups"`
}

// Group is decisions that are alike.
type Group struct {
	Result     string `json:"result"`
	Agent      string `json:"agent,omitempty"`
	Capability string `json:"capability"`
	Was        string `json:"was,omitempty"` // verdict on record, or that of the old policy where one is given
	Now        string `json:"now,omitempty"`
	Why        string `json:"why,omitempty"`
	Count      int    `json:"count"`
	Example    int64  `json:"example,omitempty"` // sequence of one record
}

//go:embed page.html
var pageText string

// writePage writes the page.
func writePage(w io.Writer, doc pageDocument) error {
	t, err := template.New("page").Funcs(template.FuncMap{"mark": mark, "groups": doc.of, "count": count,
		"class": classOf}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	var out bytes.Buffer
	if err = t.Execute(&out, doc); err == nil {
		_, err = w.Write(shown(out.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// shown writes out what turns text around or is not seen: a reviewer reads a name as it
// is compared. The page itself has no such character, and what it becomes means nothing
// to HTML.
func shown(page []byte) []byte {
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

// Gained and Lost are the sentences of an agent by class.
func (a Agent) Gained() []Change { return a.by(diff.Widens) }

// Raised are the changes of a ceiling that let agents ask for more.
func (a Agent) Raised() []Change { return a.by(diff.Headroom) }

// Lost are the changes that narrow.
func (a Agent) Lost() []Change { return a.by(diff.Narrows) }

// Same are the changes that make no difference.
func (a Agent) Same() []Change { return a.by(diff.Neutral) }

func (a Agent) by(c diff.Class) (out []Change) {
	for _, ch := range a.Changes {
		if ch.Class == c {
			out = append(out, ch)
		}
	}
	return out
}

// Prominent are the changes of exceptions, of the rule of two, of guardrails and of the
// mode: what a reviewer looks at first.
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

// Touched are the agents with changes.
func (d pageDocument) Touched() []Agent { return touched(d.Agents) }

// Above are the ceilings with changes.
func (d pageDocument) Above() []Agent { return touched(d.Ceilings) }

func touched(list []Agent) (out []Agent) {
	for _, a := range list {
		if len(a.Changes) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func (d pageDocument) of(result string) (out []Group) {
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
