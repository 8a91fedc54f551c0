package script

import (
	"fmt"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// bounds refuses what must not reach the parser.
func bounds(text string) *Refusal {
	if len(text) > MaxBytes {
		return &Refusal{Code: profiles.CodeShellSize, Reason: fmt.Sprintf("the script has %d bytes, and %d are read", len(text), MaxBytes),
			Instead: []string{"write the long part to a file, or run it as several scripts"}}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &Refusal{Code: profiles.CodeShellParse, Reason: fmt.Sprintf("the script holds a NUL byte at offset %d", i)}
	}
	return nil
}
