package shellguest

import (
	"context"
	"fmt"
	"os"

	"github.com/ringd/ringd/profiles"
)

// Keep implements runner.Host. The file is removed with the guest.
func (h *host) Keep(_ context.Context, content []byte) (string, error) {
	f, err := os.CreateTemp(profiles.ScriptTemp, "list")
	if err != nil {
		return "", fmt.Errorf("keep the output of a list: %w", err)
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("keep the output of a list: %w", err)
	}
	return f.Name(), nil
}
