package profiles

import (
	"time"
)

// Exception is a grant above the ceiling of a layer, for a while. What it grants stands
// in the lists of the agent, with its ID, until it has ended: package profiles takes it
// out then, and the exception itself stays, so that a refusal can name it.
type Exception struct {
	ID         string    `json:"id"`
	Owner      string    `json:"owner"`
	ApprovedBy []string  `json:"approvedBy"`
	Reason     string    `json:"reason"`
	Ticket     string    `json:"ticket,omitempty"`
	Expires    time.Time `json:"expires"`
	Rule       Rule      `json:"rule"`
	Lifts      []string  `json:"lifts,omitempty"` // the layers that it exceeds: "OrgPolicy acme"
	Grants     Excepted  `json:"grants"`
}

// Ended reports whether the exception is over at a time. At no known time it is.
func (e *Exception) Ended(now time.Time) bool { return !live(&e.Expires, now) }

// Live reports whether the entry counts at a time.
func (r *ImportRule) Live(now time.Time) bool { return live(r.Expires, now) }

// live reports whether a grant counts at a time. One that ends counts at no unknown
// time.
func live(expires *time.Time, now time.Time) bool {
	return expires == nil || !now.IsZero() && now.Before(*expires)
}

// ends lists when imports and programs of the agent end.
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

// nameLapsed adds to a denial the exception that granted the action until it ended.
func nameLapsed(dec *Decision, exceptions []Exception, now time.Time, granted func(*Excepted) bool) {
	for i := range exceptions {
		e := &exceptions[i]
		if !e.Ended(now) || !granted(&e.Grants) {
			continue
		}
		dec.Reason += "; exception " + e.ID + ", which granted it, ended at " + e.Expires.UTC().Format(time.RFC3339)
		if now.IsZero() {
			dec.Reason += ", or the time is not known"
		}
		dec.Rule = known(&e.Rule)
		return
	}
}
