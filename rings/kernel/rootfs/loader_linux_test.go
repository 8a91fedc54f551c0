package rootfs_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// TestLoaderFinds holds the order in which a loader looks for libraries.
func TestLoaderFinds(t *testing.T) {
	const multi = "/usr/lib/x86_64-linux-gnu/"
	x := lib("libx.so")
	for _, tt := range []struct {
		name string
		tree tree
		prog made
		want []string // mounts without loader and libc
	}{
		{"the default folder", tree{multi + "libx.so": x}, made{needed: []string{"libx.so"}}, []string{"r--m " + multi + "libx.so"}},
		{"what a library needs, and that again", tree{multi + "libx.so": lib("libx.so", "liby.so"), multi + "liby.so": lib("liby.so", "libz.so"), multi + "libz.so": lib("libz.so", "libx.so")},
			made{needed: []string{"libx.so"}}, []string{"r--m " + multi + "libx.so", "r--m " + multi + "liby.so",
				"r--m " + multi + "libz.so"}},
		{"a soname that is a link", tree{multi + "libx.so.1": "-> libx.so.1.2", multi + "libx.so.1.2": x}, made{needed: []string{"libx.so.1"}},
			[]string{"link " + multi + "libx.so.1 -> libx.so.1.2", "r--m " + multi + "libx.so.1.2"}},
		{"RUNPATH before the default", tree{"/opt/libx.so": x, multi + "libx.so": x}, made{needed: []string{"libx.so"}, runpath: "/none:/opt"}, []string{"r--m /opt/libx.so"}},
		{"RPATH of the program for a library's library", tree{"/opt/libx.so": lib("libx.so", "liby.so"), "/opt/liby.so": x},
			made{needed: []string{"libx.so"}, rpath: "/opt"}, []string{"r--m /opt/libx.so", "r--m /opt/liby.so"}},
		{"RUNPATH is for its own object alone", tree{"/opt/libx.so": lib("libx.so", "liby.so"), "/opt/liby.so": x, multi + "liby.so": x},
			made{needed: []string{"libx.so"}, runpath: "/opt"},
			[]string{"r--m /opt/libx.so", "r--m " + multi + "liby.so"}},
		{"RUNPATH takes RPATH away", tree{"/opt/libx.so": x, multi + "libx.so": x}, made{needed: []string{"libx.so"}, rpath: "/opt", runpath: "/none"}, []string{"r--m " + multi + "libx.so"}},
		{"RUNPATH of a library takes the program's RPATH away", tree{"/opt/libx.so": made{soname: "libx.so", needed: []string{"liby.so"}, runpath: "/none"}.text(), "/opt/liby.so": x, multi + "liby.so": x},
			made{needed: []string{"libx.so"}, rpath: "/opt"},
			[]string{"r--m /opt/libx.so", "r--m " + multi + "liby.so"}},
		{"$ORIGIN", tree{"/app/lib/libx.so": x}, made{needed: []string{"libx.so"}, runpath: "$ORIGIN/../lib"}, []string{"r--m /app/lib/libx.so"}},
		{"${ORIGIN} of a library", tree{"/app/lib/libx.so": made{soname: "libx.so", needed: []string{"liby.so"}, runpath: "${ORIGIN}/more"}.text(), "/app/lib/more/liby.so": x},
			made{needed: []string{"libx.so"}, runpath: "/app/lib"},
			[]string{"r--m /app/lib/libx.so", "r--m /app/lib/more/liby.so"}},
		{"$LIB and $PLATFORM", tree{"/opt/lib64/x86_64/libx.so": x}, made{needed: []string{"libx.so"}, runpath: "/opt/$LIB/$PLATFORM"}, []string{"r--m /opt/lib64/x86_64/libx.so"}},
		{"a library of another machine is passed over", tree{"/opt/libx.so": made{machine: elf.EM_AARCH64}.text(), multi + "libx.so": x}, made{needed: []string{"libx.so"}, runpath: "/opt"},
			[]string{"r--m " + multi + "libx.so"}},
		{"so is what is no library", tree{"/opt/libx.so": "GROUP ( libc.so.6 )", multi + "libx.so": x}, made{needed: []string{"libx.so"}, runpath: "/opt"},
			[]string{"r--m " + multi + "libx.so"}},
		{"a folder of ld.so.conf, and the cache with it", tree{"/usr/local/lib/libx.so": x, multi + "libx.so": x}, made{needed: []string{"libx.so"}},
			[]string{"r--- /etc/ld.so.cache", "r--m /usr/local/lib/libx.so"}},
		{"a whole path", tree{"/opt/libx.so": x}, made{needed: []string{"/opt/libx.so"}}, []string{"r--m /opt/libx.so"}},
		{"a relative RUNPATH counts for nothing", tree{multi + "libx.so": x, "/opt/libx.so": x}, made{needed: []string{"libx.so"}, runpath: ":opt:."}, []string{"r--m " + multi + "libx.so"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.prog.interp = loaderPath
			tt.tree["/app/bin/tool"] = program + tt.prog.text()
			plan, err := resolve(t, usual(tt.tree).build(t), profiles.Kernel{Exec: rules("/app/bin/tool")}, "",
				rootfs.Places{})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(show(plan.Mounts), func(s string) bool {
				return slices.Contains(loaderAndLibc, s) || s == "r-xm /app/bin/tool"
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMusl(t *testing.T) {
	root := tree{
		"/lib/ld-musl-x86_64.so.1":    program + lib(""),
		"/etc/ld-musl-x86_64.path":    "/opt/musl\n/usr/lib",
		"/opt/musl/libx.so":           lib("libx.so", "libc.musl-x86_64.so.1", "libc.so"),
		"/usr/lib/ext/one.so":         lib("", "liby.so"),
		"/usr/lib/liby.so":            lib("liby.so"),
		"/lib/x86_64-linux-gnu/x.txt": "",
		"/t":                          program + made{interp: "/lib/ld-musl-x86_64.so.1", needed: []string{"libx.so", "libc.musl-x86_64.so.1"}}.text(),
	}.build(t)
	plan, err := resolve(t, root, profiles.Kernel{Exec: rules("/t"), Libraries: rules("/usr/lib/ext")}, "",
		rootfs.Places{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"r-xm /lib/ld-musl-x86_64.so.1", "r--m /opt/musl/libx.so", "r-xm /t", "r--m /usr/lib/ext/one.so",
		"r--m /usr/lib/liby.so"}
	if diff := cmp.Diff(want, show(plan.Mounts)); diff != "" {
		t.Error(diff)
	}
}

// TestLibraries holds what of a granted folder becomes code: shared objects, and
// no program that lies among them.
func TestLibraries(t *testing.T) {
	root := usual(tree{
		"/py/mod.py":           "print(1)",
		"/py/_json.so":         made{needed: []string{"libc.so.6"}}.text(),
		"/py/deep/_ssl.so":     lib("", "libssl.so.3"),
		"/py/_tk.so":           lib("", "libtk.so"), // not installed
		"/py/evil":             program + made{interp: loaderPath, needed: []string{"libc.so.6"}, pie: true}.text(),
		"/py/evil2":            program + made{interp: loaderPath, needed: []string{"libc.so.6"}}.text(),
		"/py/evil3":            program + made{kind: elf.ET_EXEC}.text(),
		"/py/evil4":            program + "#!/bin/sh\n",
		"/py/foreign.so":       made{machine: elf.EM_AARCH64}.text(),
		"/py/torn.so":          "\x7fELF",
		"/py/out.so":           "-> /elsewhere/x.so",
		"/py/dir":              "-> /elsewhere",
		"/py/same.so":          "-> _json.so",
		"/elsewhere/x.so":      lib("x"),
		"/usr/lib/libssl.so.3": lib("libssl.so.3"),
		"/usr/bin/python":      bin("libc.so.6"),
	}).build(t)
	for _, tt := range []struct {
		name   string
		kernel profiles.Kernel
		want   []string
	}{
		{"a folder", profiles.Kernel{Libraries: rules("/py")}, []string{
			"r--m /py/_json.so", "r--m /py/deep/_ssl.so", "link /py/same.so -> _json.so", "r--m /usr/lib/libssl.so.3"}},
		{"a folder that may be read", profiles.Kernel{Read: rules("/py"), Libraries: rules("/py/deep")}, []string{
			"r--- /py/", "r--m /py/deep/_ssl.so", "r--m /usr/lib/libssl.so.3"}},
		{"one library", profiles.Kernel{Libraries: rules("/elsewhere/x.so")}, []string{"r--m /elsewhere/x.so"}},
		{"a denied folder inside", profiles.Kernel{Libraries: rules("/py"), Deny: rules("/py/deep")}, []string{
			"r--m /py/_json.so", "link /py/same.so -> _json.so"}},
		{"a denied closure", profiles.Kernel{Libraries: rules("/py/deep"), Deny: rules("/usr/lib/libssl.so.3")}, nil},
		{"a folder inside that the guest writes into", profiles.Kernel{Libraries: rules("/py"), Write: rules("/py/deep")}, []string{
			"r--m /py/_json.so", "-w-- /py/deep/", "link /py/same.so -> _json.so"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := resolve(t, root, tt.kernel, "", rootfs.Places{})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(show(plan.Mounts), func(s string) bool {
				// libc needs it: loaded, not started
				return slices.Contains(loaderAndLibc, s) || strings.HasSuffix(s, "/ld-linux-x86-64.so.2")
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLibrariesAreBounded(t *testing.T) {
	many := tree{}
	for i := range 600 {
		many[fmt.Sprintf("/many/%d.so", i)] = lib("")
	}
	many["/deep/"+strings.Repeat("d/", 20)+"x.so"] = lib("")
	root := many.build(t)
	for folder, want := range map[string]string{"/many": "holds more than 512 libraries",
		"/deep": "folders deeper than 16"} {
		_, err := resolve(t, root, profiles.Kernel{Libraries: rules(folder)}, "", rootfs.Places{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	files := tree{}
	for i := range 1100 {
		files[fmt.Sprintf("/f/%d", i)] = ""
	}
	root = files.build(t)
	var all []string
	for name := range files {
		all = append(all, name)
	}
	if _, err := resolve(t, root, profiles.Kernel{Read: rules(all...)}, "", rootfs.Places{}); err == nil ||
		!strings.Contains(err.Error(), "takes 1100 mounts") {
		t.Errorf("1100 mounts: %v", err)
	}
}

// TestClosureIsWhatTheLoaderLoads compares plans of this host's programs with
// what its loader says.
func TestClosureIsWhatTheLoaderLoads(t *testing.T) {
	programs := []string{"/bin/bash", "/bin/sh", "/usr/bin/git", "/usr/bin/python3", "/usr/bin/jq", "/usr/bin/node",
		"/usr/bin/true", "/usr/bin/ssh", "/usr/bin/curl", "/usr/bin/gcc", "/usr/bin/perl"}
	for _, name := range []string{"git", "python3", "node", "cargo", "rustc"} {
		if found, err := exec.LookPath(name); err == nil && !slices.Contains(programs, found) {
			programs = append(programs, found)
		}
	}
	helpers, err := filepath.Glob("/usr/lib/git-core/git*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range helpers {
		if to, err := filepath.EvalSymlinks(p); err == nil && !slices.Contains(programs, to) && isELF(to) {
			programs = append(programs, to)
		}
	}
	compared := 0
	for _, name := range programs {
		if to, err := filepath.EvalSymlinks(name); err != nil || !isELF(to) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "ldd", name).CombinedOutput()
			if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
				t.Skipf("ldd: %v: %s", err, out)
			}
			real, err := filepath.EvalSymlinks(name)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{real}
			for _, m := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
				to, err := filepath.EvalSymlinks(m[1])
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, to)
			}
			plan, err := rootfs.Resolve(profiles.Kernel{Exec: rules(name)}, "", rootfs.Places{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range plan.Mounts {
				if m.Link == "" && (m.Map || m.Exec) {
					got = append(got, m.Path)
				}
				if m.Dir {
					t.Errorf("%s: a folder", m.Path)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
				t.Error(diff)
			}
			compared++
		})
	}
	if compared < 3 {
		t.Errorf("only %d programs were compared", compared)
	}
}

func isELF(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [4]byte
	_, err = f.Read(b[:])
	return err == nil && string(b[:]) == elf.ELFMAG
}

// TestThisProgram resolves the test itself, by the name a process has for its own
// file.
func TestThisProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		t.Fatal(err)
	}
	plan, err := rootfs.Resolve(profiles.Kernel{}, "/proc/self/exe", rootfs.Places{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Program != exe || !slices.Contains(show(plan.Mounts), "r-xm "+exe) {
		t.Errorf("program %q, mounts %q, want %q", plan.Program, show(plan.Mounts), exe)
	}
}
