//go:build unix

package config

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// closed refuses a file that others than its owner may read or change.
func closed(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", f.Name(), mode)
	}
	return nil
}

// Own refuses a folder in which others than its owner may make, rename or remove
// names, or which belongs to another user than this one: its records could be
// exchanged for others.
func Own(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	switch mode := st.Mode & 0o777; {
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to this user (%d): use a folder that this user owns", dir, st.Uid,
			os.Geteuid())
	case mode&0o022 != 0:
		return fmt.Errorf("%s can be changed by others (mode %04o): chmod 700 it", dir, mode)
	}
	return nil
}
