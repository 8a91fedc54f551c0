//go:build unix

package config

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// checkPrivate refuses a file that users other than its owner may read or change.
func checkPrivate(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", f.Name(), mode)
	}
	return nil
}

// Own refuses a folder of another user, and one in which other users may create, rename or remove files: they
// could replace its records.
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
