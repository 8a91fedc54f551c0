package hostcheck

import (
	"context"
	"strings"
	"unicode"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// The states of a layer.
const (
	Enforced    = "enforced"
	Partly      = "best-effort"
	Unavailable = "unavailable"
)

// Layer is one layer of the kernel ring on this host.
type Layer struct {
	Name   string
	State  string // Enforced, Partly or Unavailable
	Reason string
	Fix    string // empty if there is nothing to fix
}

// Health lists the layers that this host gives a guest.
type Health struct {
	Facts  Facts
	Layers []Layer // all layers, in the order in which they are made
	// Stands says that a guest has every layer that the tier os-sandbox requires.
	Stands bool
	// Lies says that the host reports a layer that has no effect: nothing runs.
	Lies           bool
	Failed         string // the layer that failed, if any
	Reason, Remedy string // of Failed
}

// Examine starts one guest that runs nothing. It returns which layers the guest had, and why it did not have the
// others. launch returns the report of the init of the guest. An error of launch means that the guest could not
// be started and reported nothing.
func (s Sources) Examine(ctx context.Context, launch func(context.Context) (initproto.Report, error)) Health {
	f := s.Facts()
	r, err := launch(ctx)
	if err != nil && r.Failed == "" {
		r.Failed, r.Kind, r.Reason = initproto.LayerProcess, initproto.KindFault, err.Error()
	}
	h := Health{Facts: f, Failed: r.Failed, Stands: r.Failed == "", Lies: r.Kind == initproto.KindLies}
	h.Reason, h.Remedy = f.Explain(r)
	for _, l := range layers() {
		h.Layers = append(h.Layers, h.layer(l, r))
	}
	return h
}

// layer returns the state of one layer.
func (h Health) layer(l describedLayer, r initproto.Report) Layer {
	out := Layer{Name: l.name, State: r.Layers[l.name], Reason: l.holds}
	switch {
	case l.name == r.Failed:
		out.State, out.Reason, out.Fix = Unavailable, h.Reason, h.Remedy
	case out.State == Enforced:
	case l.name == initproto.LayerCgroups:
		s := h.Facts.cgroups()
		if out.State != Partly {
			out.State, out.Reason, out.Fix = Unavailable, s.why+"; limits hold for each process", s.fix
		}
	case l.name == initproto.LayerHeld && r.Failed == "":
		out.State, out.Reason, out.Fix = Partly, l.partly, h.Facts.cgroups().fix
	case l.name == initproto.LayerViolations && out.State == Partly:
		out.Reason = l.partly
	case out.State == Partly:
		out.Reason = l.partly
	case r.Failed != "":
		out.State, out.Reason = Unavailable, "not in use, since the layer "+r.Failed+" failed"
	default:
		out.State, out.Reason = Unavailable, "not there: "+l.holds
	}
	return out
}

// describedLayer says what a layer does.
type describedLayer struct{ name, holds, partly string }

// layers are all layers, in the order in which they are made.
func layers() []describedLayer {
	return []describedLayer{
		{initproto.LayerProcess, "every guest is a separate process, started from one thread", ""},
		{initproto.LayerEnvironment, "the environment of a guest is empty", ""},
		{initproto.LayerDescriptors, "a guest has its connection and no other descriptor", ""},
		{initproto.LayerParentDeath, "a guest and all it started die with the daemon", ""},
		{initproto.LayerNamespaces, "separate users, mounts, processes, network, IPC, host name and control groups",
			""},
		{initproto.LayerMounts, "a file tree with only granted paths", "the file tree has more than the granted paths"},
		{initproto.LayerExec, "only granted programs start, with the libraries that they need",
			"a granted interpreter or loader may start others"},
		{initproto.LayerNetwork, "only the granted network", ""},
		{initproto.LayerEgress, "ringd receives and decides connections to any address", ""},
		{initproto.LayerLimits, "processor time, memory, files, descriptors, processes are bounded",
			"some of the limits hold"},
		{initproto.LayerPrivileges, "no program gives a guest privileges", ""},
		{initproto.LayerLandlock, "only granted paths, a second time, by Landlock rules",
			"some accesses are not covered by this Landlock"},
		{initproto.LayerCapabilities, "no capabilities, and no way to get any", ""},
		{initproto.LayerMemory, "memory never becomes executable", "only by a system call filter"},
		{initproto.LayerSeccomp, "a list of system calls; all others are refused", ""},
		{initproto.LayerSelfTest, "each layer was tested in the guest before its program", ""},
		{initproto.LayerCgroups, "memory and processes of all a guest's processes together",
			"a group to kill and freeze; no limits"},
		{initproto.LayerHeld, "the kernel limits the memory of all processes of a guest",
			"ringd measures the memory of all processes of a guest every 5 to 250 ms, and ends a guest above " +
				"its limit"},
		{initproto.LayerSeal, "a JavaScript guest gave up files, programs and sockets for good", ""},
		{initproto.LayerViolations, "refusals of a guest are recorded",
			"refused system calls and programs are recorded, and files that Landlock refuses"},
	}
}

// described finds a layer. It returns the zero value for an unknown one.
func described(layer string) describedLayer {
	for _, l := range layers() {
		if l.name == layer {
			return l
		}
	}
	return describedLayer{}
}

// Holds says what a layer does. It is empty for an unknown one.
func Holds(layer string) string { return described(layer).holds }

// HoldsPartly says what a layer does in state best-effort. It is empty if it has no such state.
func HoldsPartly(layer string) string { return described(layer).partly }

// Names are all layers, in the order in which they are made.
func Names() []string {
	var out []string
	for _, l := range layers() {
		out = append(out, l.name)
	}
	return out
}

// AppArmorProfile is the profile that lets the program at this path make user namespaces, on hosts that deny
// them to programs without a profile. It changes nothing else. ok is false for a path that a profile cannot
// name safely.
func AppArmorProfile(program string) (profile string, ok bool) {
	if !strings.HasPrefix(program, "/") || strings.ContainsFunc(program, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) ||
			strings.ContainsRune(`"*?[]{}^\,@`, r)
	}) {
		return "", false
	}
	return `# AppArmor profile of ringd: it may make user namespaces, which it needs to
# start guests. Nothing else changes: ringd stays unconfined by AppArmor, and
# what limits a guest is up to ringd.
#
#   ringd doctor --apparmor | sudo tee /etc/apparmor.d/ringd
#   sudo apparmor_parser -r /etc/apparmor.d/ringd
#
# The path must be that of a file that only root may change: whoever can
# replace it gets what the profile gives.
abi <abi/4.0>,
include <tunables/global>

profile ringd ` + program + ` flags=(unconfined) {
  userns,

  include if exists <local/ringd>
}
`, true
}
