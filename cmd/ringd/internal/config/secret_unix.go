//go:build unix

package config

import (
	"fmt"
	"os"
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
