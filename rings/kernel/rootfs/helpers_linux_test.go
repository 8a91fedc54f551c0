package rootfs_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// TestHelpers: of a folder of helpers the programs start, with what they need; what
// else is there does not.
func TestHelpers(t *testing.T) {
	static := program + made{kind: 2}.text()
	root := usual(tree{
		"/usr/bin/git":        "= /core/git",
		"/core/git":           bin("libc.so.6"),
		"/core/git-add":       "-> git",
		"/core/git-remote":    "-> sub/deep",
		"/core/sub/deep":      static,
		"/core/git-sh":        program + "#!/bin/sh\n",
		"/core/git-py":        program + "#! /usr/bin/python3 -s\n",
		"/core/notes":         "text",
		"/core/bash":          static,
		"/core/python3.11":    static,
		"/core/ld-linux.so.2": program + lib("ld-linux.so.2"),
		"/core/libx.so":       program + lib("libx.so"),
		"/one/liby.so":        lib("liby.so"), "/core/sneaky": "-> /usr/bin/dash",
		"/core/out":     "-> /usr/bin/other",
		"/core/listed":  "-> /usr/bin/python3",
		"/core/broken":  bin("libgone.so"),
		"/core/text":    program + "hello\n",
		"/usr/bin/dash": static, "/usr/bin/other": static, "/usr/bin/python3": static, "/usr/bin/sh": static,
	}).build(t)
	k := profiles.Kernel{Executor: "shell", Path: true, Exec: rules("/usr/bin/python3", "/usr/bin/git"),
		Helpers: rules("/core", "/one/liby.so")}
	plan, err := resolve(t, root, k, "", rootfs.Places{Links: "/run/bin"})
	if err != nil {
		t.Fatal(err)
	}
	var starts, links []string
	if all := show(plan.Mounts); !slices.Contains(all, "r--m /core/libx.so") ||
		!slices.Contains(all, "r--m /one/liby.so") {
		t.Errorf("libraries are not loaded: %q", all)
	}
	for _, line := range show(plan.Mounts) {
		if strings.HasPrefix(line, "link /core") || strings.HasPrefix(line, "link /run") {
			links = append(links, line)
		}
		if strings.HasPrefix(line, "r-x") && !strings.Contains(line, "/ld-linux-x86") {
			starts = append(starts, line)
		}
	}
	if diff := cmp.Diff([]string{"r-xm /core/git", "r-x- /core/git-py", "r-xm /core/sub/deep", "r-xm /usr/bin/git",
		"r-xm /usr/bin/python3"}, starts); diff != "" {
		t.Errorf("what starts:\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"link /core/git-add -> git", "link /core/git-remote -> sub/deep", "link /core/listed -> /usr/bin/python3",
		"link /run/bin/git -> /usr/bin/git", "link /run/bin/python3 -> /usr/bin/python3",
	}, links); diff != "" {
		t.Errorf("links:\n%s", diff)
	}
	skipped := map[string]string{}
	for _, s := range plan.Skipped {
		skipped[s.Path] = s.Reason
	}
	for name, want := range map[string]string{
		"/core/git-sh": "is a script for /bin/sh, which is not granted", "/core/bash": "is an interpreter", "/core/python3.11": "is an interpreter",
		"/core/ld-linux.so.2": "is an interpreter", "/core/sneaky": "is an interpreter", "/core/out": "leads to /usr/bin/other",
		"/core/broken": "not installed", "/core/text": "neither an ELF program nor a script",
	} {
		if !strings.Contains(skipped[name], want) {
			t.Errorf("%s: %q, want %q", name, skipped[name], want)
		}
	}
	if diff := cmp.Diff(rules("/core", "/one/liby.so"), plan.Kernel.Helpers); diff != "" {
		t.Error(diff)
	}
	if !plan.Kernel.Within(k) {
		t.Error("the profile of the plan is not within its own")
	}
}

func TestHelperRefusals(t *testing.T) {
	static := program + made{kind: 2}.text()
	many := tree{"/core/": ""}
	for i := range 330 {
		many[fmt.Sprintf("/core/p%d", i)] = static
	}
	for _, tt := range []struct {
		name   string
		tree   tree
		chmod  map[string]uint32
		chown  map[string][2]int
		kernel profiles.Kernel
		want   string
	}{
		{"not there", nil, nil, nil, profiles.Kernel{Helpers: rules("/core")}, "/core is not there"},
		{"everyone may change the folder", tree{"/core/a": static}, map[string]uint32{"/core": 0o777}, nil, profiles.Kernel{Helpers: rules("/core")}, "/core everyone may change"},
		{"everyone may change one", tree{"/core/a": static}, map[string]uint32{"/core/a": 0o777}, nil, profiles.Kernel{Helpers: rules("/core")}, "/core everyone may change"},
		{"a guest may change the folder", tree{"/core/a": static}, nil, nil, profiles.Kernel{Helpers: rules("/core"), Write: rules("/core")}, "a guest may change it"},
		{"a guest may change what is in it", tree{"/core/a": static}, nil, nil, profiles.Kernel{Helpers: rules("/core/a"), Write: rules("/core")}, "a guest may change it"},
		{"a link into what a guest may change", tree{"/core": "-> /w/core", "/w/core/a": static}, nil, nil, profiles.Kernel{Helpers: rules("/core"), Write: rules("/w")}, "a guest may change it"},
		{"denied", tree{"/core/a": static}, nil, nil, profiles.Kernel{Helpers: rules("/core"), Deny: rules("/core")}, "is in a denied folder"},
		{"too many", many, nil, nil, profiles.Kernel{Helpers: rules("/core")}, "more than 320 programs"},
		{"a loader", usual(nil), nil, nil, profiles.Kernel{Helpers: rules("/lib64/ld-linux-x86-64.so.2")}, "starts what it is given"},
		{"a library that everyone may change", usual(tree{"/core/libx.so": lib("libx.so")}), map[string]uint32{"/core/libx.so": 0o666}, nil, profiles.Kernel{Helpers: rules("/core")}, "/core/libx.so, which everyone may change"},
		{"too deep", tree{"/core/1/2/3/4/5/a": static}, nil, nil, profiles.Kernel{Helpers: rules("/core")}, "folders deeper than 4"},
		{"a helper that is a script for a shell", tree{"/h": program + "#!/bin/sh\n", "/bin/sh": static}, nil, nil, profiles.Kernel{Helpers: rules("/h"), Path: true}, "read by ringd and never started"},
		{"a group may change it", tree{"/t": static}, map[string]uint32{"/t": 0o775}, map[string][2]int{"/t": {1000, 50}}, profiles.Kernel{Exec: rules("/t")}, "everyone in group 50 may change"},
		{"the folder of links", tree{"/run/bin/": ""}, nil, nil, profiles.Kernel{Read: rules("/run")}, "where a guest has the links"},
		{"in the folder of links", tree{"/run/bin/x/": ""}, nil, nil, profiles.Kernel{Write: rules("/run/bin/x")}, "where a guest has the links"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tt.tree.build(t)
			for name, own := range tt.chown {
				if err := os.Chown(root+name, own[0], own[1]); err != nil {
					t.Skip(err)
				}
			}
			for name, mode := range tt.chmod {
				if err := syscall.Chmod(root+name, mode); err != nil {
					t.Fatal(err)
				}
			}
			plan, err := resolve(t, root, tt.kernel, "", rootfs.Places{Links: "/run/bin"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "policy.cue:1") {
				t.Errorf("%v, want %q; %q", err, tt.want, show(plan.Mounts))
			}
		})
	}
}

// TestGroups: a group of one, and that of root, are no others.
func TestGroups(t *testing.T) {
	root := tree{"/t": program + made{kind: 2}.text()}.build(t)
	for _, own := range [][2]int{{1000, 1000}, {1000, 0}} {
		if err := os.Chown(root+"/t", own[0], own[1]); err != nil {
			t.Skip(err)
		}
		if err := os.Chmod(root+"/t", 0o775); err != nil {
			t.Fatal(err)
		}
		if _, err := resolve(t, root, profiles.Kernel{Exec: rules("/t")}, "", rootfs.Places{}); err != nil {
			t.Errorf("%v: %v", own, err)
		}
	}
}

// TestNames: the first of a name wins, a helper has none, and a program that is
// started once stands nowhere.
func TestNames(t *testing.T) {
	static := program + made{kind: 2}.text()
	root := tree{"/a/git": static, "/b/git": static, "/a/tool1": static, "/b/tool": "-> ../a/tool1", "/h": static,
		"/own": static}.build(t)
	k := profiles.Kernel{Path: true, Exec: rules("/b/git", "/a/git", "/b/tool"), Helpers: rules("/h")}
	for _, tt := range []struct {
		name    string
		path    bool
		program string
		want    []string
	}{
		{"links", true, "/own", []string{"r-xm /a/git", "r-xm /a/tool1", "r-xm /b/git", "link /b/tool -> ../a/tool1", "r-xm /h", "r-xm /own once",
			"link /run/bin/git -> /b/git", "link /run/bin/tool -> /a/tool1"}},
		{"its own program is listed", true, "/a/git", []string{"r-xm /a/git", "r-xm /a/tool1", "r-xm /b/git", "link /b/tool -> ../a/tool1", "r-xm /h",
			"link /run/bin/git -> /b/git", "link /run/bin/tool -> /a/tool1"}},
		{"none", false, "/own", []string{"r-xm /a/git", "r-xm /a/tool1", "r-xm /b/git", "link /b/tool -> ../a/tool1", "r-xm /h", "r-xm /own"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k.Path = tt.path
			plan, err := resolve(t, root, k, tt.program, rootfs.Places{Links: "/run/bin"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(plan.Mounts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
