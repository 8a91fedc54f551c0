package daemon

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/schema/wire"
)

// Status returns what is in force, and what is wrong. It does not wait for a push that is being applied.
func (d *Daemon) Status(ctx context.Context) wire.Status {
	out := wire.Status{Version: d.cfg.Version, Conditions: []wire.Condition{}, AuditSeq: d.cfg.Recorder.Seq()}
	now, unarchived := d.runTable.state(), d.archiver.failing()
	out.Runs.Live = now.live
	if _, all, err := d.cfg.Waiting.Keeper.Count(ctx, ""); err == nil {
		out.Runs.Paused = int(all)
	}
	if faults, err := d.cfg.Store.Faults(ctx); err == nil {
		for code, n := range faults {
			out.Conditions = append(out.Conditions, waiting.Condition(code, n))
		}
	}
	unwritable := d.recordHealth.Writable()
	d.policy.Status(&out, unwritable, now.draining || now.low != nil)
	if d.cfg.Shadow != nil {
		out.Shadow = d.cfg.Shadow()
	}
	if unwritable != nil {
		out.Conditions = append(out.Conditions, wire.Condition{Code: wire.ConditionAuditUnavailable,
			Message: d.recordHealth.unwritable(unwritable)})
	}
	if now.low != nil {
		out.Conditions = append(out.Conditions, wire.Condition{Code: wire.ConditionDiskLow, Since: now.low.since,
			Message: ErrDiskLow.Error() + ": " + now.low.why + "; runs that may write to it are ended"})
	}
	if unarchived != nil {
		out.Conditions = append(out.Conditions, wire.Condition{Code: wire.ConditionNotArchived, Since: unarchived.since,
			Message: ErrNotArchived.Error() + ", and grows: " + unarchived.why})
	}
	if now.draining {
		out.Conditions = append(
			out.Conditions,
			wire.Condition{Code: wire.ConditionDraining, Message: ErrDraining.Error(), Since: now.drainedAt},
		)
	}
	slices.SortFunc(out.Conditions, func(a, b wire.Condition) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// standingMetrics returns the values of the status for the metrics.
func (d *Daemon) standingMetrics(ctx context.Context) metrics.Standing {
	st := d.Status(ctx)
	out := metrics.Standing{Ready: st.Ready, Now: d.cfg.Clock.Now()}
	for _, c := range st.Conditions {
		out.Conditions = append(out.Conditions, c.Code)
	}
	if st.Closes != nil {
		out.Closes = *st.Closes
	}
	if st.Signed != nil {
		out.Expires = st.Signed.Expires
	}
	out.LogBytes, out.Segments = d.cfg.Recorder.Size()
	out.ArchivedBytes, out.Archives = d.cfg.Recorder.Packed()
	if d.cfg.Disk.Room != nil {
		out.Free, out.FreeKnown = d.cfg.Disk.Room.Free()
		out.Floor = d.cfg.Disk.Room.Floor
	}
	return out
}
