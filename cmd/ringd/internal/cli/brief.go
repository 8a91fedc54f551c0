package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
)

// leastObject is how many columns of a record's object are shown at least, widest how
// many a verdict has.
const (
	leastObject = 12
	widest      = 5
)

// Brief writes a record on one line of at most 80 columns, in UTC: time, short id of
// the run, verdict, what it is about, why. What does not fit is cut, with a mark;
// [Page.Record] has the whole of it. A kind of record that ends in _decided is shown
// without that ending.
func (p Page) Brief(e audit.Entry) error {
	r := e.Record
	id := "-"
	if r.Run != "" {
		id = clip(ShortID(r.Run), shortID)
	}
	word, shown := "-", "-"
	switch {
	case r.Decision != nil:
		word, shown = Page{}.verdict(r.Decision.Verdict), p.verdict(r.Decision.Verdict)
	case r.Fault != nil:
		word, shown = "fault", p.style(safetext.Red, "fault")
	}
	begin := r.Time.UTC().Format("01-02 15:04:05") + "  " + padded(id, shortID) + "  "
	behind := padded("", widest-len(word)) + "  "
	_, err := fmt.Fprintln(p.W, begin+shown+behind+about(r, width-columnsOf(begin)-widest-gap))
	return err
}

// padded is text and spaces, as wide as columns.
func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-columnsOf(text)))
}

// about is what a record is about, and why, in so many columns. The object loses its
// begin first: the end of a host or a path tells more than its begin, and the words
// behind it are what is looked for.
func about(r audit.Record, room int) string {
	what := strings.TrimSuffix(Visible(string(r.Kind)), "_decided")
	if r.Call != "" {
		what += " " + ShortID(r.Call)
	}
	what = clip(what, room-leastObject-2*gap)
	var behind []string
	for _, w := range []string{endOf(r), byOf(r), insteadOf(r), timesOf(r), codeOf(r)} {
		if w != "" {
			behind = append(behind, recorded(Visible(w)))
		}
	}
	rest := ""
	if len(behind) > 0 {
		rest = "  " + strings.Join(behind, "  ")
	}
	if object := recorded(Visible(objectOf(r))); object != "" {
		what += " "
		object = lastColumns(object, max(room-columnsOf(what)-columnsOf(rest), leastObject))
		room -= columnsOf(what) + columnsCut(object)
		what += object
	} else {
		room -= columnsOf(what)
	}
	if text := detailOf(r); text != "" {
		rest += "  " + recorded(Visible(text))
	}
	return strings.TrimRight(what+clip(rest, room), " ")
}

// subject is the word that a kind begins with, with what it stands before in a capability
// and in the codes of decisions.
func subject(k audit.Kind) string {
	word, _, _ := strings.Cut(string(k), "_")
	return word
}

// objectOf is the capability without the word that the kind says as well; of a refused
// system call, its words; of a run that starts, its program.
func objectOf(r audit.Record) string {
	before, name, ok := strings.Cut(r.Capability, ":")
	switch {
	case r.Kind == audit.RunStarted:
		return r.Detail["program"]
	case r.Kind == audit.GuestRefused || r.Kind == audit.ProbeRefused:
		return strings.TrimSpace(r.Detail["call"] + " " + r.Detail["detail"])
	case unnamed(r):
		return ""
	case ok && (before == subject(r.Kind) || before == "bridge" && r.Call != ""):
		return name
	default:
		return r.Capability
	}
}

// unnamed reports whether the capability is the kind's own word alone: the object has no
// name that may be recorded as one.
func unnamed(r audit.Record) bool { return r.Capability == subject(r.Kind) }

// endOf is the state of what has ended, where the decision does not say why; of
// everything else the kind says it.
func endOf(r audit.Record) string {
	switch r.Kind {
	case audit.RunEnded, audit.StoreRecovered:
		return r.State
	case audit.CallClosed, audit.EgressClosed:
		if r.Decision == nil {
			return r.State
		}
	}
	return ""
}

// byOf says who did it where that need not be the actor of the run: in whose name, if
// it was in another's.
func byOf(r audit.Record) string {
	switch {
	case !slices.Contains(personal(), r.Kind) || r.Actor == "":
		return ""
	case r.Detail["as"] != "":
		return "as " + r.Detail["as"]
	default:
		return "by " + r.Actor
	}
}

// codeOf is the code of a decision, without the word that the kind says as well. What
// the verdict says is no code.
func codeOf(r audit.Record) string {
	d := r.Decision
	if d == nil || d.Verdict == profiles.Allow || d.Code == profiles.CodeApprovalRequired ||
		r.Kind == audit.GuestRefused {
		return ""
	}
	return strings.TrimPrefix(string(d.Code), subject(r.Kind)+".")
}

// insteadOf is what was in force, where the decision of the record was not.
func insteadOf(r audit.Record) string {
	if was := r.Detail["enforced"]; was != "" && (r.Kind == audit.ShadowDecided || r.Kind == audit.AuditDecided) {
		return "in force: " + was
	}
	return ""
}

// timesOf is how often it happened, where that is more than once.
func timesOf(r audit.Record) string {
	if n := r.Detail["count"]; n != "" && n != "1" {
		return n + " times"
	}
	return ""
}

// detailOf is a text that tells more, where there is room: the reason of a decision
// without an object, the fault, or the detail that tells most.
func detailOf(r audit.Record) string {
	if r.Decision != nil && r.Decision.Verdict != profiles.Allow {
		if objectOf(r) == "" && r.Kind != audit.RunEnded {
			return r.Decision.Reason
		}
		return ""
	}
	if r.Fault != nil {
		return r.Fault.Text
	}
	if method := r.Detail["method"]; method != "" {
		return method + " " + r.Detail["path"]
	}
	for _, key := range []string{"reason", "error", "why", "cause", "calls", "version", "grants"} {
		if text := r.Detail[key]; text != "" {
			return text
		}
	}
	return ""
}
