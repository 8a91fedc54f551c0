package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// notifySystemd sends fields, NAME=VALUE, to the socket that systemd names. A newline in a field cannot begin another
// field. A missing socket, or one without a listener, is no error: the output of the daemon has the same
// information.
func notifySystemd(fields ...string) {
	for i, f := range fields {
		fields[i] = cli.Visible(f)
	}
	_, _ = sd.SdNotify(false, strings.Join(fields, "\n"))
}

// watchdogShare is the number of health checks in one watchdog interval, so that several can fail before it
// is over.
const watchdogShare = 4

// watchdog notifies systemd until ctx ends, if its unit has WatchdogSec=. It does so only after the API has
// answered on its own socket.
func watchdog(ctx context.Context, socket string, logger *slog.Logger, start func(func())) {
	within, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		logger.Warn("systemd's watchdog gets no signal of life", "error", err)
	}
	if err != nil || within == 0 {
		return
	}
	every := within / watchdogShare
	start(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if err := healthy(ctx, socket, every); err == nil {
				notifySystemd(sd.SdNotifyWatchdog)
			} else if ctx.Err() == nil {
				logger.Warn("the API does not answer the daemon; systemd's watchdog is not notified", "error", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// healthy requests GET /healthz over a new connection: a kept one would not show that the socket accepts.
func healthy(ctx context.Context, socket string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var d net.Dialer
	c := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return d.DialContext(ctx, "unix", socket)
			},
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ringd/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	if answer.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("GET /healthz: %s", answer.Status))
	}
	return errors.Join(err, answer.Body.Close())
}
