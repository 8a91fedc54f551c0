package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
)

// CommandConfig configures one command.
type CommandConfig struct {
	Argv   []string // Argv[0] is an absolute path
	Path   string   // the command's PATH; empty means bridges.DefaultPath
	Within time.Duration
	Now    func() time.Time // required
}

// Command runs a command of the host for every notification. The command gets the body of a webhook on stdin,
// without arguments, and RINGD_RUN, RINGD_CALL and RINGD_BRIDGE. Its output is dropped. It is safe for
// concurrent use.
type Command struct {
	cfg CommandConfig
	run *bridges.Command
}

// NewCommand checks cfg and finds the program.
func NewCommand(cfg CommandConfig) (*Command, error) {
	if cfg.Now == nil {
		return nil, errors.New("notification command: Now is missing")
	}
	run, err := bridges.NewCommand(bridges.CommandConfig{Argv: cfg.Argv, Path: cfg.Path})
	if err != nil {
		return nil, fmt.Errorf("notification: %w", err)
	}
	if cfg.Within <= 0 {
		cfg.Within = DefaultWithin
	}
	return &Command{cfg, run}, nil
}

// Tell runs the command once. An exit status other than 0 is an error. Its processes are killed when ctx or
// the time of one attempt ends.
func (c *Command) Tell(ctx context.Context, w Waiting) error {
	payload, err := encode(w, c.cfg.Now(), false)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, c.cfg.Within)
	defer stop()
	_, err = c.run.Run(ctx, payload, []string{"RINGD_RUN=" + w.Run, "RINGD_CALL=" + w.Call, "RINGD_BRIDGE=" + w.Bridge})
	if err != nil {
		return fmt.Errorf("notification: %w", err)
	}
	return nil
}
