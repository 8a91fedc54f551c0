package rootfs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// TestWithinLayers follows links below the paths of layers above: a rule has what they
// grant, and not what a link in between leads to.
func TestWithinLayers(t *testing.T) {
	files := tree{"/data/in/x": "", "/data/out": "-> ../secret", "/data/in/up": "-> ../other", "/data/other/x": "",
		"/secret/s": "",
		"/way":      "-> data", "/ws/src/x": "", "/ws/prod": "-> /secret"}
	for _, tt := range []struct {
		name, path string
		within     []string
		want       string // a mount, or what the refusal says
	}{
		{"no layer above", "/data/out", nil, "r--- /secret/"},
		{"nothing leads out", "/data/in", []string{"/data"}, "r--- /data/in/"},
		{"a link leads out", "/data/out", []string{"/data"}, "/data/out points to /secret, but the layer above grants /data, which does not contain it"},
		{"below a link that leads out", "/data/out/s", []string{"/data"}, "points to /secret/s"},
		{"a link leads to what it holds as well", "/data/in/up", []string{"/data"}, "r--- /data/other/"},
		{"and out of a nearer layer", "/data/in/up", []string{"/data", "/data/in"}, "points to /data/other, but the layer above grants /data/in"},
		{"a layer above grants the link itself", "/data/out/s", []string{"/data/out"}, "r--- /secret/s"},
		{"but the one above that does not", "/data/out/s", []string{"/data", "/data/out"}, "points to /secret/s"},
		{"a layer above by another way", "/way/in", []string{"/way"}, "r--- /data/in/"},
		{"a place", "$WORKSPACE/src", []string{"$WORKSPACE"}, "r--- /ws/src/"},
		{"a link in a place", "$WORKSPACE/prod", []string{"$WORKSPACE"}, "points to /secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := rules(tt.path)
			rule[0].Within = tt.within
			for _, k := range []profiles.Kernel{{Read: rule}, {Write: rule}} {
				plan, err := resolve(t, files.build(t), k, "", rootfs.Places{Workspace: "/ws"})
				refused, mounted := strings.Contains(tt.want, "points to"), tt.want
				if k.Write != nil {
					mounted = strings.Replace(mounted, "r---", "-w--", 1)
				}
				var no *rootfs.Refusal
				switch {
				case refused && (!errors.As(err, &no) || !strings.Contains(no.Error(), tt.want) || no.Remedy == ""):
					t.Errorf("got %v", err)
				case !refused && err != nil:
					t.Error(err)
				case !refused:
					if got := show(plan.Mounts); !slices.Contains(got, mounted) {
						t.Errorf("got %q, want %q", got, mounted)
					}
				}
			}
		})
	}
}

// TestHelpersWithinLayers holds helpers to those of the layers above in the same way.
func TestHelpersWithinLayers(t *testing.T) {
	static := program + made{kind: 2}.text()
	files := tree{"/usr/bin/git": static, "/core/tool": static, "/core/git": "-> /usr/bin/git"}
	for _, tt := range []struct {
		name, path string
		within     []string
		want       string // what the refusal says; "": there is none
	}{
		{"no layer above", "/core/git", nil, ""},
		{"a file of the folder above", "/core/tool", []string{"/core"}, ""},
		{"a link leads out", "/core/git", []string{"/core"}, "/core/git points to /usr/bin/git, but the layer above grants /core, which does not contain it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := rules(tt.path)
			rule[0].Within = tt.within
			_, err := resolve(t, files.build(t), profiles.Kernel{Executor: "shell", Helpers: rule}, "", rootfs.Places{})
			var no *rootfs.Refusal
			if tt.want == "" && err != nil || tt.want != "" &&
				(!errors.As(err, &no) || !strings.Contains(no.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
