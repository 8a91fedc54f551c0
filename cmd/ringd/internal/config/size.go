package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, such as 512KiB, 64MiB or 2GiB.
type Size uint64

// UnmarshalYAML parses a size.
func (z *Size) UnmarshalYAML(b []byte) error {
	s := strings.Trim(strings.TrimSpace(string(b)), `"'`)
	digits, shift := s, 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if d, ok := strings.CutSuffix(s, unit); ok {
			digits, shift = d, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || shift == 0 || n == 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size such as 512KiB, 64MiB or 2GiB", s)
	}
	*z = Size(n << shift)
	return nil
}
