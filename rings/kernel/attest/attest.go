// Package attest owns what is said of a guest: the layers that stand around it,
// the tier that they come to, and the refusal of a run that asks for more.
package attest

import (
	"fmt"
	"maps"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/host"
	"github.com/ringd/ringd/rings/kernel/limit"
	"github.com/ringd/ringd/rings/kernel/order"
)

// The states of a layer in an attestation.
const (
	Enforced    = "enforced"
	Partly      = "best-effort"
	Unavailable = "unavailable"
)

// own are the layers that the ring builds itself, around every guest.
func own() map[string]string {
	return map[string]string{
		order.LayerProcess: Enforced, order.LayerEnvironment: Enforced, order.LayerDescriptors: Enforced,
		order.LayerParentDeath: Enforced,
	}
}

// Built are the layers that init has to report as enforced; without one of them
// nothing runs.
func Built() []string {
	return []string{
		order.LayerNamespaces, order.LayerMounts, order.LayerExec, order.LayerNetwork, order.LayerLimits,
		order.LayerPrivileges, order.LayerLandlock, order.LayerCapabilities, order.LayerSeccomp, order.LayerSelfTest,
	}
}

// optional are the layers that not every guest has.
func optional() []string {
	return []string{order.LayerMemory, order.LayerEgress, order.LayerCgroups, order.LayerHeld, order.LayerViolations}
}

// Wasm tells whether a guest runs its programs in WebAssembly: those that seal
// themselves do, and no guest of JavaScript has another engine.
func Wasm(s executors.Spec) bool { return s.Executor == profiles.ExecutorJS || s.Seals }

// PlainTier is the isolation of a guest without the layers.
func PlainTier(wasm bool) profiles.Tier {
	if wasm {
		return profiles.TierWasm
	}
	return profiles.TierProcess
}

// Plain says what stands around a guest without the layers.
func Plain(wasm bool) executors.Attestation {
	l := own()
	for _, name := range Built() {
		l[name] = Unavailable
	}
	l[order.LayerPrivileges], l[order.LayerLimits] = Enforced, Enforced
	if limit.RaceDetector {
		l[order.LayerLimits] = Unavailable
	}
	for _, name := range optional() {
		l[name] = Unavailable
	}
	delete(l, order.LayerSelfTest)
	return executors.Attestation{Tier: PlainTier(wasm), Layers: withLanguage(l, wasm)}
}

// withLanguage adds what an executor itself stands around its programs.
func withLanguage(l map[string]string, wasm bool) map[string]string {
	if wasm {
		l["wasm"] = Enforced
	}
	return l
}

// Enclosed says what stands around a guest whose init made this
// report.
func Enclosed(wasm bool, digest string, r order.Report, groups map[string]string) executors.Attestation {
	l := maps.Clone(r.Layers)
	maps.Copy(l, own())
	l[order.LayerHeld] = Partly
	if limit.RaceDetector {
		l[order.LayerLimits], l[order.LayerHeld] = Unavailable, Unavailable
	}
	for _, name := range optional() {
		if l[name] == "" {
			l[name] = Unavailable
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

// TierDenial is the denial of a tier that this host cannot give. why is what is
// missing.
func TierDenial(executor string, want, have profiles.Tier, why, remedy string) *profiles.Denial {
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
type Lack struct{ Report order.Report }

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

// Explained is the error of a report that says what failed.
func Explained(r order.Report) *Lack {
	if reason, remedy := host.Explain(r); reason != "" {
		r.Reason, r.Remedy = reason, remedy
	}
	return &Lack{Report: r}
}

// Denied refuses a guest for want of a layer.
func Denied(s executors.Spec, e *Lack) *profiles.Denial {
	r := e.Report
	if r.Kind == order.KindMissing {
		why := fmt.Sprintf("layer %s is missing: %s", r.Failed, r.Reason)
		if r.Failed == "" {
			why = r.Reason
		}
		return TierDenial(s.Executor, s.MinTier, PlainTier(Wasm(s)), why, r.Remedy)
	}
	d := &profiles.Denial{Capability: "executor " + s.Executor, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeTierUnavailable, Reason: e.Error(),
	}}
	if r.Remedy != "" {
		d.Decision.Instead = []string{r.Remedy}
	}
	return d
}
