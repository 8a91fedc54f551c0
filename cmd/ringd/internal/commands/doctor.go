// The examination of the host for `ringd doctor`: what it can give guests, layer by layer. It starts guests
// that run nothing, and believes what they show, not what the host reports about itself.

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

// doctorKernel is the part of the kernel ring that the examination uses.
type doctorKernel interface {
	// Examine starts an empty guest and returns the report of its init.
	Examine(ctx context.Context) (initproto.Report, error)
	// ExamineEgress is Examine for a guest whose network is connected to the egress proxy.
	ExamineEgress(ctx context.Context) (initproto.Report, error)
	// Attestation returns the layers around a guest of the executor.
	Attestation(ctx context.Context, executor string) executors.Attestation
	// Unseen returns why refusals of Landlock are not visible, or nil if they are.
	Unseen() error
}

// DoctorConfig configures an examination.
type DoctorConfig struct {
	Host   hostcheck.Sources // sources of host facts; zero means those of this process
	Kernel doctorKernel
	// Engine starts a guest of the JavaScript executor. It returns the layers around it and the digest of its
	// engine.
	Engine func(ctx context.Context) (executors.Attestation, string, error)
}

// ExamineHost fills in the results of the kernel ring and the executors.
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

// egress tests the layer egress, which no JavaScript guest has, with a guest that has a network. In the network
// of that guest every address is local, and the guest listens on low ports.
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

// executorsOf returns the tiers that a policy may require. Interpreters of the host run behind the kernel
// ring or not at all.
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

// PythonHealth reports the state of Python on a host that has no interpreter for it or no ring around one.
// Its second engine runs wherever JavaScript does.
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

// tiers returns the tiers that a guest with tier have satisfies.
func tiers(have profiles.Tier) []string {
	out := []string{}
	for _, t := range []profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS} {
		if executors.Satisfies(have, t) {
			out = append(out, string(t))
		}
	}
	return out
}

// healthLayer describes one layer of a JavaScript guest, with the reasons from the empty guest.
func healthLayer(l hostcheck.Layer, around executors.Attestation, found hostcheck.Health, unseen error) cli.Layer {
	out := cli.Layer{Name: l.Name, State: around.Layers[l.Name], Required: neededForWasm(l.Name), Reason: l.Reason,
		Fix: l.Fix}
	switch {
	case found.Lies: // no guest starts here, whatever layers it would have
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

// neededForWasm reports whether tier wasm needs a layer.
func neededForWasm(name string) bool {
	switch name {
	case initproto.LayerProcess, initproto.LayerEnvironment, initproto.LayerDescriptors, initproto.LayerParentDeath,
		initproto.LayerLimits,
		initproto.LayerPrivileges:
		return true
	default:
		return false
	}
}

// AppArmorProfile returns a profile that lets the program at this path start guests on hosts where AppArmor
// denies namespaces to programs without a profile. ok is false if the path cannot be part of a profile.
func AppArmorProfile(program string) (profile string, ok bool) {
	return hostcheck.AppArmorProfile(program)
}
