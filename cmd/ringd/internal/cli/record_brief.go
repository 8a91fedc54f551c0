package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
)

// leastObject is the minimum width of a record's object, widest the maximum width of a verdict, in columns.
const (
	leastObject = 12
	widest      = 5
)

// Brief prints a record on one line of at most 80 columns, in UTC: time, short run id, verdict, object and
// reason. A longer text is cut, with a mark; [Page.Record] prints all of it. A kind that ends in _decided is
// printed without that suffix.
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
	begin := r.Time.UTC().Format("01-02 15:04:05") + "  " + pad(id, shortID) + "  "
	behind := pad("", widest-len(word)) + "  "
	_, err := fmt.Fprintln(p.W, begin+shown+behind+objectAndReason(r, width-displayWidth(begin)-widest-gap))
	return err
}

// pad pads text with spaces to a width.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-displayWidth(text)))
}

// objectAndReason formats the object of a record and the reason in a width. The start of the object is cut first: the
// end of a host or a path says more than its start, and the reason after it is what people look for.
func objectAndReason(r audit.Record, room int) string {
	what := strings.TrimSuffix(Visible(string(r.Kind)), "_decided")
	if r.Call != "" {
		what += " " + ShortID(r.Call)
	}
	what = clip(what, room-leastObject-2*gap)
	var behind []string
	for _, w := range []string{finalState(r), actorText(r), enforcedVerdict(r), timesOf(r), codeOf(r)} {
		if w != "" {
			behind = append(behind, recordWord(Visible(w)))
		}
	}
	rest := ""
	if len(behind) > 0 {
		rest = "  " + strings.Join(behind, "  ")
	}
	if object := recordWord(Visible(objectOf(r))); object != "" {
		what += " "
		object = lastColumns(object, max(room-displayWidth(what)-displayWidth(rest), leastObject))
		room -= displayWidth(what) + widthOfLast(object)
		what += object
	} else {
		room -= displayWidth(what)
	}
	if text := detailOf(r); text != "" {
		rest += "  " + recordWord(Visible(text))
	}
	return strings.TrimRight(what+clip(rest, room), " ")
}

// subject returns the word that a kind begins with, and the prefix that it has in a capability and in codes.
func subject(k audit.Kind) string {
	word, _, _ := strings.Cut(string(k), "_")
	return word
}

// objectOf returns the capability without the word that the kind has already. For a refused system call it is
// the call, and for the start of a run the program.
func objectOf(r audit.Record) string {
	before, name, ok := strings.Cut(r.Capability, ":")
	switch {
	case r.Kind == audit.RunStarted:
		return r.Detail["program"]
	case r.Kind == audit.GuestRefused || r.Kind == audit.ProbeRefused:
		return strings.TrimSpace(r.Detail["call"] + " " + r.Detail["detail"])
	case hasNoObject(r):
		return ""
	case ok && (before == subject(r.Kind) || before == "bridge" && r.Call != ""):
		return name
	default:
		return r.Capability
	}
}

// hasNoObject reports whether the capability is only the word of the kind: the name of the object may not be
// recorded.
func hasNoObject(r audit.Record) bool { return r.Capability == subject(r.Kind) }

// finalState returns the final state of a run, call or connection if the decision does not have it. For any other
// record it is empty, because the kind says it.
func finalState(r audit.Record) string {
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

// actorText returns the actor if it may differ from the owner of the run, and the owner that it acted for.
func actorText(r audit.Record) string {
	switch {
	case !slices.Contains(actorKinds(), r.Kind) || r.Actor == "":
		return ""
	case r.Detail["as"] != "":
		return "as " + r.Detail["as"]
	default:
		return "by " + r.Actor
	}
}

// codeOf returns the code of a decision, without the word that the kind has already. A code that only repeats
// the verdict is omitted.
func codeOf(r audit.Record) string {
	d := r.Decision
	if d == nil || d.Verdict == profiles.Allow || d.Code == profiles.CodeApprovalRequired ||
		r.Kind == audit.GuestRefused {
		return ""
	}
	return strings.TrimPrefix(string(d.Code), subject(r.Kind)+".")
}

// enforcedVerdict returns the verdict in force if the decision of the record was not in force.
func enforcedVerdict(r audit.Record) string {
	if was := r.Detail["enforced"]; was != "" && (r.Kind == audit.ShadowDecided || r.Kind == audit.AuditDecided) {
		return "in force: " + was
	}
	return ""
}

// timesOf returns how often it happened, if more than once.
func timesOf(r audit.Record) string {
	if n := r.Detail["count"]; n != "" && n != "1" {
		return n + " times"
	}
	return ""
}

// detailOf returns more detail if there is space: the reason of a decision without an object, the fault, or
// the most useful detail.
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
