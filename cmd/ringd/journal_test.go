// The handler is not exported.
package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

// An event is one line of the journal, whatever a text of it holds.
func TestJournalIsInert(t *testing.T) {
	for _, text := range append(clitest.Hostile(), "\x7f", "a\x7fb") {
		var b bytes.Buffer
		log := slog.New(logHandler(&b))
		log.Warn(text, "reason", text, "error", errors.New(text), "agents", []string{text})
		log.Warn("x", text, 1)
		log.With("run", text).WithGroup("g").Error("x", "at", text)
		clitest.Check(t, "the journal", text, strings.ReplaceAll(b.String(), "\t", " "), 3)
	}
}
