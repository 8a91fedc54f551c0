package commands_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// fakeKernel is a kernel ring on a host that is described.
type fakeKernel struct {
	report initproto.Report
	err    error
	around executors.Attestation
	unseen error
	reach  *initproto.Report // of the guest with a network; nil: as the other one
}

func (k fakeKernel) Examine(context.Context) (initproto.Report, error) { return k.report, k.err }
func (k fakeKernel) ExamineEgress(context.Context) (initproto.Report, error) {
	if k.reach != nil {
		return *k.reach, nil
	}
	return k.report, k.err
}
func (k fakeKernel) Unseen() error { return k.unseen }
func (k fakeKernel) Attestation(context.Context, string) executors.Attestation {
	return k.around
}

func everything() map[string]string {
	all := map[string]string{}
	for _, n := range hostcheck.Names() {
		all[n] = cli.LayerEnforced
	}
	return all
}

func plain() executors.Attestation {
	l := map[string]string{}
	for _, n := range hostcheck.Names() {
		l[n] = cli.LayerUnavailable
	}
	for _, n := range []string{"process", "environment", "descriptors", "parent_death", "rlimits", "no_new_privs"} {
		l[n] = cli.LayerEnforced
	}
	return executors.Attestation{Tier: profiles.TierWasm, Layers: l}
}

func ubuntu() hostcheck.Sources {
	return hostcheck.Sources{UID: 1000, Landlock: func() (int, syscall.Errno) { return 4, 0 }, Root: fstest.MapFS{
		"proc/sys/kernel/osrelease":                             {Data: []byte("6.8.0-45-generic\n")},
		"proc/sys/kernel/apparmor_restrict_unprivileged_userns": {Data: []byte("1\n")},
	}}
}

func TestExamine(t *testing.T) {
	all := executors.Attestation{Tier: profiles.TierOS, LandlockABI: 7, Layers: everything()}
	mixed := executors.Attestation{Tier: profiles.TierOS, LandlockABI: 7, Layers: everything()}
	mixed.Layers[initproto.LayerViolations], mixed.Layers[initproto.LayerCgroups] = cli.LayerPartly,
		cli.LayerUnavailable
	refused := initproto.Report{Failed: initproto.LayerNamespaces, Kind: initproto.KindMissing, Step: "clone",
		Errno: int(syscall.EPERM)}
	for _, tt := range []struct {
		name        string
		kernel      fakeKernel
		engine      executors.Attestation
		err         error
		enforceable bool
		tier        string
		tiers       []string
		want        []string // on the page
	}{
		{"every layer", fakeKernel{report: initproto.Report{Layers: everything(), ABI: 7}, around: all}, all, nil, true, "os-sandbox", []string{"process", "wasm", "os-sandbox"},
			[]string{"strongest tier: os-sandbox\nkernel: 6.8.0-45-generic, Landlock version 7\nengine: sha256:e\n  " +
				"js           minTier process, wasm, os-sandbox\n",
				"  python       minTier process, wasm, os-sandbox\n  shell        minTier process, wasm, os-sandbox\n", "  seal          enforced     a JavaScript guest gave up"}},
		{"some layers", fakeKernel{report: initproto.Report{Layers: everything(), ABI: 7}, unseen: errors.New("the log is off: turn it on")}, mixed, nil, true, "os-sandbox", []string{"process", "wasm", "os-sandbox"},
			[]string{"violations    best-effort  refused system calls", "fix: the log is off: turn it on",
				"cgroups       unavailable  not around a JavaScript guest"}},
		{"Ubuntu", fakeKernel{report: refused, around: plain()}, plain(), nil, true, "wasm", []string{"process", "wasm"},
			[]string{"  js           minTier process, wasm\n  python       nothing runs: it needs every layer of the " +
				"kernel ring, for every\n               minTier, and namespaces failed\n", "* rlimits       enforced", "  namespaces    unavailable  clone: operation not permitted: AppArmor refuses\n", "minTier os-sandbox is refused\n",
				"\n  fix: ringd doctor --apparmor | sudo tee /etc/apparmor.d/ringd &&\n       sudo apparmor_parser -r /etc/apparmor.d/ringd\n",
				"  seccomp       unavailable  not in use, since the layer namespaces failed"}},
		{"a lie", fakeKernel{report: initproto.Report{Failed: initproto.LayerLimits, Kind: initproto.KindLies, Layers: everything()}}, executors.Attestation{}, errors.New("refused"), false, "", nil,
			[]string{"strongest tier: none: nothing runs", "  js           nothing runs: no guest can be started\n  " +
				"python       nothing runs: it needs every layer", "* rlimits       unavailable  the host says that it gave",
				"run no untrusted code on this host", "* engine        unavailable  refused"}},
		{"no network for guests", fakeKernel{report: initproto.Report{Layers: everything(), ABI: 7},
			reach: &initproto.Report{Failed: initproto.LayerEgress, Kind: initproto.KindMissing, Step: "RTM_NEWROUTE",
				Errno: int(syscall.EPERM)}}, all, nil, true, "os-sandbox", []string{"process", "wasm", "os-sandbox"},
			[]string{"  egress        unavailable  RTM_NEWROUTE: operation not permitted"}},
		{"IPv6", fakeKernel{report: initproto.Report{Layers: everything(), ABI: 7}, reach: &initproto.Report{Layers: everything(), IPv6: true}}, all, nil, true, "os-sandbox", []string{"process", "wasm", "os-sandbox"},
			[]string{"  egress        enforced     ringd receives and decides connections to any\n",
				"address; IPv4 and IPv6\n"}},
		{"no engine", fakeKernel{report: initproto.Report{Layers: everything()}, around: all}, executors.Attestation{}, &profiles.Denial{Decision: profiles.Decision{Reason: "no engine", Instead: []string{"make engine"}}}, false, "os-sandbox", nil,
			[]string{"* engine        unavailable  no engine\n  fix: make engine\n"}},
		{"no guest at all", fakeKernel{err: errors.New("start init: no memory")}, executors.Attestation{}, errors.New("start init: no memory"), false, "", nil,
			[]string{"* process       unavailable  start init: no memory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := cli.Health{Enforceable: true}
			commands.ExamineHost(t.Context(), commands.DoctorConfig{Host: ubuntu(), Kernel: tt.kernel,
				Engine: func(context.Context) (executors.Attestation, string, error) {
					return tt.engine, "sha256:e", tt.err
				}}, &h)
			if h.Enforceable != tt.enforceable || h.Tier != tt.tier {
				t.Errorf("enforceable %v, tier %q", h.Enforceable, h.Tier)
			}
			if d := cmp.Diff(append([]string{}, tt.tiers...), h.Executors[0].MinTiers); d != "" {
				t.Error(d)
			}
			var b bytes.Buffer
			cli.Page{W: &b}.Health(h)
			for _, w := range tt.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("the page lacks %q", w)
				}
			}
			for l := range strings.Lines(b.String()) {
				if utf8.RuneCountInString(strings.TrimSuffix(l, "\n")) > 80 {
					t.Errorf("too wide: %q", l)
				}
			}
			for _, l := range h.Layers {
				if l.State == "" || l.Reason == "" {
					t.Errorf("says nothing: %+v", l)
				}
			}
		})
	}
}

// The interpreter that a host lacks is no layer of the ring: shell goes on without it.
func TestPythonOfHost(t *testing.T) {
	all, few, none := []string{"process", "wasm", "os-sandbox"}, []string{"process", "wasm"}, []string{}
	there, gone := cli.Layer{State: cli.LayerEnforced}, cli.Layer{State: cli.LayerUnavailable}
	for _, tt := range []struct {
		name                string
		js, ring            []string
		interpreter, engine cli.Layer
		want                cli.Executor
	}{
		{"both", all, all, there, there, cli.Executor{MinTiers: all}},
		{"no engine", all, all, there, gone, cli.Executor{MinTiers: all}},
		{"no interpreter", all, all, gone, gone, cli.Executor{MinTiers: none, Reason: "no suitable interpreter on this host (layer python)"}},
		{"the engine alone", all, all, gone, there, cli.Executor{MinTiers: all, Reason: "with tier: wasm alone: no suitable interpreter on this host (layer python)"}},
		{"no ring", few, none, there, there, cli.Executor{MinTiers: few, Reason: "with tier: wasm alone: no ring"}},
		{"no ring, no engine", few, none, there, gone, cli.Executor{MinTiers: none, Reason: "no ring"}},
		{"nothing", none, none, there, there, cli.Executor{MinTiers: none, Reason: "no ring"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			why := ""
			if len(tt.ring) == 0 {
				why = "no ring"
			}
			h := cli.Health{Executors: []cli.Executor{{Name: "js", MinTiers: tt.js},
				{Name: "python", MinTiers: tt.ring, Reason: why}, {Name: "shell", MinTiers: tt.ring}}}
			commands.PythonHealth(&h, tt.interpreter, tt.engine)
			tt.want.Name = "python"
			if d := cmp.Diff([]cli.Executor{{Name: "js", MinTiers: tt.js}, tt.want, {Name: "shell", MinTiers: tt.ring}},
				h.Executors); d != "" {
				t.Error(d)
			}
		})
	}
}
