package executors_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/executors"
)

// A reason reaches whoever runs the program, and what was not made for that does not.
func TestWhy(t *testing.T) {
	secret := errors.New("open /var/lib/ringd/secret")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"nobody knows", secret, ""},
		{"none", nil, ""},
		{"words", fmt.Errorf("launch: %w", executors.Because(secret, "it takes too many mounts")), "it takes too many mounts"},
		{"no words", executors.Because(secret, ""), ""},
		{"the first words", executors.Because(executors.Because(secret, "inner"), "outer"), "outer"},
		{"a call", fmt.Errorf("mount /var/lib/ringd/secret: %w", syscall.ENOSPC), "no space left on device"},
		{"a violation", fmt.Errorf("%w: %w", executors.ErrViolation, secret), "forbidden system call"},
		{"a protocol", fmt.Errorf("%w: %w: %w", executors.ErrGuest, executors.ErrProtocol, secret), "broke the protocol"},
		{"gone before", fmt.Errorf("%w: %w", executors.ErrGone, secret), "before the program began"},
		{"gone", fmt.Errorf("%w: %w", executors.ErrGuest, secret), "its process is gone"},
		{"a push", fmt.Errorf("%w: %w", executors.ErrRevoked, secret), "no longer grants"},
		{"its own folder", fmt.Errorf("%w: %w", executors.ErrOwn, secret), "own folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := executors.Why(tt.err)
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" || strings.Contains(got, "/var") {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.err != nil && !strings.Contains(tt.err.Error(), "/var") {
				t.Errorf("the record has %q", tt.err)
			}
		})
	}
	if executors.Because(nil, "x") != nil {
		t.Error("a reason of nothing")
	}
}
