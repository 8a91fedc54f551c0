package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// Record prints one record of the audit log on one line.
func (p Page) Record(e audit.Entry, asJSON bool) error {
	if asJSON {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("write record: %w", err)
		}
		_, err = fmt.Fprintf(p.W, "%s\n", escapeJSON(string(b)))
		return err
	}
	r := e.Record
	words := []string{fmt.Sprintf("%6d  %s  %-15s", e.Seq, r.Time.UTC().Format("2006-01-02T15:04:05.000Z"),
		recordWord(string(r.Kind)))}
	by := ""
	if slices.Contains(actorKinds(), r.Kind) && r.Actor != "" {
		by = "by " + r.Actor
	}
	capability, listener := r.Capability, ""
	if slices.Contains(egressKinds(), r.Kind) {
		capability, listener = strings.TrimPrefix(capability, "egress:"), r.Detail["door"]
	}
	for _, w := range []string{r.Run, r.Call, listener, capability, r.State, by} {
		if w != "" {
			words = append(words, recordWord(w))
		}
	}
	if d := r.Decision; d != nil {
		words = append(words, p.verdict(d.Verdict), recordWord(string(d.Code)))
		if d.Reason != "" {
			words = append(words, "("+recordWord(d.Reason)+")")
		}
	}
	if r.Fault != nil {
		words = append(words, "fault "+recordWord(r.Fault.ID+": "+r.Fault.Text))
	}
	for _, k := range keys(r.Detail) {
		if k != "door" || listener == "" {
			words = append(words, recordWord(k+"="+r.Detail[k]))
		}
	}
	_, err := fmt.Fprintln(p.W, strings.Join(words, "  "))
	return err
}

// recordWord formats one word of a record. Words are separated by two spaces, and contain none, so that a name
// made up by a program cannot look like another word of its record.
func recordWord(w string) string { return strings.ReplaceAll(Clean(w), "  ", ` \u0020`) }

// actorKinds returns the kinds of records about an act of an actor who may not be the owner of the run.
func actorKinds() []audit.Kind {
	return []audit.Kind{audit.RunAsked, audit.RunRefused, audit.RunCancelled, audit.CallAnswered, audit.CallApproved,
		audit.CallDenied,
		audit.CallBegun, audit.ApprovalRefused, audit.GrantRevoked, audit.ResumeRefused, audit.SessionDropped,
		audit.LockdownBegun, audit.LockdownLifted, audit.AuditArchived}
}

// egressKinds returns the kinds of records about connections. Their listener and target are printed first.
func egressKinds() []audit.Kind {
	return []audit.Kind{audit.EgressDecided, audit.EgressClosed, audit.EgressCounted}
}

func (p Page) verdict(v profiles.Verdict) string {
	switch v {
	case profiles.Allow:
		return p.style(safetext.Green, v.String())
	case profiles.Ask:
		return p.style(safetext.Yellow, v.String())
	case profiles.Deny:
		return p.style(safetext.Red, v.String())
	default:
		return p.style(safetext.Red, profiles.Deny.String())
	}
}

// Verified prints the result of a check of the audit log. note says what it was not compared with.
func (p Page) Verified(r audit.Report, note string) {
	fmt.Fprintf(p.W, "%s in %s, up to %d\n", Count(int(r.Records), "record"), Count(int(r.Segments), "segment"),
		r.Head.Seq)
	fmt.Fprintf(p.W, "signed up to %d by key %s\n", r.Signed, Clean(r.Key))
	if note != "" {
		fmt.Fprintln(p.W, Lines(note))
	}
	if a := r.Archived; a != nil && a.Read {
		fmt.Fprintf(p.W, "records up to %d, until %s, were read from the archive\n", a.Seq,
			a.Until.UTC().Format(time.RFC3339))
	} else if a != nil {
		fmt.Fprintf(p.W, "records up to %d, until %s, are archived in %s: read them with --archive DIR\n",
			a.Seq, a.Until.UTC().Format(time.RFC3339), Count(int(a.Segments), "segment"))
	}
	if b := r.Torn; b != nil {
		fmt.Fprintf(p.W, "torn tail: %s at byte %d: %s; the next start cuts it\n", Clean(b.Segment), b.Offset,
			Clean(b.Why))
	}
	if b := r.Tampered; b != nil {
		fmt.Fprintf(p.W, "%s: record %d, %s at byte %d: %s\n", p.style(safetext.Red, "is not valid"), b.Seq,
			Clean(b.Segment), b.Offset, Clean(b.Why))
		return
	}
	fmt.Fprintln(p.W, p.style(safetext.Green, "every record is valid"))
}

// Begins prints that a log does not begin with record 1.
func (p Page) Begins(a audit.Archived) {
	fmt.Fprintf(p.W, "records up to %d, until %s, are archived: read them with --archive DIR\n", a.Seq,
		a.Until().UTC().Format(time.RFC3339))
}

// Status prints what is in force, and what is wrong.
func (p Page) Status(st wire.Status) {
	state := p.style(safetext.Green, "ready")
	if !st.Ready {
		state = p.style(safetext.Red, "not ready")
	}
	if st.Lockdown != nil {
		state = p.style(safetext.Red, "in lockdown")
	}
	fmt.Fprintf(p.W, "ringd %s: %s\n", Clean(st.Version), state)
	if st.Generation > 0 {
		fmt.Fprintf(p.W, "generation %d, %s\n", st.Generation, Clean(st.Revision))
	}
	if s := st.Signed; s != nil {
		fmt.Fprintf(p.W, "push %d by %s, %s, expires at %s\n", s.Sequence, Clean(s.Issuer),
			Count(len(s.Signers), "signature"), s.Expires.UTC().Format(time.RFC3339))
	}
	for _, c := range st.Conditions {
		p.printHanging(Clean(c.Code)+": ", p.style(safetext.Yellow, Clean(c.Code))+": ", Block(c.Message), "    ")
	}
	for _, part := range append(st.Rings, st.Executors...) {
		name := fmt.Sprintf("  %-13s %s", Clean(part.Name), Clean(part.State))
		if s := part.Sessions; s != nil {
			name += fmt.Sprintf(", %s live with at most %s", Count(s.Live, "session"), size(s.Bytes))
		}
		if c := part.Canary; c != nil && c.State != wire.CanaryFailed {
			name += ", " + Clean(c.State)
		}
		if part.Reason == "" {
			fmt.Fprintln(p.W, name)
			continue
		}
		name += "  "
		p.printHanging(name, name, Block(part.Reason), strings.Repeat(" ", len(name)))
	}
	p.egress(st.Egress)
	for _, e := range st.Exceptions {
		word := "until"
		if e.Ended {
			word = "ended"
		}
		fmt.Fprintf(p.W, "exception: %s of %s, %s %s\n", Clean(e.ID), Clean(e.Agent), word,
			e.Expires.UTC().Format(time.RFC3339))
	}
	p.shadow(st.Shadow)
	fmt.Fprintf(p.W, "runs: %d running, %d paused; audit record %d\n", st.Runs.Live, st.Runs.Paused, st.AuditSeq)
	if push := st.LastPush; push != nil {
		p.printWithMessage(
			fmt.Sprintf("last push: %s at %s", Clean(push.Result), push.At.UTC().Format(time.RFC3339)),
			push.Message,
		)
		p.findings(push.Findings)
	}
}

// egress prints the open connections, and what expires next.
func (p Page) egress(e *wire.Network) {
	if e == nil {
		return
	}
	fmt.Fprintf(p.W, "egress: %s open\n", Count(int(e.Connections), "connection"))
	for _, g := range e.Gateways {
		name := fmt.Sprintf("  gateway %s of %s: %s", Clean(g.Name), Clean(g.Agent), Clean(g.State))
		if g.Reason != "" {
			p.printHanging(name+"  ", name+"  ", Block(g.Reason), "    ")
			continue
		}
		fmt.Fprintln(p.W, name)
	}
	for _, x := range e.Next {
		fmt.Fprintf(p.W, "  %s of %s expires at %s\n", Clean(x.Host), Clean(x.Agent), x.At.UTC().Format(time.RFC3339))
	}
}

// printWithMessage prints a line, with a message if there is one.
func (p Page) printWithMessage(line, message string) {
	if message == "" {
		fmt.Fprintln(p.W, line)
		return
	}
	p.printHanging(line+" ", line+" ", Block(message), "    ")
}

// printHanging prints text after a heading that has the width of plain, with indent before its further lines.
func (p Page) printHanging(plain, heading, text, indent string) {
	text, first := strings.Join(strings.Fields(text), " "), ""
	if lines := foldCommands(text, width-len(plain)); len(lines) > 0 {
		first = lines[0]
	}
	fmt.Fprintln(p.W, heading+first)
	for _, line := range foldCommands(strings.TrimSpace(strings.TrimPrefix(text, first)), width-len(indent)) {
		fmt.Fprintln(p.W, indent+line)
	}
}
