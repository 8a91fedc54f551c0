//go:build !linux

package rootfs

import (
	"errors"

	"github.com/ringd/ringd/profiles"
)

// Resolve returns an error: only Linux has the kernel ring.
func Resolve(profiles.Kernel, string, Places) (Plan, error) {
	return Plan{}, errors.New("resolve kernel profile: this system has no kernel ring: only Linux does")
}

// Real returns nothing, since nothing is resolved here.
func Real([]profiles.PathRule, Places) []string { return nil }
