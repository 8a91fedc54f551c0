package procfs

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Options parses the attributes of a mount in the table.
func Options(text string) (flags uint64) {
	for o := range strings.SplitSeq(text, ",") {
		switch o {
		case "ro":
			flags |= unix.MOUNT_ATTR_RDONLY
		case "nosuid":
			flags |= unix.MOUNT_ATTR_NOSUID
		case "nodev":
			flags |= unix.MOUNT_ATTR_NODEV
		case "noexec":
			flags |= unix.MOUNT_ATTR_NOEXEC
		}
	}
	return flags
}

// Unescape decodes a path of the table, in which spaces and similar characters are octal.
func Unescape(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+3 < len(p) {
			var c byte
			if _, err := fmt.Sscanf(p[i+1:i+4], "%o", &c); err == nil {
				b.WriteByte(c)
				i += 3
				continue
			}
		}
		b.WriteByte(p[i])
	}
	return b.String()
}
