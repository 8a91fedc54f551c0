package cli_test

import (
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
)

// TestCounts: a refusal of the policy is told by the exit code; a name that does not
// resolve, and what is ordinary in a program, is not.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		executor string
		code     profiles.Code
		want     bool
	}{
		{profiles.ExecutorJS, profiles.CodeEgressNoAddress, false}, {profiles.ExecutorJS, profiles.CodeEgressAddress, true}, {profiles.ExecutorJS, profiles.CodeEgressNotGranted, true},
		{profiles.ExecutorJS, profiles.CodeEgressField, true}, {profiles.ExecutorShell, profiles.CodeShellSwitch, true}, {profiles.ExecutorShell, profiles.CodeGuestRefused, false},
		{profiles.ExecutorPython, profiles.CodeImportDenied, false}, {profiles.ExecutorJS, profiles.CodeImportDenied, true}, {"", "", true},
	} {
		if got := cli.Counts(tt.executor, tt.code); got != tt.want {
			t.Errorf("%s %s: %t", tt.executor, tt.code, got)
		}
	}
}
