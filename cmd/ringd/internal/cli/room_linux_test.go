package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

func TestRoom(t *testing.T) {
	mount := t.TempDir()
	for _, tt := range []struct {
		name, options, state string
		full                 bool
	}{
		{"enough", "size=256m", cli.LayerEnforced, false},
		{"little", "size=64m", cli.LayerPartly, false},
		{"none", "size=1m", cli.LayerUnavailable, true},
		{"no file can be made", "size=256m,nr_inodes=2", cli.LayerUnavailable, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, tt.options); err != nil {
				t.Skipf("no file system to fill: %v", err)
			}
			defer func() {
				if err := syscall.Unmount(mount, 0); err != nil {
					t.Error(err)
				}
			}()
			if strings.Contains(tt.options, "inodes") {
				if err := os.WriteFile(filepath.Join(mount, "last"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(mount, "not", "made yet")
			l := cli.StateLayer(dir, true)
			if l.State != tt.state || (l.Fix != "") != (tt.state != cli.LayerEnforced) ||
				!strings.Contains(l.Reason, dir) {
				t.Errorf("%+v", l)
			}
			if got := cli.Full(dir, errors.New("disk I/O error")); got != tt.full {
				t.Errorf("full is %v", got)
			}
			if !cli.Full(dir, fmt.Errorf("write: %w", syscall.EDQUOT)) {
				t.Error("a quota is not seen in the error")
			}
		})
	}
}

func TestShares(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("no file system: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	}()
	state := filepath.Join(mount, "state")
	for path, want := range map[string]bool{
		filepath.Join(mount, "ws"): true, filepath.Join(mount, "not", "made", "*.txt"): true, "~/x": true,
		t.TempDir(): false, "/": false, "$WORKSPACE": false,
	} {
		if got := cli.Shares(state, mount, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := cli.Floor(state, 0); got != 64<<20/20 {
		t.Errorf("the floor of 64 MiB is %d", got)
	}
	if got := cli.Floor(state, 7); got != 7 {
		t.Errorf("a floor that is asked for is %d", got)
	}
}
