package runner

import (
	"context"
	"errors"

	"github.com/ringd/ringd/executors/shell/script"
)

func run(context.Context, Config, *script.Script) (Result, error) {
	return Result{Exit: ExitRefused}, errors.New("run script: not there yet")
}
