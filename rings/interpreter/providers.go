package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
)

// Log is the provider of bridges that write a line for the operator: the arguments of the
// call, cut to maxLogText bytes, as one attribute of a line of Logger. A policy that grants
// such a bridge grants only that. The result is undefined. Logger is required.
type Log struct{ Logger *slog.Logger }

// maxLogText limits the arguments of one call in the line.
const maxLogText = 1 << 10

// Call writes the line.
func (l Log) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	if l.Logger == nil {
		return nil, errors.New("the log provider has no logger")
	}
	l.Logger.LogAttrs(ctx, slog.LevelInfo, "program", slog.String("bridge", c.Bridge), slog.String("run", c.Run),
		slog.String("call", c.ID), slog.String("agent", c.Agent),
		slog.String("text", jsonvalue.Clip(string(c.Args), maxLogText)))
	return nil, nil
}
