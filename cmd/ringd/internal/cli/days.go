package cli

import (
	"strconv"
	"strings"
	"time"
)

// Days reads "30d", or a duration of Go; not a negative one.
func Days(text string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		d, err := strconv.ParseUint(n, 10, 16)
		return time.Duration(d) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err
}
