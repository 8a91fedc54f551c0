package waiting_test

import (
	"fmt"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema/wire"
)

// Only what is known to be wrong with a record is called damage: that is not tried
// again by itself.
func TestStuckNamesTheCause(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{executors.ErrSnapshot, wire.CodeIntegrity},
		{store.ErrDamaged, wire.CodeIntegrity},
		{executors.ErrEngine, wire.CodeEngineUnknown},
		{fmt.Errorf("%w: %w: 2", executors.ErrSnapshot, executors.ErrFormat), wire.CodeFormatUnknown},
		{&seal.VersionError{Version: 2}, wire.CodeFormatUnknown},
		{later(), wire.CodeFormatUnknown},
		{executors.ErrSlow, wire.CodeResumeFailed},
		{executors.ErrGuest, wire.CodeResumeFailed},
	} {
		if got := waiting.Stuck("r1", fmt.Errorf("resume: %w", tt.err)); got.Code != tt.want {
			t.Errorf("%v is %s, want %s", tt.err, got.Code, tt.want)
		}
	}
}

// later is what decoding a record of a later format gives.
func later() error {
	_, err := pause.Decode([]byte("ringd.pause/v2\n"))
	return err
}

// A daemon that lacks an engine says which one it has.
func TestStuckNamesBothEngines(t *testing.T) {
	for _, tt := range []struct{ own, want string }{
		{"sha256:22", "no engine sha256:11 is configured, and this ringd has sha256:22: the run waits until it is"},
		{"", "no engine sha256:11 is configured: the run waits until it is"},
	} {
		if got := waiting.Stuck("r1", &waiting.EngineError{Digest: "sha256:11", Own: tt.own}); got.Text != tt.want ||
			got.Code != wire.CodeEngineUnknown {
			t.Errorf("%s: %s", got.Code, got.Text)
		}
	}
}
