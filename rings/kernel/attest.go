// An attestation lists the layers around a guest and the tier that they add up to. A run that asks for a higher
// tier is denied.

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

// ownLayers are the layers that the ring itself builds around every guest.
func ownLayers() map[string]string {
	return map[string]string{
		initproto.LayerProcess: enforced, initproto.LayerEnvironment: enforced, initproto.LayerDescriptors: enforced,
		initproto.LayerParentDeath: enforced,
	}
}

// builtLayers are the layers that init has to report as enforced. If one is missing, nothing runs.
func builtLayers() []string {
	return []string{
		initproto.LayerNamespaces, initproto.LayerMounts, initproto.LayerExec, initproto.LayerNetwork,
		initproto.LayerLimits,
		initproto.LayerPrivileges, initproto.LayerLandlock, initproto.LayerCapabilities, initproto.LayerSeccomp,
		initproto.LayerSelfTest,
	}
}

// optionalLayers are the layers that not every guest has.
func optionalLayers() []string {
	return []string{
		initproto.LayerMemory, initproto.LayerEgress, initproto.LayerCgroups, initproto.LayerHeld,
		initproto.LayerViolations,
	}
}

// isWasm reports whether a guest runs its programs in WebAssembly: guests that seal themselves do, and guests
// of JavaScript have no other engine.
func isWasm(s executors.Spec) bool { return s.Executor == profiles.ExecutorJS || s.Seals }

// unconfinedTier is the isolation of an unconfined guest.
func unconfinedTier(wasm bool) profiles.Tier {
	if wasm {
		return profiles.TierWasm
	}
	return profiles.TierProcess
}

// attestUnconfined is the attestation of an unconfined guest.
func attestUnconfined(wasm bool) executors.Attestation {
	l := ownLayers()
	for _, name := range builtLayers() {
		l[name] = unavailable
	}
	l[initproto.LayerPrivileges], l[initproto.LayerLimits] = enforced, enforced
	if raceDetector {
		l[initproto.LayerLimits] = unavailable
	}
	for _, name := range optionalLayers() {
		l[name] = unavailable
	}
	delete(l, initproto.LayerSelfTest)
	return executors.Attestation{Tier: unconfinedTier(wasm), Layers: withLanguage(l, wasm)}
}

// withLanguage adds the layers that an executor itself puts around its programs.
func withLanguage(l map[string]string, wasm bool) map[string]string {
	if wasm {
		l["wasm"] = enforced
	}
	return l
}

// attestConfined is the attestation of a guest whose init made this report.
func attestConfined(wasm bool, digest string, r initproto.Report, groups map[string]string) executors.Attestation {
	l := maps.Clone(r.Layers)
	maps.Copy(l, ownLayers())
	l[initproto.LayerHeld] = partly
	if raceDetector {
		l[initproto.LayerLimits], l[initproto.LayerHeld] = unavailable, unavailable
	}
	for _, name := range optionalLayers() {
		if l[name] == "" {
			l[name] = unavailable
		}
	}
	maps.Copy(l, groups)
	return executors.Attestation{
		Tier: profiles.TierOS, Layers: withLanguage(l, wasm), LandlockABI: r.ABI, Profile: digest,
	}
}

// needsEveryLayer reports the executors whose guests of native code require every layer, whatever minTier says.
func needsEveryLayer(executor string) bool {
	return executor == profiles.ExecutorPython || executor == profiles.ExecutorShell
}

// tierDenial is the denial of a tier that this host cannot give. why names the missing layer.
func tierDenial(executor string, want, have profiles.Tier, why, remedy string) *profiles.Denial {
	asked := string(want)
	if asked == "" {
		asked = "(none named)"
	}
	instead := []string{"set minTier: " + string(have)}
	if remedy != "" {
		instead = []string{remedy, instead[0]}
	}
	reason := fmt.Sprintf(
		"isolation tier %s is required, but this host provides %[3]s for the %[2]s executor: %[4]s", asked, executor,
		have, why,
	)
	always := want == profiles.TierOS && have == profiles.TierProcess && needsEveryLayer(executor)
	if always {
		reason = fmt.Sprintf(
			"the executor %s always needs tier %s, which this host does not provide: %s", executor, want, why,
		)
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

// Lack is the error of a guest for which a layer is missing.
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

// explained returns the error of a report that names the failed step.
func explained(r initproto.Report) *Lack {
	if reason, remedy := hostcheck.Explain(r); reason != "" {
		r.Reason, r.Remedy = reason, remedy
	}
	return &Lack{Report: r}
}

// lackDenied denies a guest because of a missing layer.
func lackDenied(s executors.Spec, e *Lack) *profiles.Denial {
	r := e.Report
	if r.Kind == initproto.KindMissing {
		why := fmt.Sprintf("layer %s is missing: %s", r.Failed, r.Reason)
		if r.Failed == "" {
			why = r.Reason
		}
		return tierDenial(s.Executor, s.MinTier, unconfinedTier(isWasm(s)), why, r.Remedy)
	}
	d := &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Reason: e.Error(),
	}}
	if r.Remedy != "" {
		d.Decision.Instead = []string{r.Remedy}
	}
	return d
}
