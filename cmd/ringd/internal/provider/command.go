package provider

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ringd/ringd/rings/interpreter"
)

// Config describes one command.
type Config struct {
	// Argv is the command; Argv[0] is a path, or a name that is looked up in
	// Path. Required.
	Argv []string
	// Dir is the command's working directory; "" is the root directory.
	Dir string
	// Path is the command's PATH; "" is DefaultPath.
	Path string
	// Env are further variables, NAME=value. The command gets these, PATH,
	// RINGD_RUN, RINGD_CALL, RINGD_BRIDGE and RINGD_IDEMPOTENCY_KEY, and none of
	// the daemon's.
	Env []string
	// OutputBytes bounds stdout; 0 is 16 MiB. StderrBytes is how much of stderr
	// is kept for the record; 0 is 4 KiB.
	OutputBytes int64
	StderrBytes int64
	// Grace is how long a command that is to end may keep its pipes open after
	// it was killed; 0 is one second.
	Grace time.Duration
}

// DefaultPath is the PATH of commands.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Command performs a bridge by running a command for each call. It is safe for
// concurrent use.
type Command struct{ cfg Config }

// NewCommand checks cfg and finds the program.
func NewCommand(cfg Config) (*Command, error) { return nil, errors.New("provider: no command") }

// Call runs the command once. It kills the command's whole process group when
// ctx ends. A command that exits with another status than 0, prints too much or
// prints anything but one JSON value fails the call; the error's text, with the
// end of stderr, is for the record only.
func (c *Command) Call(ctx context.Context, call interpreter.Call) (json.RawMessage, error) {
	return nil, errors.New("provider: no command")
}
