package policy

import (
	"context"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/schema/wire"
)

// restarts puts on record what cannot take the generation that has just come into force
// before it is started again. The generation stands either way: a record that cannot be
// written closes the log, and with it everything.
func (d *Holder) restarts(ctx context.Context) {
	for _, r := range d.cfg.Rings {
		if part := stateOf(r); part.State == wire.PartRestartNeeded {
			d.restart(ctx, "ring:"+part.Name, part.Reason)
		}
		reporter, ok := r.(Reporter)
		if !ok {
			continue
		}
		for _, e := range reporter.Status() {
			if e.State == wire.PartRestartNeeded {
				d.restart(ctx, "executor:"+e.Name, e.Reason)
			}
		}
	}
}

func (d *Holder) restart(ctx context.Context, what, why string) {
	rec := d.Record(audit.RestartNeeded)
	rec.Capability, rec.State, rec.Detail = what, wire.PartRestartNeeded, map[string]string{"reason": why}
	if _, err := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		d.cfg.Logger.Error("record what needs a restart", "part", what, "error", err)
	}
}
