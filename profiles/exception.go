package profiles

import (
	"time"
)

// Exception is a temporary grant above the ceiling of a layer. What it grants is in the lists of the agent,
// and each such item has the ID of the exception. When the exception ends, package profiles removes these
// items. The exception itself stays, so that a denial can name it.
type Exception struct {
	ID         string    `json:"id"`
	Owner      string    `json:"owner"`
	ApprovedBy []string  `json:"approvedBy"`
	Reason     string    `json:"reason"`
	Ticket     string    `json:"ticket,omitempty"`
	Expires    time.Time `json:"expires"`
	Rule       Rule      `json:"rule"`
	Lifts      []string  `json:"lifts,omitempty"` // the layers whose ceiling it exceeds: "OrgPolicy acme"
	Grants     Excepted  `json:"grants"`
}

// Ended reports whether the exception has ended at the time now. At the zero time it has ended.
func (e *Exception) Ended(now time.Time) bool { return !live(&e.Expires, now) }

// Live reports whether the entry has not expired at the time now.
func (r *ImportRule) Live(now time.Time) bool { return live(r.Expires, now) }

// live reports whether a grant has not expired at the time now. At the zero time, a grant that has an expiry
// has expired.
func live(expires *time.Time, now time.Time) bool {
	return expires == nil || !now.IsZero() && now.Before(*expires)
}

// ends lists the expiries of the agent's imports and programs.
func (a *Agent) ends() (out []*time.Time) {
	var lists [][]ImportRule
	if a.JS != nil {
		lists = append(lists, a.JS.Imports.Allow)
	}
	if a.Python != nil {
		lists = append(lists, a.Python.Imports.Allow)
	}
	for _, list := range lists {
		for i := range list {
			if list[i].Expires != nil {
				out = append(out, list[i].Expires)
			}
		}
	}
	if a.Shell == nil {
		return out
	}
	for i := range a.Shell.Binaries {
		if end := a.Shell.Binaries[i].Expires; end != nil {
			out = append(out, end)
		}
	}
	return out
}

// addEnded looks for an ended exception that had granted the denied action, and adds it to the denial.
func addEnded(dec *Decision, exceptions []Exception, now time.Time, granted func(*Excepted) bool) {
	for i := range exceptions {
		e := &exceptions[i]
		if !e.Ended(now) || !granted(&e.Grants) {
			continue
		}
		dec.Reason += "; exception " + e.ID + ", which granted it, ended at " + e.Expires.UTC().Format(time.RFC3339)
		if now.IsZero() {
			dec.Reason += ", or the time is not known"
		}
		dec.Rule = ruleOrNil(&e.Rule)
		return
	}
}
