// Package doctor says what this host gives guests, layer by layer, for
// `ringd doctor`. It starts guests that run nothing, and believes what they show
// and not what the host says of itself.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/host"
	"github.com/ringd/ringd/rings/kernel/order"
)

// Kernel is the kernel ring.
type Kernel interface {
	// Examine starts a guest of nothing and returns what its init reports.
	Examine(ctx context.Context) (order.Report, error)
	// ExamineEgress is Examine with a guest whose network leads to egress.
	ExamineEgress(ctx context.Context) (order.Report, error)
	// Attestation is what a guest of the executor gets.
	Attestation(ctx context.Context, executor string) executors.Attestation
	// Unseen says why Landlock's refusals are not seen; nil: they are.
	Unseen() error
}

// Config is what an examination needs.
type Config struct {
	Host   host.Sources // of its facts; the zero value is that of this process
	Kernel Kernel
	// Engine starts a guest of the JavaScript executor, and returns what stood
	// around it and the words for its engine.
	Engine func(ctx context.Context) (executors.Attestation, string, error)
}

// Examine fills in what the kernel ring and the executors give.
func Examine(ctx context.Context, c Config, h *render.Health) {
	if c.Host.Root == nil {
		c.Host = host.Here()
	}
	found := c.Host.Examine(ctx, c.Kernel.Examine)
	around := c.Kernel.Attestation(ctx, profiles.ExecutorJS)
	engine := render.Layer{Name: "engine", Required: true, State: render.LayerUnavailable}
	seen, words, err := c.Engine(ctx)
	if err != nil {
		engine.Reason, engine.Fix = err.Error(), found.Remedy
		var denial *profiles.Denial
		if errors.As(err, &denial) && found.Failed == "" {
			engine.Reason, engine.Fix = denial.Decision.Reason, strings.Join(denial.Decision.Instead, "; ")
		}
	} else {
		around, engine.State, engine.Reason = seen, render.LayerEnforced, words
	}
	h.Tier, h.Kernel, h.Container = string(around.Tier), found.Facts.Release, found.Facts.Container
	h.LandlockABI = max(around.LandlockABI, found.Facts.LandlockABI)
	h.Executors = executorsOf(around.Tier, err)
	h.Add(engine)
	for _, l := range found.Layers {
		if l.Name == order.LayerEgress && found.Stands {
			h.Add(c.egress(ctx))
			continue
		}
		h.Add(layer(l, around, found, c.Kernel.Unseen()))
	}
}

// egress is the layer that no JavaScript guest has, tried with a guest that has it:
// every address is local to it, and it listens on low ports.
func (c Config) egress(ctx context.Context) render.Layer {
	ipv6 := false
	found := c.Host.Examine(ctx, func(ctx context.Context) (order.Report, error) {
		r, err := c.Kernel.ExamineEgress(ctx)
		ipv6 = r.IPv6
		return r, err
	})
	out := render.Layer{Name: order.LayerEgress, State: render.LayerUnavailable, Reason: found.Reason, Fix: found.Remedy}
	for _, l := range found.Layers {
		if l.Name == order.LayerEgress && found.Stands {
			out.State, out.Reason, out.Fix = l.State, l.Reason, l.Fix
		}
	}
	switch {
	case out.State != render.LayerEnforced:
	case ipv6:
		out.Reason += "; IPv4 and IPv6"
	default:
		out.Reason += "; IPv4 alone, this kernel has no IPv6"
	}
	return out
}

// executorsOf says which tiers a policy may ask for.
func executorsOf(js profiles.Tier, err error) []render.Executor {
	out := []render.Executor{{Name: profiles.ExecutorJS, MinTiers: []string{}}}
	for _, t := range []profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS} {
		if err == nil && executors.Satisfies(js, t) {
			out[0].MinTiers = append(out[0].MinTiers, string(t))
		}
	}
	if err != nil {
		out[0].Reason = "no guest can be started"
	}
	for _, name := range []string{profiles.ExecutorPython, profiles.ExecutorShell} {
		out = append(out, render.Executor{Name: name, MinTiers: []string{}, Reason: "this version has no such executor"})
	}
	return out
}

// layer words one layer as a JavaScript guest has it, with the reasons of the
// guest of nothing.
func layer(l host.Layer, around executors.Attestation, found host.Health, unseen error) render.Layer {
	out := render.Layer{Name: l.Name, State: around.Layers[l.Name], Required: required(l.Name), Reason: l.Reason, Fix: l.Fix}
	switch {
	case found.Lies: // nothing is started here, whatever a guest would have
		out.State = l.State
	case out.State == render.LayerEnforced:
		out.Reason, out.Fix = host.Holds(l.Name), ""
	case out.State == render.LayerPartly && l.State != render.LayerPartly:
		out.Reason, out.Fix = host.HoldsPartly(l.Name), ""
	case out.State != render.LayerPartly:
		out.State = render.LayerUnavailable
		if l.State != render.LayerUnavailable {
			out.Reason = "not around a JavaScript guest: " + host.Holds(l.Name)
		}
	}
	if l.Name == order.LayerViolations && unseen != nil && out.State != render.LayerEnforced {
		out.Fix = unseen.Error()
	}
	if l.Name == found.Failed && !found.Lies {
		out.Reason += fmt.Sprintf("; a policy that asks for minTier %s is refused", profiles.TierOS)
	}
	return out
}

// required tells the layers that tier wasm has.
func required(name string) bool {
	switch name {
	case order.LayerProcess, order.LayerEnvironment, order.LayerDescriptors, order.LayerParentDeath, order.LayerLimits,
		order.LayerPrivileges:
		return true
	default:
		return false
	}
}

// AppArmorProfile is the profile that lets the program at this path start guests
// on hosts where AppArmor keeps namespaces from programs without one; ok is false
// for a path that cannot stand in a profile.
func AppArmorProfile(program string) (profile string, ok bool) { return host.AppArmorProfile(program) }
