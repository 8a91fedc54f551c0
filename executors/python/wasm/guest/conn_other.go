//go:build !linux

package guest

import "os"

type conn struct {
	*os.File
	descriptor int
}
