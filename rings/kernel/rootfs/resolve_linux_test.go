package rootfs_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// The loader and libc of a usual host, as they stand in every plan of a dynamic
// program.
var loaderAndLibc = []string{
	"link /lib -> usr/lib",
	"link /lib64 -> usr/lib64",
	"r-xm /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"r--m /usr/lib/x86_64-linux-gnu/libc.so.6",
	"link /usr/lib64/ld-linux-x86-64.so.2 -> /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
}

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tree    tree
		kernel  profiles.Kernel
		program string
		at      rootfs.Places
		want    []string
	}{
		{name: "nothing is granted", tree: usual(nil)},
		{name: "a program of itself", tree: tree{"/app/tool": program + made{kind: 2}.text()}, program: "/app/tool",
			want: []string{"r-xm /app/tool"}},
		{name: "a dynamic program, found through links", tree: usual(tree{"/usr/bin/sh": "-> dash", "/usr/bin/dash": bin("libc.so.6")}),
			kernel: profiles.Kernel{Exec: rules("/bin/sh")},
			want: append([]string{"link /bin -> usr/bin", "link /lib -> usr/lib", "link /lib64 -> usr/lib64",
				"r-xm /usr/bin/dash", "link /usr/bin/sh -> dash"}, loaderAndLibc[2:]...)},
		{name: "folders and files", tree: tree{"/data/a": "1", "/out/": "", "/etc/hosts": "x"},
			kernel: profiles.Kernel{Read: rules("/data", "/etc/hosts"), Write: rules("/out")},
			want:   []string{"r--- /data/", "r--- /etc/hosts", "-w-- /out/"}},
		{name: "a path inside of a granted folder needs no mount", tree: tree{"/data/a/b": "1", "/data/f": "2"},
			kernel: profiles.Kernel{Read: rules("/data", "/data/a", "/data/f", "/data/a/b")},
			want:   []string{"r--- /data/"}},
		{name: "write inside of read", tree: tree{"/data/out/x": ""},
			kernel: profiles.Kernel{Read: rules("/data"), Write: rules("/data/out")},
			want:   []string{"r--- /data/", "rw-- /data/out/"}},
		{name: "read inside of write: the folders between cannot be swapped", tree: tree{"/data/a/b/in/x": ""},
			kernel: profiles.Kernel{Read: rules("/data/a/b/in"), Write: rules("/data")},
			want:   []string{"-w-- /data/", "-w-- /data/a/", "-w-- /data/a/b/", "rw-- /data/a/b/in/"}},
		{name: "a denied folder and file are hidden", tree: tree{"/data/secret/key": "", "/data/.env": "", "/other/x": ""},
			kernel: profiles.Kernel{Read: rules("/data"), Deny: rules(
				"/data/secret", "/data/.env", "/other", "/nowhere")},
			want: []string{"r--- /data/", "hide /data/.env", "hide /data/secret/"}},
		{name: "a denial where the guest writes: its folders stay where they are", tree: tree{"/w/a/b/secret/key": ""},
			kernel: profiles.Kernel{Read: rules("/w"), Write: rules("/w"), Deny: rules("/w/a/b/secret")},
			want:   []string{"rw-- /w/", "rw-- /w/a/", "rw-- /w/a/b/", "hide /w/a/b/secret/"}},
		{name: "a denial wins over what is inside of it", tree: tree{"/data/secret/public/x": ""},
			kernel: profiles.Kernel{Read: rules("/data", "/data/secret/public"), Write: rules("/data/secret"),
				Deny: rules("/data/secret")},
			want: []string{"r--- /data/", "hide /data/secret/"}},
		{name: "a denial inside of a denial", tree: tree{"/data/secret/deep/x": ""},
			kernel: profiles.Kernel{Read: rules("/data"), Deny: rules("/data/secret/deep", "/data/secret")},
			want:   []string{"r--- /data/", "hide /data/secret/"}},
		{name: "a denial over a grant leaves nothing", tree: tree{"/data/x": ""},
			kernel: profiles.Kernel{Read: rules("/data/x"), Deny: rules("/data")}},
		{name: "a denied link hides what it leads to", tree: tree{"/data/key": "-> real", "/data/real": ""},
			kernel: profiles.Kernel{Read: rules("/data"), Deny: rules("/data/key")},
			want:   []string{"r--- /data/", "hide /data/real"}},
		{name: "a denial by another way", tree: tree{"/data/secret/": "", "/alias": "-> data"},
			kernel: profiles.Kernel{Read: rules("/data"), Deny: rules("/alias/secret")},
			want:   []string{"r--- /data/", "hide /data/secret/"}},
		{name: "places", tree: tree{"/home/u/notes/a": "", "/ws/src/a": ""}, at: rootfs.Places{Home: "/home/u", Workspace: "/ws"},
			kernel: profiles.Kernel{Read: rules("~/notes", "$WORKSPACE"), Write: rules("$WORKSPACE/src")},
			want:   []string{"r--- /home/u/notes/", "r--- /ws/", "rw-- /ws/src/"}},
		{name: "a granted link leads where it leads now", tree: tree{"/var/run": "-> /run", "/run/data/x": "", "/way": "-> a/../run/data", "/a/": ""},
			kernel: profiles.Kernel{Read: rules("/var/run/data", "/way")},
			want:   []string{"r--- /run/data/", "link /var/run -> /run", "link /way -> /run/data"}},
		{name: "links inside of a granted folder are there", tree: tree{"/data/now": "-> v1", "/data/v1/x": ""},
			kernel: profiles.Kernel{Read: rules("/data", "/data/now/x")}, want: []string{"r--- /data/"}},
		{name: "a program inside of a readable folder", tree: usual(tree{"/usr/bin/jq": bin("libc.so.6")}),
			kernel: profiles.Kernel{Read: rules("/usr", "/lib"), Exec: rules("/usr/bin/jq")},
			want: []string{"link /bin -> usr/bin", "link /lib -> usr/lib", "link /lib64 -> usr/lib64", "r--- /usr/",
				"r-xm /usr/bin/jq",
				"r-xm /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "r--m /usr/lib/x86_64-linux-gnu/libc.so.6"}},
		{name: "what the executor adds is read", tree: tree{"/cache/x": "", "/home/u/.ringd/a": ""},
			at:   rootfs.Places{Own: rules("/cache"), Private: []string{"/cache", "/home/u/.ringd", "/run/absent"}},
			want: []string{"r--- /cache/"}},
		{name: "what the executor lets its guest write, in a folder of the daemon", tree: tree{"/cache/fill/room/": "", "/cache/x": "", "/home/u/a": ""},
			at:     rootfs.Places{Room: "/cache/fill/room", Private: []string{"/cache"}},
			kernel: profiles.Kernel{Write: rules("/home/u")},
			want:   []string{"rw-- /cache/fill/room/", "-w-- /home/u/"}},
		{name: "no denial reaches what the executor adds", tree: tree{"/home/u/cache/x": ""}, at: rootfs.Places{Own: rules("/home/u/cache")},
			kernel: profiles.Kernel{Read: rules("/home/u/cache/x"), Deny: rules("/home/u")},
			want:   []string{"r--- /home/u/cache/"}},
		{name: "a folder of code, with what its objects need elsewhere and is there", tree: usual(tree{
			"/py/numpy/core/_a.cpython-311.so": made{needed: []string{"libblas.so.3", "libc.so.6", "libown.so"}, runpath: "$ORIGIN/../../numpy.libs"}.text(),
			"/py/numpy/__init__.py":            "", "/py/numpy/core/out.so": "-> /opt/out.so", "/opt/out.so": lib("out.so", "libz.so"),
			"/py/numpy.libs/libown.so": lib("libown.so", "libgfortran.so.5"), "/py/numpy/_b.so": lib("", "libgone.so"), "/py/numpy/text.so": "no object",
			"/usr/lib/libblas.so.3": "-> blas/libblas.so.3.1", "/usr/lib/blas/libblas.so.3.1": lib("libblas.so.3"), "/usr/lib/libgfortran.so.5": lib("libgfortran.so.5"), "/usr/lib/libz.so": lib("libz.so"),
		}), at: rootfs.Places{Own: rules("/py/numpy/__init__.py"), Code: rules("/py/numpy", "/py/numpy.libs")},
			want: []string{"link /lib -> usr/lib", "r--m /py/numpy/", "r--m /py/numpy.libs/",
				"r--m /usr/lib/blas/libblas.so.3.1", "link /usr/lib/libblas.so.3 -> blas/libblas.so.3.1", "r--m /usr/lib/libgfortran.so.5",
				"r--m /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "r--m /usr/lib/x86_64-linux-gnu/libc.so.6"}},
		{name: "what is read around code is not loaded", tree: tree{"/lib/py/lib-dynload/a.so": lib(""), "/lib/py/json/x": ""},
			at:   rootfs.Places{Own: rules("/lib/py"), Code: rules("/lib/py/lib-dynload")},
			want: []string{"r--- /lib/py/", "r--m /lib/py/lib-dynload/"}},
		{name: "a file of code, in a folder of the daemon", tree: tree{"/cache/one.so": lib("")},
			at:   rootfs.Places{Code: rules("/cache/one.so"), Private: []string{"/cache"}},
			want: []string{"r--m /cache/one.so"}},
		{name: "what is denied in a folder of code is hidden", tree: tree{"/py/requests/a.so": lib("", "libgone.so"), "/py/x.so": lib("")},
			kernel: profiles.Kernel{Deny: rules("/py/requests")}, at: rootfs.Places{Code: rules("/py")},
			want: []string{"r--m /py/", "hide /py/requests/"}},
		{name: "what a policy grants in a folder of code is loaded all the same", tree: tree{"/py/numpy/a.so": lib("")},
			kernel: profiles.Kernel{Read: rules("/py/numpy")}, at: rootfs.Places{Code: rules("/py")},
			want: []string{"r--m /py/"}},
		{name: "a program that loads code stands nowhere", tree: tree{"/bin/tool": program + made{kind: 2}.text(), "/py/": ""}, program: "/bin/tool",
			at: rootfs.Places{Code: rules("/py")}, want: []string{"r-xm /bin/tool once", "r--m /py/"}},
		{name: "a folder of which a guest has two files, and may list them", tree: tree{"/py/a/x": "", "/py/b.py": "", "/py/c.py": "", "/all/in/x": ""},
			at:   rootfs.Places{Own: rules("/py/a", "/py/b.py", "/all"), List: rules("/py", "/all/in")},
			want: []string{"r--- /all/", "list /py/", "r--- /py/a/", "r--- /py/b.py"}},
		{name: "a denial below a file", tree: tree{"/f": ""}, kernel: profiles.Kernel{Read: rules("/f"), Deny: rules("/f/x")}, want: []string{"r--- /f"}},
		{name: "the daemon's own is hidden in what is granted", tree: tree{"/home/u/.ringd/a": "", "/home/u/notes": ""},
			at:     rootfs.Places{Private: []string{"/home/u/.ringd"}},
			kernel: profiles.Kernel{Read: rules("/home/u")}, want: []string{"r--- /home/u/", "hide /home/u/.ringd/"}},
		{name: "the program may lie where the guest writes, and stays there", tree: tree{"/ws/bin/tool": program + made{kind: 2}.text()},
			kernel: profiles.Kernel{Write: rules("/ws")}, program: "/ws/bin/tool",
			want: []string{"-w-- /ws/", "-w-- /ws/bin/", "r-xm /ws/bin/tool"}},
		{name: "a script with its interpreter", tree: usual(tree{"/usr/bin/run": program + "#! /bin/sh -e\nls\n", "/usr/bin/sh": bin("libc.so.6")}),
			kernel: profiles.Kernel{Exec: rules("/usr/bin/run", "/usr/bin/sh")},
			want: append([]string{"link /bin -> usr/bin", "link /lib -> usr/lib", "link /lib64 -> usr/lib64",
				"r-x- /usr/bin/run",
				"r-xm /usr/bin/sh"}, loaderAndLibc[2:]...)},
		{name: "a folder of /tmp beside the guest's own", tree: tree{"/tmp/ws/x": ""}, kernel: profiles.Kernel{Read: rules("/tmp/ws"), TempBytes: 1},
			want: []string{"r--- /tmp/ws/"}},
		{name: "kernel file systems that are denied", tree: tree{"/srv/root/proc/": "", "/srv/root/etc/x": ""},
			at: rootfs.Places{Mounts: []byte("1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 0:5 / /srv/root/proc rw " +
				"shared:1 - proc proc rw\n")},
			kernel: profiles.Kernel{Read: rules("/srv/root"), Deny: rules("/srv/root/proc")},
			want:   []string{"r--- /srv/root/", "hide /srv/root/proc/"}},
		{name: "a file system over a kernel's", tree: tree{"/mnt/x": ""},
			at: rootfs.Places{Mounts: []byte("1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 0:5 / /mnt rw - proc proc rw\n" +
				"3 2 0:6 / /mnt rw - tmpfs t rw\n")},
			kernel: profiles.Kernel{Read: rules("/mnt")}, want: []string{"r--- /mnt/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := resolve(t, tt.tree.build(t), tt.kernel, tt.program, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(plan.Mounts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	static := program + made{kind: 2}.text()
	mounts := "1 0 8:1 / / rw - ext4 /dev/x rw\n"
	for _, tt := range []struct {
		name    string
		tree    tree
		mode    map[string]os.FileMode
		kernel  profiles.Kernel
		program string
		at      rootfs.Places
		line    int      // of the rule; 0: the daemon's own
		want    []string // in the error
	}{
		{name: "no workspace", kernel: profiles.Kernel{Read: rules("$WORKSPACE/a")}, line: 10, want: []string{"$WORKSPACE/a is not set: this host names no workspace (policy.cue:10: filesystem); use the whole path of the folder"}},
		{name: "no home", kernel: profiles.Kernel{Deny: rules("~/.ssh")}, line: 10, want: []string{"~/.ssh is not set"}},
		{name: "a relative place", at: rootfs.Places{Home: "home"}, kernel: profiles.Kernel{Read: rules("~")}, line: 10, want: []string{"is not set"}},
		{name: "a relative path", kernel: profiles.Kernel{Read: rules("data")}, line: 10, want: []string{"no absolute, clean path"}},
		{name: "a path that climbs", kernel: profiles.Kernel{Read: rules("/data/../etc")}, line: 10, want: []string{"no absolute, clean path"}},
		{name: "missing", tree: tree{"/a/": ""}, kernel: profiles.Kernel{Read: rules("/a", "/a/b")}, line: 11, want: []string{"/a/b is not there", "make it (mkdir -p /a/b), or remove the line from the policy"}},
		{name: "a link to nothing", tree: tree{"/a": "-> /gone"}, kernel: profiles.Kernel{Write: rules("/a")}, line: 10, want: []string{"/a is not there: /gone"}},
		{name: "a file on the way", tree: tree{"/a": "x"}, kernel: profiles.Kernel{Read: rules("/a/b")}, line: 10, want: []string{"is not there"}},
		{name: "links in a circle", tree: tree{"/a": "-> b", "/b": "-> a"}, kernel: profiles.Kernel{Read: rules("/a")}, line: 10, want: []string{"too many links"}},
		{name: "everything", kernel: profiles.Kernel{Read: rules("/")}, line: 10, want: []string{"is every file"}},
		{name: "everything through a link", tree: tree{"/all": "-> ."}, kernel: profiles.Kernel{Read: rules("/all")}, line: 10, want: []string{"is every file"}},
		{name: "/proc", tree: tree{"/proc/1/": ""}, kernel: profiles.Kernel{Read: rules("/proc/1")}, line: 10, want: []string{"a guest has a /proc with its own"}},
		{name: "/sys", tree: tree{"/sys/fs/": ""}, kernel: profiles.Kernel{Write: rules("/sys/fs")}, line: 10, want: []string{"no /sys"}},
		{name: "/dev", tree: tree{"/dev/null": ""}, kernel: profiles.Kernel{Read: rules("/dev/null")}, line: 10, want: []string{"holds devices"}},
		{name: "/proc through a link", tree: tree{"/proc/1/": "", "/me": "-> proc/1"}, kernel: profiles.Kernel{Read: rules("/me")}, line: 10, want: []string{"a guest has a /proc with its own"}},
		{name: "a proc elsewhere", tree: tree{"/mnt/p/1/": ""}, at: rootfs.Places{Mounts: []byte(mounts + "2 1 0:5 / /mnt/p rw - proc proc rw\n")},
			kernel: profiles.Kernel{Read: rules("/mnt/p/1")}, line: 10, want: []string{"lies in a proc"}},
		{name: "a proc below", tree: tree{"/srv/my root/proc/": ""}, at: rootfs.Places{Mounts: []byte(mounts + `2 1 0:5 / /srv/my\040root/proc rw - proc proc rw` + "\n")},
			kernel: profiles.Kernel{Read: rules("/srv")}, line: 10,
			want: []string{"holds /srv/my root/proc, where a proc is mounted"}},
		{name: "the host's /tmp", tree: tree{"/tmp/": ""}, kernel: profiles.Kernel{Read: rules("/tmp"), TempBytes: 1}, line: 10, want: []string{"a guest has a separate /tmp"}},
		{name: "a socket", tree: tree{"/run/docker.sock": "socket"}, kernel: profiles.Kernel{Write: rules("/run/docker.sock")}, line: 10, want: []string{"is a socket: only files and folders"}},
		{name: "a pipe", tree: tree{"/run/initctl": "fifo"}, kernel: profiles.Kernel{Write: rules("/run/initctl")}, line: 10, want: []string{"is a pipe"}},
		{name: "the daemon's state", tree: tree{"/var/lib/ringd/store": ""}, at: rootfs.Places{Private: []string{"/var/lib/ringd"}},
			kernel: profiles.Kernel{Read: rules("/var/lib/ringd/store")}, line: 10,
			want: []string{"belongs to the daemon"}},
		{name: "the daemon's state by another way", tree: tree{"/var/lib/ringd/store": "", "/s": "-> var/lib/ringd"}, at: rootfs.Places{Private: []string{"/var/lib/ringd"}},
			kernel: profiles.Kernel{Write: rules("/s")}, line: 10, want: []string{"belongs to the daemon"}},
		{name: "what the executor lets its guest write is no policy's", tree: tree{"/cache/fill/room/": ""},
			at:     rootfs.Places{Room: "/cache/fill/room", Private: []string{"/cache"}},
			kernel: profiles.Kernel{Write: rules("/cache/fill/room")}, line: 10,
			want: []string{"belongs to the daemon"}},
		{name: "a folder of the daemon that a guest could make", tree: tree{"/w/": ""}, at: rootfs.Places{Private: []string{"/w/sync"}},
			kernel: profiles.Kernel{Write: rules("/w")}, want: []string{
				"/w/sync belongs to the daemon but does not exist yet"}},
		{name: "a denial that hides nothing yet", tree: tree{"/w/": ""}, kernel: profiles.Kernel{Write: rules("/w"), Deny: rules("/w/.git/hooks")},
			line: 10, want: []string{"/w/.git/hooks is denied but does not exist yet", "touch /w/.git/hooks for a file",
				"grant less than /w"}},
		{name: "and one that no shell takes as it stands", tree: tree{"/w/": ""}, kernel: profiles.Kernel{Write: rules("/w"), Deny: rules("/w/a b;c")},
			line: 10, want: []string{"make it, so that it can be hidden"}},
		{name: "likewise where it is only read", tree: tree{"/r/": ""}, kernel: profiles.Kernel{Read: rules("/r"), Deny: rules("/r/.env")},
			line: 10, want: []string{"/r/.env is denied but does not exist yet"}},
		{name: "a denial through a link of the guest", tree: tree{"/w/now": "-> v1", "/w/v1/secret": ""},
			kernel: profiles.Kernel{Write: rules("/w"), Deny: rules("/w/now/secret")}, line: 10,
			want: []string{"leads through the link /w/now, which a guest may change", "/w/v1/secret"}},
		{name: "a denial that such a link leads out of the grant", tree: tree{"/w/now": "-> /elsewhere", "/elsewhere/secret": "", "/w/v1/secret": ""},
			kernel: profiles.Kernel{Write: rules("/w"), Deny: rules("/w/now/secret")}, line: 10,
			want: []string{"which a guest may change"}},
		{name: "a grant through a link of the guest", tree: tree{"/w/data": "-> /etc", "/etc/shadow": ""},
			kernel: profiles.Kernel{Write: rules("/w"), Read: rules("/w/data/shadow")}, line: 10,
			want: []string{"which a guest may change"}},
		{name: "a program through a link of the guest", tree: tree{"/w/tool": "-> /opt/tool", "/opt/tool": static},
			kernel: profiles.Kernel{Write: rules("/w"), Exec: rules("/w/tool")}, line: 10,
			want: []string{"which a guest may change"}},
		{name: "a grant through a link of another agent's guest", tree: tree{"/w/data": "-> /etc", "/etc/shadow": ""}, at: rootfs.Places{Written: []string{"/w"}},
			kernel: profiles.Kernel{Read: rules("/w/data/shadow")}, line: 10,
			want: []string{"leads through the link /w/data, which a guest may change"}},
		{name: "a program that another agent's guest may change", tree: tree{"/w/t": static}, at: rootfs.Places{Written: []string{"/w"}},
			kernel: profiles.Kernel{Exec: rules("/w/t")}, line: 10, want: []string{"a guest may change it"}},
		{name: "libraries that another agent's guest may change", tree: tree{"/w/lib/": ""}, at: rootfs.Places{Written: []string{"/w"}},
			kernel: profiles.Kernel{Libraries: rules("/w/lib")}, line: 10, want: []string{"a guest may change it"}},
		{name: "a name that is no text", tree: tree{"/a": "-> b\xff", "/b\xff": ""}, kernel: profiles.Kernel{Read: rules("/a")}, line: 10, want: []string{"no text", "give this user access"}},
		{name: "a denied file with another name", tree: tree{"/d/a/key": "x", "/d/b/copy": "= /d/a/key"},
			kernel: profiles.Kernel{Read: rules("/d"), Deny: rules("/d/a/key")}, line: 10,
			want: []string{"has 2 names (hard links)", "deny the folder"}},
		{name: "a program that is not there", kernel: profiles.Kernel{Exec: rules("/usr/bin/git")}, line: 10, want: []string{"/usr/bin/git is not there"}},
		{name: "a folder as a program", tree: tree{"/bin/": ""}, kernel: profiles.Kernel{Exec: rules("/bin")}, line: 10, want: []string{"is no file", "name the program itself"}},
		{name: "a program that is not executable", tree: tree{"/t": made{kind: 2}.text()}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"is not executable", "chmod +x /t"}},
		{name: "a program that everyone may change", tree: tree{"/t": static}, mode: map[string]os.FileMode{"/t": 0o777}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"everyone may change", "chmod o-w /t"}},
		{name: "a program that the guest may change", tree: tree{"/w/t": static}, kernel: profiles.Kernel{Exec: rules("/w/t"), Write: rules("/w")}, line: 10, want: []string{"a guest may change it"}},
		{name: "a denied program", tree: tree{"/d/t": static}, kernel: profiles.Kernel{Exec: rules("/d/t"), Deny: rules("/d")}, line: 10, want: []string{"is in a denied folder"}},
		{name: "no program at all", tree: tree{"/t": program + "echo hello\n"}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"neither an ELF program nor a script"}},
		{name: "another machine", tree: tree{"/t": program + made{kind: 2, machine: 183}.text()}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"another kind of machine"}},
		{name: "32 bits", tree: tree{"/t": program + "\x7fELF\x01" + strings.Repeat("\x00", 100)}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"another kind of machine"}},
		{name: "a torn program", tree: tree{"/t": program + static[len(program):len(program)+80]}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"program headers that cannot be read"}},
		{name: "a script without its interpreter", tree: tree{"/t": program + "#!/bin/sh\n", "/bin/sh": static}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10,
			want: []string{"is a script for /bin/sh, which is not granted", "add /bin/sh to the programs"}},
		{name: "a script whose interpreter is not there", tree: tree{"/t": program + "#!/bin/zsh\n"}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"is a script for /bin/zsh, which is not there"}},
		{name: "a script with a relative interpreter", tree: tree{"/t": program + "#!t\n"}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"is a script for t, which is not there"}},
		{name: "a missing library", tree: usual(tree{"/t": bin("libc.so.6", "libgone.so.1")}), kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"needs the library libgone.so.1, which is in no folder"}},
		{name: "a missing loader", tree: tree{"/t": bin()}, kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"needs the loader /lib64/ld-linux-x86-64.so.2, which is not there"}},
		{name: "a loader that is none", tree: usual(tree{"/t": program + made{interp: "/etc/ld.so.conf"}.text()}), kernel: profiles.Kernel{Exec: rules("/t")}, line: 10, want: []string{"needs the loader /etc/ld.so.conf, which is not an ELF file"}},
		{name: "a library that the guest may change", tree: usual(tree{"/t": program + made{interp: loaderPath, needed: []string{"libx.so"}, runpath: "/w/lib"}.text(), "/w/lib/libx.so": lib("libx.so")}),
			kernel: profiles.Kernel{Exec: rules("/t"), Write: rules("/w")}, line: 10,
			want: []string{"needs /w/lib/libx.so, which a guest may change"}},
		{name: "a denied library", tree: usual(tree{"/t": bin("libc.so.6")}), kernel: profiles.Kernel{Exec: rules("/t"), Deny: rules("/usr/lib")}, line: 10, want: []string{"which is denied"}},
		{name: "a library that everyone may change", tree: usual(tree{"/t": bin("libx.so"), "/usr/lib/libx.so": lib("libx.so")}), mode: map[string]os.FileMode{"/usr/lib/libx.so": 0o666},
			kernel: profiles.Kernel{Exec: rules("/t")}, line: 10,
			want: []string{"needs /usr/lib/libx.so, which everyone may change"}},
		{name: "the guest's own program is hidden", tree: tree{"/home/u/t": static}, kernel: profiles.Kernel{Read: rules("/home"), Deny: rules("/home/u")}, program: "/home/u/t", line: 10,
			want: []string{"lies in the folder /home/u, which is hidden"}},
		{name: "the guest's own program is not there", program: "/t", want: []string{"/t is not there"}},
		{name: "libraries that the guest may change", tree: tree{"/w/lib/": ""}, kernel: profiles.Kernel{Libraries: rules("/w/lib"), Write: rules("/w")}, line: 10, want: []string{"is granted for its libraries and a guest may change it"}},
		{name: "code that the guest may change", tree: tree{"/w/py/": ""}, kernel: profiles.Kernel{Write: rules("/w")}, at: rootfs.Places{Code: rules("/w/py")},
			line: 10, want: []string{"/w/py is loaded as code and a guest may change it", "no guest may write"}},
		{name: "code that another agent's guest may change", tree: tree{"/w/py/": ""}, at: rootfs.Places{Code: rules("/w/py"), Written: []string{"/w"}},
			line: 10, want: []string{"is loaded as code and a guest may change it"}},
		{name: "code with a folder that the guest may change", tree: tree{"/py/data/": ""}, kernel: profiles.Kernel{Write: rules("/py/data")}, at: rootfs.Places{Code: rules("/py")},
			line: 10, want: []string{"is loaded as code and a guest may change /py/data in it"}},
		{name: "code that everyone may change", tree: tree{"/py/": ""}, mode: map[string]os.FileMode{"/py": 0o777}, at: rootfs.Places{Code: rules("/py")},
			line: 10, want: []string{"/py everyone may change", "chmod o-w /py"}},
		{name: "code that needs what a guest may change", tree: usual(tree{"/py/a.so": made{needed: []string{"libx.so"}, runpath: "/w"}.text(), "/w/libx.so": lib("libx.so")}),
			kernel: profiles.Kernel{Write: rules("/w")}, at: rootfs.Places{Code: rules("/py")}, line: 10,
			want: []string{"needs /w/libx.so, which a guest may change"}},
		{name: "what the executor adds and a guest may change", tree: tree{"/w/py/": ""}, kernel: profiles.Kernel{Write: rules("/w")}, at: rootfs.Places{Own: rules("/w/py")},
			line: 10, want: []string{"/w/py belongs to the executor and a guest may change it"}},
		{name: "a file to be listed", tree: tree{"/f": ""}, at: rootfs.Places{List: rules("/f")}, line: 10, want: []string{"/f is no folder"}},
		{name: "code that is not there", at: rootfs.Places{Code: rules("/py")}, line: 10, want: []string{"/py is not there"}},
		{name: "a library that is none", tree: tree{"/l": "text"}, kernel: profiles.Kernel{Libraries: rules("/l")}, line: 10, want: []string{"is no library"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tt.tree.build(t)
			for name, mode := range tt.mode {
				if err := os.Chmod(root+name, mode); err != nil {
					t.Fatal(err)
				}
			}
			plan, err := resolve(t, root, tt.kernel, tt.program, tt.at)
			var refusal *rootfs.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("not refused: %v, %q", err, show(plan.Mounts))
			}
			if refusal.Rule.Line != tt.line {
				t.Errorf("refused because of line %d, want %d: %v", refusal.Rule.Line, tt.line, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
			if len(plan.Mounts) > 0 {
				t.Error("a refusal comes with mounts")
			}
		})
	}
}

// TestAllRefusals holds that a push is told everything at once.
func TestAllRefusals(t *testing.T) {
	root := tree{"/a/": ""}.build(t)
	_, err := resolve(t, root, profiles.Kernel{Read: rules("/", "/a", "/gone"), Exec: rules("/t")}, "", rootfs.Places{})
	for _, want := range []string{"/ is every file", "/gone is not there", "/t is not there"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

// TestPlanKernel holds that the profile of a plan has real paths, so that it can
// be compared: a link that leads out of a folder is no part of it.
func TestPlanKernel(t *testing.T) {
	root := usual(tree{"/data/x": "", "/data/out": "-> /elsewhere", "/elsewhere/y": "",
		"/usr/bin/true": program + made{kind: 2}.text(), "/ext/": ""}).build(t)
	k := profiles.Kernel{Executor: "shell", Read: rules("/data/out"), Write: rules("~"),
		Deny: rules("/data/x", "/nowhere"), Exec: rules("/bin/true"), Libraries: rules("/ext"), Files: 7}
	plan, err := resolve(t, root, k, "", rootfs.Places{Home: "/ext"})
	if err == nil {
		t.Fatal("libraries are granted where the guest writes")
	}
	k.Write = nil
	if plan, err = resolve(t, root, k, "/bin/true", rootfs.Places{}); err != nil {
		t.Fatal(err)
	}
	want := profiles.Kernel{Executor: "shell", Files: 7, Read: rules("/elsewhere"), Deny: rules("/data/x", "/nowhere"),
		Exec: rules("/usr/bin/true"), Libraries: rules("/ext")}
	if diff := cmp.Diff(want, plan.Kernel); diff != "" {
		t.Error(diff)
	}
	if plan.Program != "/usr/bin/true" {
		t.Errorf("program %q", plan.Program)
	}
	folder, err := resolve(t, root, profiles.Kernel{Executor: "shell", Files: 7, Read: rules("/data")}, "",
		rootfs.Places{})
	if err != nil {
		t.Fatal(err)
	}
	if narrow := (profiles.Kernel{Executor: "shell", Read: plan.Kernel.Read}); narrow.Within(folder.Kernel) {
		t.Error("what a link in a folder leads to is within the folder")
	}
}

func TestReal(t *testing.T) {
	root := tree{"/a/x": "", "/b": "-> a", "/ws/y": ""}.build(t)
	got := rootfs.Real(rules("/b/x", "/a/x", "$WORKSPACE", "/gone", "~", "$WORKSPACE"),
		rootfs.Places{Root: root, Workspace: "/ws"})
	if diff := cmp.Diff([]string{"/a/x", "/ws"}, got); diff != "" {
		t.Error(diff)
	}
}
