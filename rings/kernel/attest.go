// This file owns what is said of a guest: the layers that stand around it,
// the tier that they come to, and the refusal of a run that asks for more.

package kernel

import (
	"fmt"
	"maps"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// The states of a layer in an attestation.
const (
	enforced    = "enforced"
	partly      = "best-effort"
	unavailable = "unavailable"
)

// own are the layers that the ring builds itself, around every guest.
func own() map[string]string {
	return map[string]string{
		initproto.LayerProcess: enforced, initproto.LayerEnvironment: enforced, initproto.LayerDescriptors: enforced,
		initproto.LayerParentDeath: enforced,
	}
}

// builtLayers are the layers that init has to report as enforced; without one of them
// nothing runs.
func builtLayers() []string {
	return []string{
		initproto.LayerNamespaces, initproto.LayerMounts, initproto.LayerExec, initproto.LayerNetwork, initproto.LayerLimits,
		initproto.LayerPrivileges, initproto.LayerLandlock, initproto.LayerCapabilities, initproto.LayerSeccomp, initproto.LayerSelfTest,
	}
}

// optional are the layers that not every guest has.
func optional() []string {
	return []string{initproto.LayerMemory, initproto.LayerEgress, initproto.LayerCgroups, initproto.LayerHeld, initproto.LayerViolations}
}

// isWasm tells whether a guest runs its programs in WebAssembly: those that seal
// themselves do, and no guest of JavaScript has another engine.
func isWasm(s executors.Spec) bool { return s.Executor == profiles.ExecutorJS || s.Seals }

// plainTier is the isolation of a guest without the layers.
func plainTier(wasm bool) profiles.Tier {
	if wasm {
		return profiles.TierWasm
	}
	return profiles.TierProcess
}

// attestPlain says what stands around a guest without the layers.
func attestPlain(wasm bool) executors.Attestation {
	l := own()
	for _, name := range builtLayers() {
		l[name] = unavailable
	}
	l[initproto.LayerPrivileges], l[initproto.LayerLimits] = enforced, enforced
	if raceDetector {
		l[initproto.LayerLimits] = unavailable
	}
	for _, name := range optional() {
		l[name] = unavailable
	}
	delete(l, initproto.LayerSelfTest)
	return executors.Attestation{Tier: plainTier(wasm), Layers: withLanguage(l, wasm)}
}

// withLanguage adds what an executor itself stands around its programs.
func withLanguage(l map[string]string, wasm bool) map[string]string {
	if wasm {
		l["wasm"] = enforced
	}
	return l
}

// attestEnclosed says what stands around a guest whose init made this
// report.
func attestEnclosed(wasm bool, digest string, r initproto.Report, groups map[string]string) executors.Attestation {
	l := maps.Clone(r.Layers)
	maps.Copy(l, own())
	l[initproto.LayerHeld] = partly
	if raceDetector {
		l[initproto.LayerLimits], l[initproto.LayerHeld] = unavailable, unavailable
	}
	for _, name := range optional() {
		if l[name] == "" {
			l[name] = unavailable
		}
	}
	maps.Copy(l, groups)
	return executors.Attestation{
		Tier: profiles.TierOS, Layers: withLanguage(l, wasm), LandlockABI: r.ABI, Profile: digest,
	}
}

// layered tells the executors whose guests of native code ask for every layer,
// whatever minTier says.
func layered(executor string) bool {
	return executor == profiles.ExecutorPython || executor == profiles.ExecutorShell
}

// tierDenial is the denial of a tier that this host cannot give. why is what is
// missing.
func tierDenial(executor string, want, have profiles.Tier, why, remedy string) *profiles.Denial {
	asked := string(want)
	if asked == "" {
		asked = "(none named)"
	}
	instead := []string{"set minTier: " + string(have)}
	if remedy != "" {
		instead = []string{remedy, instead[0]}
	}
	reason := fmt.Sprintf("isolation tier %s is asked for, and this host gives the %s executor %s: %s", asked, executor, have, why)
	always := want == profiles.TierOS && have == profiles.TierProcess && layered(executor)
	if always {
		reason = fmt.Sprintf("the executor %s always needs tier %s, which this host does not give: %s", executor, want, why)
	}
	if always || !executors.Satisfies(have, profiles.TierProcess) {
		instead = instead[:max(len(instead)-1, 0)]
	}
	return &profiles.Denial{Capability: "executor " + executor, Decision: profiles.Decision{
		Verdict: profiles.Deny,
		Code:    profiles.CodeTierUnavailable,
		Reason:  reason,
		Instead: instead,
	}}
}

// Lack is the error of a guest around which a layer is not there.
type Lack struct{ Report initproto.Report }

// Error names the layer, what was being done, and what to do.
func (e *Lack) Error() string {
	r := e.Report
	text := fmt.Sprintf("layer %s: %s", r.Failed, r.Reason)
	if r.Step != "" {
		text = fmt.Sprintf("layer %s: %s: %s", r.Failed, r.Step, r.Reason)
	}
	if r.Remedy != "" {
		text += "; " + r.Remedy
	}
	return text
}

// explained is the error of a report that says what failed.
func explained(r initproto.Report) *Lack {
	if reason, remedy := hostcheck.Explain(r); reason != "" {
		r.Reason, r.Remedy = reason, remedy
	}
	return &Lack{Report: r}
}

// lackDenied refuses a guest for want of a layer.
func lackDenied(s executors.Spec, e *Lack) *profiles.Denial {
	r := e.Report
	if r.Kind == initproto.KindMissing {
		why := fmt.Sprintf("layer %s is missing: %s", r.Failed, r.Reason)
		if r.Failed == "" {
			why = r.Reason
		}
		return tierDenial(s.Executor, s.MinTier, plainTier(isWasm(s)), why, r.Remedy)
	}
	d := &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Reason: e.Error(),
	}}
	if r.Remedy != "" {
		d.Decision.Instead = []string{r.Remedy}
	}
	return d
}
