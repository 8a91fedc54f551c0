package rootfs

import (
	"strings"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Stands reports whether a mount of the host is at a folder, or in it.
func Stands(mounts []initproto.Mount, folder string) bool {
	for _, m := range mounts {
		if !m.Once && !m.List && (m.Path == folder || strings.HasPrefix(m.Path, folder+"/")) {
			return true
		}
	}
	return false
}

// mountPoint is one line of mountinfo.
type mountPoint struct{ at, kind string }

// readMounts parses the text of mountinfo. A malformed line is left out: a kernel writes none.
func readMounts(text []byte) (out []mountPoint) {
	for line := range strings.Lines(string(text)) {
		head, tail, ok := strings.Cut(line, " - ")
		// other white space may be part of a path
		fields, kind := strings.Split(head, " "), strings.Fields(tail)
		if ok && len(fields) >= 5 && len(kind) >= 1 && strings.HasPrefix(fields[4], "/") {
			out = append(out, mountPoint{at: unescape(fields[4]), kind: kind[0]})
		}
	}
	return out
}

// unescape decodes \040 and similar escapes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// ofKernel reports whether a file system shows the kernel, not files.
func ofKernel(kind string) bool {
	switch kind {
	case "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "securityfs", "selinuxfs", "smackfs", "debugfs",
		"tracefs",
		"bpf", "configfs", "efivarfs", "pstore", "mqueue", "fusectl", "binfmt_misc", "nsfs", "rpc_pipefs", "nfsd",
		"hugetlbfs", "resctrl":
		return true
	default:
		return false
	}
}
