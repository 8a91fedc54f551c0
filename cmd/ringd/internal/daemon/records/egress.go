package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// GrantHost is the prefix of host:port in the capability of an egress record.
const GrantHost = "egress:"

// Egress records what guests and runs reach, and what they are refused. The zero value refuses to record, so
// nothing is dialed before [Egress.Attach]. It is safe for concurrent use.
type Egress struct{ to atomic.Pointer[egressTo] }

type egressTo struct {
	recorder *Recorder
	strict   func(agent, run string) bool
	tell     func(run string, d profiles.Decision)
	lost     func(target, why string)
}

// Attach sets the recorder and three callbacks. strict reports whether each record of an agent is synced.
// tell gets a refusal of a run once it is recorded. lost gets a name, with its port, that was looked up for a
// run and has no address. Each callback may be nil.
func (e *Egress) Attach(
	recorder *Recorder,
	strict func(agent, run string) bool,
	tell func(run string, d profiles.Decision),
	lost func(target, why string),
) {
	e.to.Store(&egressTo{recorder, strict, tell, lost})
}

// Record returns nil once v is recorded. After an error, the event must not happen.
func (e *Egress) Record(ctx context.Context, v proxy.Event) error {
	to := e.to.Load()
	if to == nil {
		return errors.New("record egress: no records yet")
	}
	durability := audit.Written
	if to.strict != nil && to.strict(v.Agent, v.Run) {
		durability = audit.Synced
	}
	rec := egressRecord(v)
	if _, err := to.recorder.Append(ctx, rec, durability); err != nil {
		return fmt.Errorf("record egress: %w", err)
	}
	to.recorder.callBeside(ctx, rec, nil)
	if v.Run != "" && to.tell != nil && mustTellRun(v) {
		d := v.Decision
		d.Dial = ""
		to.tell(v.Run, d)
	}
	if v.Run != "" && to.lost != nil && v.Decision.Code == profiles.CodeEgressNoAddress {
		to.lost(v.Dest.String(), v.Decision.Reason)
	}
	return nil
}

// mustTellRun reports whether the run gets a denial for an event. A refused fetch is not among them: it ends the
// call, so the run knows. A name without an address is a failure that the program learns from its connection.
// The end of a connection is a denial only if its first bytes were refused, or if a budget ended it.
func mustTellRun(v proxy.Event) bool {
	refused := v.Decision.Verdict != profiles.Allow && v.Count == 0 && v.Listener != proxy.ListenerFetch &&
		v.Decision.Code != profiles.CodeEgressNoAddress
	return refused && (v.End == "" || v.End == proxy.EndRefused || v.End == proxy.EndBudget)
}

func egressRecord(v proxy.Event) audit.Record {
	rec := audit.Record{
		Kind: audit.EgressDecided, Generation: v.Generation, Revision: v.Decision.Revision,
		Agent: v.Agent, Run: v.Run, Capability: GrantHost + v.Dest.String(), State: v.End, Detail: map[string]string{},
	}
	switch {
	case v.Count > 0:
		rec.Kind = audit.EgressCounted
	case v.End != "":
		rec.Kind = audit.EgressClosed
	}
	// A refusal or a grant was told when it was decided. A listed name without an address is a failure of its
	// lookup, and no decision.
	if v.Decision.Code == profiles.CodeEgressNoAddress {
		rec.Fault = &audit.Fault{ID: cmp.Or(v.Run, "egress"), Text: string(v.Decision.Code) + ": " + v.Decision.Reason}
	} else if v.End == "" || v.Decision.Verdict != profiles.Allow && v.Decision.Code != "" {
		rec.Decision = audit.Decided(v.Decision)
	}
	set := func(key, value string) {
		if value != "" {
			rec.Detail[key] = value
		}
	}
	set("executor", v.Executor)
	set("door", v.Listener)
	set("connection", v.Connection)
	set("method", v.Method)
	set("path", v.Path)
	set("sni", v.SNI)
	set("answers", joinAddrs(v.Answers))
	if v.Dial.IsValid() {
		set("dial", v.Dial.String())
	}
	set("credential", v.Credential)
	set("before", nonZero(v.Before))
	set("count", nonZero(v.Count))
	if v.End != "" {
		rec.Detail["up"], rec.Detail["down"] = strconv.FormatInt(v.Up, 10), strconv.FormatInt(v.Down, 10)
		rec.Detail["took_ms"] = strconv.FormatInt(v.Took.Milliseconds(), 10)
	}
	return rec
}

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func joinAddrs(all []netip.Addr) string {
	text := make([]string, len(all))
	for i, a := range all {
		text[i] = a.String()
	}
	return strings.Join(text, " ")
}
