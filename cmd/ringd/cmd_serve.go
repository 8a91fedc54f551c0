package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema/wire"
)

// Defaults of the configuration.
const (
	defaultRuns           = 64
	defaultRunsPerActor   = 16
	defaultPaused         = 100_000 // waiting runs in the store
	defaultPausedPerActor = 10_000
	defaultPausedBytes    = 4 << 30  // of one actor
	defaultRecords        = 64 << 20 // bytes of audit records of one run
	defaultDrain          = 30 * time.Second
	defaultRetention      = 24 * time.Hour
	lastAnswers           = 5 * time.Second // for requests in progress after the drain
)

func newServe(p *program) *cobra.Command {
	var file string
	var given config.File
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the host daemon",
		Long: `Serve applies the policy of the sync folder, follows every change of it, and
runs programs for harnesses that connect to its socket. It prints one line when
it is ready and notifies systemd. After SIGTERM or SIGINT new runs are refused,
and live runs are cancelled after a grace period. A second signal ends the
daemon at once.

Without a valid policy the daemon starts and refuses every run. Its log, ringd
status and the metric ringd_closed say so. A sync folder that is a file is
refused.

Flags override the config file. docs/systemd has a unit and an example file.

Exit codes: 0 drained, 2 usage or configuration, 125 the audit log, the store or
a required layer is unavailable, or a listener of the API has failed.`,
		Example: `  ringd serve --sync ./policy --state ./state --socket ./ringd.sock
  ringd serve --config /etc/ringd/ringd.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := p.serveConfig(file, given)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&given.Sync, "sync", "", "folder of the policy")
	cmd.Flags().StringVar(&given.Shadow, "shadow", "", "folder of a candidate policy, which only reports")
	cmd.Flags().StringVar(&given.State, "state", "", "state folder (default: ~/.local/state/ringd)")
	cmd.Flags().StringVar(&given.Socket, "socket", "", "Unix socket (default: $RINGD_SOCKET, or the user's)")
	cmd.Flags().StringVar(&given.Workspace.Default, "workspace", "", "folder of $WORKSPACE in policies")
	cmd.Flags().StringVar(&file, "config", "", "config file")
	return cmd
}

// serveConfig reads the file, and overrides it with flags and defaults.
func (p *program) serveConfig(name string, given config.File) (config.File, error) {
	var f config.File
	if name != "" {
		in, err := os.Open(name)
		if err != nil {
			return f, cli.Usage("read config: %w", cli.Bare(err))
		}
		defer in.Close()
		if f, err = config.Read(name, in); err != nil {
			return f, cli.Failed(cli.Misused, err)
		}
	}
	if given.Shadow != "" {
		abs, err := filepath.Abs(given.Shadow)
		if err != nil {
			return f, cli.Usage("--shadow: %w", err)
		}
		f.Shadow = abs
	}
	if given.Workspace.Default != "" {
		dir, err := workspaceOf(given.Workspace.Default)
		if err != nil {
			return f, err
		}
		f.Workspace.Default = dir
	}
	for _, s := range []struct {
		what, flag, fallback string
		into                 *string
	}{
		{"sync", given.Sync, "", &f.Sync},
		{"state", given.State, p.Env.State, &f.State},
		{"socket", given.Socket, p.Env.DefaultSocket(), &f.Socket},
	} {
		if s.flag != "" {
			abs, err := filepath.Abs(s.flag)
			if err != nil {
				return f, cli.Usage("--%s: %w", s.what, err)
			}
			*s.into = abs
		}
		if *s.into == "" {
			*s.into = s.fallback
		}
		if *s.into == "" {
			return f, cli.Usage("serve needs a %s: --%s PATH, or %s: in the config file", s.what, s.what, s.what)
		}
	}
	if err := f.Apart(); err != nil {
		return f, cli.Usage("%w", err)
	}
	return f, checkFolders(f)
}

// checkFolders refuses a sync or shadow folder that can never be read: a file, or a path below one. A missing
// folder may be created later.
func checkFolders(f config.File) error {
	for _, of := range [][2]string{{"sync", f.Sync}, {"shadow", f.Shadow}} {
		what, dir := of[0], of[1]
		st, err := os.Stat(dir)
		switch {
		case errors.Is(err, syscall.ENOTDIR):
			return cli.Usage("%s: %s is below a file, where no folder can be\n    hint: name the folder of the policy",
				what, dir)
		case err == nil && !st.IsDir():
			return cli.Usage("%s: %s is a file, and must be a folder: pushes replace the whole folder\n"+
				"    hint: name its folder, or put it into a folder of its own", what, dir)
		}
	}
	return nil
}

func orElse(d *config.Duration, fallback time.Duration) time.Duration {
	if d == nil {
		return fallback
	}
	return time.Duration(*d)
}

// serve runs the daemon until ctx ends or a signal arrives.
func (p *program) serve(ctx context.Context, f config.File) (err error) {
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	logger := slog.New(logHandler(p.Err))
	s, server, err := p.stacks().newServer(ctx, f, logger)
	if err != nil {
		return err
	}
	defer func() {
		if cause := errors.Join(s.daemon.Writable(), s.Close()); cause != nil {
			err = errors.Join(err, stateUnavailable(f.State, "serve", cause))
		}
	}()
	obey, err := s.orders.Watch(ctx, f.Sync, orElse(f.Watch.Poll, 0)) // before the push beside it is handled
	if err != nil {
		return errors.Join(cli.Usage("watch %s: %w", f.Sync, err), server.Close(ctx))
	}
	defer func() { err = errors.Join(err, obey()) }()
	sink := &firstLook{Sink: s.daemon.Sink(), looked: make(chan struct{})}
	watch, err := syncer.Start(
		ctx,
		withIntervals(f, syncer.Config{Dir: f.Sync, Sink: sink, Logger: logger, Limits: commands.TrustLimits(f.Trust)}),
	)
	if err != nil {
		return errors.Join(cli.Usage("watch %s: %w", f.Sync, err), server.Close(ctx))
	}
	select {
	case <-sink.looked:
	case <-ctx.Done():
	}
	if s.shadow != nil {
		beside, err := syncer.Start(ctx, withIntervals(f, syncer.Config{Dir: f.Shadow, Sink: s.shadow, Logger: logger}))
		if err != nil {
			return errors.Join(cli.Usage("watch %s: %w", f.Shadow, err), watch.Close(), server.Close(ctx))
		}
		defer func() { err = errors.Join(err, beside.Close()) }()
	}
	if ctx.Err() == nil {
		server.Open(ctx)
		st := s.daemon.Status(ctx)
		logClosed(logger, f, st)
		p.printReady(st, f.Socket)
		watchdog(ctx, f.Socket, logger, s.group.Go)
	}
	grace := orElse(f.Limits.Drain, defaultDrain)
	select {
	case <-ctx.Done():
	case <-server.Lost(): // no client can cancel, approve or start a lockdown any more
		grace = 0
		defer func() { err = cli.Failed(cli.Unavailable, err) }()
	}
	stop()
	notifySystemd("STOPPING=1")
	logger.Info("draining")
	over := context.WithoutCancel(ctx)
	drain, cancel := context.WithTimeout(over, grace)
	defer cancel()
	closed := watch.Close()
	if err := s.daemon.Drain(drain); err != nil {
		logger.Warn("live runs were cancelled", "error", err)
	}
	last, done := context.WithTimeout(over, lastAnswers)
	defer done()
	return errors.Join(closed, server.Close(last))
}

// Defaults of the checks of sources. A signed push is whole or refused, so it needs no such wait.
const (
	defaultSettle  = 2 * time.Second
	quietOfSources = 100 * time.Millisecond
)

// withIntervals sets the intervals of a syncer from the configuration.
func withIntervals(f config.File, c syncer.Config) syncer.Config {
	c.Poll, c.Now = orElse(f.Watch.Poll, 0), time.Now
	if c.Limits.Only != "" {
		c.Quiet = orElse(f.Watch.Quiet, 0)
		return c
	}
	c.Quiet = orElse(f.Watch.Quiet, quietOfSources)
	c.Patience = max(10*c.Quiet, syncer.DefaultPatience)
	c.Settle = orElse(f.Watch.Settle, defaultSettle)
	return c
}

// logClosed logs that the daemon starts with no policy in force, with the reason and a remedy.
func logClosed(logger *slog.Logger, f config.File, st wire.Status) {
	if st.Generation > 0 {
		return
	}
	why := make([]string, len(st.Conditions))
	for i, c := range st.Conditions {
		why[i] = c.Code + ": " + c.Message
	}
	check := "ringd vet " + cli.Word(f.Sync)
	if f.Trust != nil {
		check = "ringd sign turns it into a push"
	}
	logger.Error("no policy is in force: every run is refused", "sync", f.Sync, "reason", strings.Join(why, " | "),
		"remedy", "put a policy that compiles into the sync folder ("+check+
			"): the daemon applies it without a restart")
}

// printReady prints the one line that scripts wait for, and notifies systemd.
func (p *program) printReady(st wire.Status, socket string) {
	what := "no policy in force"
	if st.Generation > 0 {
		what = fmt.Sprintf("generation %d, %s", st.Generation, cli.Visible(cli.Short(st.Revision)))
	}
	fmt.Fprintf(p.Out, "ringd ready: %s, %s\n", cli.Visible(socket), what)
	notifySystemd("READY=1", "STATUS="+what)
}

// firstLook signals the first check of the sync folder, whatever it held.
type firstLook struct {
	syncer.Sink
	once   sync.Once
	looked chan struct{}
}

func (f *firstLook) seen() { f.once.Do(func() { close(f.looked) }) }

func (f *firstLook) Apply(ctx context.Context, p syncer.Push) error {
	defer f.seen()
	return f.Sink.Apply(ctx, p)
}

func (f *firstLook) Reject(ctx context.Context, err error) {
	defer f.seen()
	f.Sink.Reject(ctx, err)
}

func (f *firstLook) Lost(ctx context.Context, err error) {
	defer f.seen()
	f.Sink.Lost(ctx, err)
}

// logHandler returns the handler of a daemon's log. The text handler of slog quotes every value that is not
// printable, except one that has only a DEL.
func logHandler(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if text := a.Value.String(); strings.ContainsRune(text, '\x7f') {
			a.Value = slog.StringValue(cli.Clean(text))
		}
		a.Key = strings.ReplaceAll(a.Key, "\x7f", `\u007f`)
		return a
	}})
}
