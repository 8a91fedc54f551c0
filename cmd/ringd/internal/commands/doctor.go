// This file says what this host gives guests, layer by layer, for
// `ringd doctor`. It starts guests that run nothing, and believes what they show
// and not what the host says of itself.

package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// doctorKernel is the kernel ring.
type doctorKernel interface {
	// Examine starts a guest of nothing and returns what its init reports.
	Examine(ctx context.Context) (initproto.Report, error)
	// ExamineEgress is Examine with a guest whose network leads to egress.
	ExamineEgress(ctx context.Context) (initproto.Report, error)
	// Attestation is what a guest of the executor gets.
	Attestation(ctx context.Context, executor string) executors.Attestation
	// Unseen says why Landlock's refusals are not seen; nil: they are.
	Unseen() error
}

// DoctorConfig is what an examination needs.
type DoctorConfig struct {
	Host   hostcheck.Sources // of its facts; the zero value is that of this process
	Kernel doctorKernel
	// Engine starts a guest of the JavaScript executor, and returns what stood
	// around it and the digest of its engine.
	Engine func(ctx context.Context) (executors.Attestation, string, error)
}

// ExamineHost fills in what the kernel ring and the executors give.
func ExamineHost(ctx context.Context, c DoctorConfig, h *cli.Health) {
	if c.Host.Root == nil {
		c.Host = hostcheck.Here()
	}
	found := c.Host.Examine(ctx, c.Kernel.Examine)
	around := c.Kernel.Attestation(ctx, profiles.ExecutorJS)
	engine := cli.Layer{Name: "engine", Required: true, State: cli.LayerUnavailable}
	seen, digest, err := c.Engine(ctx)
	if err != nil {
		engine.Reason, engine.Fix = err.Error(), found.Remedy
		var denial *profiles.Denial
		if errors.As(err, &denial) && found.Failed == "" {
			engine.Reason, engine.Fix = denial.Decision.Reason, strings.Join(denial.Decision.Instead, "; ")
		}
	} else {
		around, engine.State, engine.Reason = seen, cli.LayerEnforced, "JavaScript runs in WebAssembly, metered"
		h.Engine = digest
	}
	h.Tier, h.Kernel, h.Container = string(around.Tier), found.Facts.Release, found.Facts.Container
	h.LandlockABI = max(around.LandlockABI, found.Facts.LandlockABI)
	h.Executors = executorsOf(around.Tier, err, c.Kernel.Attestation(ctx, profiles.ExecutorPython).Tier, found.Failed)
	h.Add(engine)
	for _, l := range found.Layers {
		if l.Name == initproto.LayerEgress && found.Stands {
			h.Add(c.egress(ctx))
			continue
		}
		h.Add(healthLayer(l, around, found, c.Kernel.Unseen()))
	}
	users := c.Host.Users()
	h.Add(cli.Layer{Name: users.Name, State: users.State, Reason: users.Reason, Fix: users.Fix})
}

// egress is the layer that no JavaScript guest has, tried with a guest that has it:
// every address is local to it, and it listens on low ports.
func (c DoctorConfig) egress(ctx context.Context) cli.Layer {
	ipv6 := false
	found := c.Host.Examine(ctx, func(ctx context.Context) (initproto.Report, error) {
		r, err := c.Kernel.ExamineEgress(ctx)
		ipv6 = r.IPv6
		return r, err
	})
	out := cli.Layer{Name: initproto.LayerEgress, State: cli.LayerUnavailable, Reason: found.Reason, Fix: found.Remedy}
	for _, l := range found.Layers {
		if l.Name == initproto.LayerEgress && found.Stands {
			out.State, out.Reason, out.Fix = l.State, l.Reason, l.Fix
		}
	}
	switch {
	case out.State != cli.LayerEnforced:
	case ipv6:
		out.Reason += "; IPv4 and IPv6"
	default:
		out.Reason += "; IPv4 alone, this kernel has no IPv6"
	}
	return out
}

// executorsOf says which tiers a policy may ask for. Interpreters of the host run
// behind the kernel ring or not at all.
func executorsOf(js profiles.Tier, err error, ring profiles.Tier, failed string) []cli.Executor {
	out := []cli.Executor{{Name: profiles.ExecutorJS, MinTiers: []string{}}}
	if err != nil {
		out[0].Reason = "no guest can be started"
	} else {
		out[0].MinTiers = tiers(js)
	}
	for _, name := range []string{profiles.ExecutorPython, profiles.ExecutorShell} {
		e := cli.Executor{Name: name, MinTiers: []string{}, Reason: "no guest can be started"}
		switch {
		case executors.Satisfies(ring, profiles.TierOS):
			e.MinTiers, e.Reason = tiers(ring), ""
		case failed != "":
			e.Reason = "it needs every layer of the kernel ring, for every minTier, and " + failed + " failed"
		}
		out = append(out, e)
	}
	return out
}

// PythonHealth says what becomes of Python where the host has no interpreter for it, or no
// ring around one: its second engine runs wherever JavaScript does.
func PythonHealth(h *cli.Health, interpreter, engine cli.Layer) {
	var js []string
	for i := range h.Executors {
		switch e := &h.Executors[i]; {
		case e.Name == profiles.ExecutorJS:
			js = e.MinTiers
		case e.Name != profiles.ExecutorPython:
		case len(e.MinTiers) > 0 && interpreter.State == cli.LayerEnforced:
		case engine.State == cli.LayerEnforced && len(js) > 0:
			why := e.Reason
			if why == "" {
				why = "no suitable interpreter on this host (layer python)"
			}
			e.MinTiers, e.Reason = js, "with tier: wasm alone: "+why
		case len(e.MinTiers) > 0:
			e.MinTiers, e.Reason = []string{}, "no suitable interpreter on this host (layer python)"
		}
	}
}

// tiers are those that a guest of tier have satisfies.
func tiers(have profiles.Tier) []string {
	out := []string{}
	for _, t := range []profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS} {
		if executors.Satisfies(have, t) {
			out = append(out, string(t))
		}
	}
	return out
}

// healthLayer words one layer as a JavaScript guest has it, with the reasons of the
// guest of nothing.
func healthLayer(l hostcheck.Layer, around executors.Attestation, found hostcheck.Health, unseen error) cli.Layer {
	out := cli.Layer{Name: l.Name, State: around.Layers[l.Name], Required: required(l.Name), Reason: l.Reason,
		Fix: l.Fix}
	switch {
	case found.Lies: // nothing is started here, whatever a guest would have
		out.State = l.State
	case out.State == cli.LayerEnforced:
		out.Reason, out.Fix = hostcheck.Holds(l.Name), ""
	case out.State == cli.LayerPartly && l.State != cli.LayerPartly:
		out.Reason, out.Fix = hostcheck.HoldsPartly(l.Name), ""
	case out.State != cli.LayerPartly:
		out.State = cli.LayerUnavailable
		if l.State != cli.LayerUnavailable {
			out.Reason = "not around a JavaScript guest: " + hostcheck.Holds(l.Name)
		}
	}
	if l.Name == initproto.LayerViolations && unseen != nil && out.State != cli.LayerEnforced {
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
	case initproto.LayerProcess, initproto.LayerEnvironment, initproto.LayerDescriptors, initproto.LayerParentDeath,
		initproto.LayerLimits,
		initproto.LayerPrivileges:
		return true
	default:
		return false
	}
}

// AppArmorProfile is the profile that lets the program at this path start guests
// on hosts where AppArmor keeps namespaces from programs without one; ok is false
// for a path that cannot stand in a profile.
func AppArmorProfile(program string) (profile string, ok bool) {
	return hostcheck.AppArmorProfile(program)
}
