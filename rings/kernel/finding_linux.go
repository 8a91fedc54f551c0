package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// finding is the result of starting the first guest on this host.
type finding struct {
	report initproto.Report // of the first guest
	kind   string           // kind of its failure; if empty, the host gives every layer
	why    *Lack            // nil if nothing failed
}

// hostFinding returns the finding about the host. For one caller, mine is true: this caller has to examine the
// host and then call tell. All other callers wait for the result.
func (r *Ring) hostFinding(ctx context.Context) (f *finding, mine bool, err error) {
	for {
		r.mu.Lock()
		f, wait := r.found, r.looking
		if f == nil && wait == nil {
			r.looking = make(chan struct{})
			r.mu.Unlock()
			return nil, true, nil
		}
		r.mu.Unlock()
		if f != nil {
			return f, false, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// setFinding ends a look. An error that says nothing about the host leaves the finding to the next look.
func (r *Ring) setFinding(p *prepared, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.looking)
	r.looking = nil
	var layer *Lack
	switch {
	case err == nil:
		r.found = &finding{report: p.report}
	case errors.As(err, &layer) && layer.Report.Kind != initproto.KindFault:
		r.found = &finding{report: layer.Report, kind: layer.Report.Kind, why: layer}
	}
}

// recordLie records that a host which had given every layer has failed to give one.
func (r *Ring) recordLie(err error) {
	var layer *Lack
	if !errors.As(err, &layer) || layer.Report.Kind != initproto.KindLies {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = &finding{report: layer.Report, kind: initproto.KindLies, why: layer}
	r.emptyLocked(func(kind) bool { return true })
}

// launch starts the guest of s with the layers, or without them if this host allows only that.
func (r *Ring) launch(ctx context.Context, s executors.Spec, uid int) (*guest, error) {
	f, mine, err := r.hostFinding(ctx)
	if err != nil {
		return nil, err
	}
	if !mine && f.kind != "" {
		return r.unconfinedIfEnough(s, f)
	}
	p, err := r.obtain(ctx, s, uid, mine)
	if mine {
		r.setFinding(p, err)
	} else {
		r.recordLie(err)
	}
	var layer *Lack
	switch {
	case err == nil:
		return r.startAndRefill(ctx, p, s)
	case !errors.As(err, &layer), layer.Report.Kind == initproto.KindFault:
		return nil, err
	case mine && layer.Report.Kind == initproto.KindMissing:
		return r.unconfinedIfEnough(s, &finding{kind: layer.Report.Kind, why: layer})
	default:
		return nil, lackDenied(s, layer)
	}
}

// startAndRefill starts the program of s in p and starts to prepare a replacement. Preparing takes processor time from
// everything that runs. It never delays this start, and this guest only if none is left in the pool.
func (r *Ring) startAndRefill(ctx context.Context, p *prepared, s executors.Spec) (*guest, error) {
	refill := func() { r.refill(ctx, p.recipe); r.spare(p.recipe) }
	if r.cfg.Spare || r.hasMore(p.recipe.kind) {
		p.after = refill
		return r.startProgram(ctx, p, s)
	}
	defer refill()
	return r.startProgram(ctx, p, s)
}

// obtain returns a guest that waits for the program of s: one from the pool, or a new one. If fresh is set, it
// is always a new one.
func (r *Ring) obtain(ctx context.Context, s executors.Spec, uid int, fresh bool) (*prepared, error) {
	resolved := false
	for again := false; ; again = true {
		c, err := r.recipe(s, uid)
		var moved *changedError
		if errors.As(err, &moved) && !resolved {
			resolved = true
			if c, err = nil, r.reResolve(ctx, moved.seen); err == nil {
				c, err = r.recipe(s, uid)
			}
		}
		if err != nil {
			return nil, err
		}
		if !fresh {
			if p := r.takePrepared(c.kind); p != nil {
				return p, nil
			}
		}
		p, err := r.prepare(ctx, c)
		var layer *Lack
		if again || !errors.As(err, &layer) || layer.Report.Kind != initproto.KindFault {
			return p, err
		}
		r.unlearn(c) // one of its files may have been replaced since it was checked
	}
}

// unconfinedIfEnough starts a guest without the layers, on a host that lacks one, if s asks for no more. It starts
// nothing on a host that gave a layer before and now does not.
func (r *Ring) unconfinedIfEnough(s executors.Spec, f *finding) (*guest, error) {
	if f.kind != initproto.KindMissing || !executors.Satisfies(unconfinedTier(isWasm(s)), s.MinTier) {
		return nil, lackDenied(s, f.why)
	}
	return r.unconfined(s)
}

// examineTime limits an examination of the host without a context.
const examineTime = 10 * time.Second

// Attestation returns the attestation that a guest of this executor would get on this host. The first call
// waits for the first guest, or starts a guest that runs nothing. If even that fails, the attestation satisfies
// no tier.
func (r *Ring) Attestation(ctx context.Context, executor string) executors.Attestation {
	f, mine, err := r.hostFinding(ctx)
	if mine {
		ctx, cancel := context.WithTimeout(ctx, examineTime)
		defer cancel()
		f, err = r.examine(ctx)
	}
	switch {
	case err != nil || f == nil || f.kind == initproto.KindLies:
		return executors.Attestation{Layers: map[string]string{}}
	case f.kind == initproto.KindMissing:
		return attestUnconfined(executor == profiles.ExecutorJS)
	default:
		return attestConfined(executor == profiles.ExecutorJS, "", f.report, r.grouped)
	}
}

// examine starts a guest that runs nothing and returns the finding.
func (r *Ring) examine(ctx context.Context) (*finding, error) {
	p, err := r.tryOne(ctx, "")
	r.setFinding(p, err)
	var layer *Lack
	switch {
	case err == nil:
		err = p.drop()
	case errors.As(err, &layer):
		err = nil // the finding holds it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found, err
}

// Examine starts a guest that runs nothing, and returns the report of its init, also if a layer is missing. An
// error says nothing about the host.
func (r *Ring) Examine(ctx context.Context) (initproto.Report, error) {
	return r.reported(ctx, "")
}

// ExamineEgress is Examine with a guest whose network leads to egress. Without Config.Egress there is no
// network, and the report has no such layer.
func (r *Ring) ExamineEgress(ctx context.Context) (initproto.Report, error) {
	return r.reported(ctx, profiles.NetworkOwn)
}

func (r *Ring) reported(ctx context.Context, network string) (initproto.Report, error) {
	p, err := r.tryOne(ctx, network)
	var layer *Lack
	if errors.As(err, &layer) {
		return layer.Report, nil
	}
	if err != nil {
		return initproto.Report{}, err
	}
	report := p.report
	report.IPv6 = p.sockets.IPv6
	return report, p.drop()
}

// tryOne prepares a guest of the narrowest possible profile, with this network.
func (r *Ring) tryOne(ctx context.Context, network string) (*prepared, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := r.newRecipe(kind{
		uid: r.users.nobody(),
	}, executors.Spec{Argv: []string{""}, CPU: examineTime, MemoryBytes: 1 << 30, Seals: true,
		Kernel: profiles.Kernel{Network: network}})
	if err != nil {
		return nil, err
	}
	return r.prepare(ctx, c)
}
