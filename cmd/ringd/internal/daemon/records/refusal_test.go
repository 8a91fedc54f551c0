package records_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
)

// memory is an audit log that breaks when it is told to.
type memory struct {
	fail       error
	records    []audit.Record
	durability []audit.Durability
}

func (m *memory) Append(_ context.Context, r audit.Record, d audit.Durability) (audit.Head, error) {
	if m.fail != nil {
		return audit.Head{}, m.fail
	}
	m.records, m.durability = append(m.records, r), append(m.durability, d)
	return audit.Head{Seq: int64(len(m.records))}, nil
}
func (*memory) Head() audit.Head             { return audit.Head{} }
func (*memory) Err() error                   { return nil }
func (*memory) Reopen(context.Context) error { return nil }

func TestRefusals(t *testing.T) {
	log := &memory{}
	m := metrics.New()
	recorder := records.NewRecorder(log, m)
	type told struct {
		Run      string
		Decision profiles.Decision
	}
	var tells []told
	var r records.Refusals
	if err := r.Record(t.Context(), records.Refusal{Run: "r1", Call: "socket"}); err == nil {
		t.Error("a refusal went nowhere, and the guest lives on")
	}
	r.Attach(recorder, func(run string, d profiles.Decision) { tells = append(tells, told{run, d}) })
	for _, v := range []records.Refusal{
		{Run: "r1", Agent: "a", Executor: "shell", Layer: "seccomp", Call: "socket", Detail: "AF_NETLINK", PID: 12, Count: 10},
		{Run: "probe", Executor: "python", Layer: "exec", Call: "execve", Detail: "/usr/bin/uname", PID: 13, Count: 1},
		{Executor: "js", Layer: "seal", Call: "mprotect", Count: 1, Ends: true},
	} {
		if err := r.Record(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	refused := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeGuestRefused,
		Reason: "seccomp refused socket AF_NETLINK"}
	ended := refused
	ended.Reason = "the guest tried mprotect after it gave that up, and was ended"
	want := []audit.Record{
		{Kind: audit.GuestRefused, Agent: "a", Run: "r1", Decision: audit.Decided(refused),
			Detail: map[string]string{"executor": "shell", "layer": "seccomp", "call": "socket", "detail": "AF_NETLINK",
				"pid": "12", "count": "10"}},
		{Kind: audit.ProbeRefused, Run: "probe",
			Detail: map[string]string{"executor": "python", "layer": "exec", "call": "execve",
				"detail": "/usr/bin/uname", "pid": "13", "count": "1"}},
		{Kind: audit.GuestRefused, Decision: audit.Decided(ended),
			Detail: map[string]string{"executor": "js", "layer": "seal", "call": "mprotect", "count": "1",
				"guest": "ended"}},
	}
	if d := cmp.Diff(want, log.records); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]audit.Durability{audit.Written, audit.Written, audit.Synced}, log.durability); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]told{{"r1", refused}}, tells); d != "" {
		t.Error(d)
	}
	for _, k := range log.records {
		if !k.Kind.Known() {
			t.Errorf("the log would refuse %s", k.Kind)
		}
	}
	// Nobody is told what is not on record, and the guest must end.
	log.fail = errors.New("disk full")
	if err := r.Record(t.Context(), records.Refusal{Run: "r2", Call: "socket"}); !errors.Is(err, log.fail) ||
		len(tells) != 1 {
		t.Errorf("%v, told %v", err, tells)
	}
}
