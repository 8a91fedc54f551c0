package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// runOptions holds the flags of `ringd run`.
type runOptions struct {
	request                     cli.GivenRequest // the program, its executor and inputs
	policy                      string
	bridges, bridgeEnv          []string
	credentials, gateways       []string
	state                       string
	daemon                      cli.Daemon // daemon that runs the program
	as                          string     // the owner that approvals stand for
	workspace                   string     // value of $WORKSPACE
	asJSON, report, detach, ask bool
	faults                      *faults // of the host, which the program does not see
}

const runHelp = `Run runs one program in a guest under the policy PATH, and prints the value of
its last expression as JSON. The end of the file name selects the executor: .js
and .ts, .py or .sh. Any other name needs --executor. Console output goes to
stderr as it is written.

--bridge gives a command that performs a bridge that the policy grants. The
command gets the arguments as JSON on stdin and prints the result as JSON. It
runs in this folder with PATH, HOME and the variables of --bridge-env. If it
fails, the reason goes to stderr and into faults of --json; the program learns
only that the call failed. The same holds for a listed host without an address.

A shell script (--executor shell) writes to this process's stdout and stderr. It
is checked before any of it runs, and each program that it starts is checked
again. The first refusal stops the script. It says what had run and what to do
instead.

A Python program (--executor python) runs in this host's CPython and writes to
this process's stdout and stderr. A last value that JSON cannot express is
printed as its repr; None is not printed. Sessions need a daemon.

--state DIR keeps the audit log and the store. Without it they are in a
temporary folder, in memory or below TMPDIR, which is removed at the end.
$WORKSPACE in the policy is --workspace DIR, or this folder. With --socket or
--url the program runs in the daemon, under the daemon's policy and bridges.
Without a policy it runs in the daemon at $RINGD_SOCKET or at the user's own
socket, if there is one.

A program that needs an approval is paused, and its memory is sealed. At a
terminal ringd shows the call and asks, as the owner that the policy names. If
the policy names several and --as is missing, it asks for which of them. With
--state and without --ask the run is kept instead: use ringd approve and then
ringd resume, on any later day. With neither terminal nor --state the run is
ended. A Python program and a started script cannot be snapshotted. Such a call
holds the process for at most the approval's hold (5m) and is then refused. If
there is nobody to ask, the run is ended.

Exit codes: 0 done and nothing was refused, 1 something was refused (even if the
program went on without it, except an import error that Python caught) or the
program failed, 2 usage or unreadable input, 75 the run waits for an answer and
can be resumed, 125 the executor or a layer that the policy requires is not
available here: nothing ran, 126 a shell script was refused before or while it
ran, 130 interrupted. --json has the exit code of a script or Python program.`

func newRun(p *program) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run -p PATH PROGRAM|-",
		Short: "Run one program under a policy",
		Long:  runHelp,
		Example: `  ringd run -p policy.yaml program.ts
  echo '1+1' | ringd run -p policy.yaml --executor js -
  ringd run -p policy.yaml --input diff=diff.json \
    --bridge spawnSubagent=./reviewer --report review.ts
  ringd run -p policy.yaml build.sh
  ringd run -p policy.yaml --stdin data.csv report.py`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request.Program = args[0]
			return p.runs().run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.policy, "policy", "p", "", "policy file or folder")
	f.StringVar(&o.request.Agent, "agent", "", `agent (default: the only one, else "default")`)
	f.StringVar(&o.request.Executor, "executor", "", "js, python or shell (default: by the name)")
	f.StringVar(&o.request.Language, "language", "", "js or ts (default: by the program's name)")
	f.StringArrayVar(&o.request.Inputs, "input", nil, "NAME=FILE.json, the program's inputs.NAME")
	f.StringArrayVar(&o.bridges, "bridge", nil, "NAME=COMMAND: perform a bridge with sh -c")
	f.StringArrayVar(&o.bridgeEnv, "bridge-env", nil, "NAME: pass this variable to bridge commands")
	f.BoolVar(&o.asJSON, "json", false, "print the whole outcome as JSON")
	f.BoolVar(&o.report, "report", false, "show on stderr what ran and its limits")
	f.StringVar(&o.state, "state", "", "folder for the audit log and the store")
	f.StringVar(&o.daemon.Socket, "socket", "", "run in the daemon at this socket")
	o.daemon.BindRemote(cmd)
	f.BoolVar(&o.detach, "detach", false, "in a daemon: print the run's id, do not wait")
	f.StringVar(&o.request.Session, "session", "", "NAME: continue from the state of its last run")
	f.StringVar(&o.request.Stdin, "stdin", "", "FILE, or -: standard input of shell and Python")
	f.StringVar(&o.request.Cwd, "cwd", "", "working folder of shell and Python programs")
	f.StringVar(&o.request.Grants, "grants", "", "FILE.json: narrow the grants of this run")
	o.bindHere(cmd)
	cli.OneOf(cmd, "executor", profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell)
	cli.OneOf(cmd, "language", "js", "ts")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json", "cue")
	return cmd
}

// bindHere adds the flags of run and resume about approvals and gateways.
func (o *runOptions) bindHere(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.credentials, "credential", nil, "NAME=file:PATH or NAME=env:VAR, for gateways")
	cmd.Flags().StringArrayVar(&o.gateways, "gateway", nil, "NAME=URL[,credential=NAME], its upstream")
	cmd.Flags().StringVar(&o.workspace, "workspace", "", "$WORKSPACE of the policy (default: this folder)")
	cmd.Flags().StringVar(&o.as, "as", "", "owner of approval.from that you answer for")
	cmd.Flags().BoolVar(&o.ask, "ask", false, "ask at the terminal even with --state")
}

func (p runVerbs) run(ctx context.Context, o runOptions) error {
	var err error
	if o.request.Executor, err = cli.ExecutorOf(o.request.Executor, o.request.Program); err != nil {
		return cli.Failed(cli.Misused, err)
	}
	if err := o.daemon.Check(); err != nil {
		return err
	}
	there := o.daemon.Named()
	if !there && o.policy == "" && o.state == "" && !o.configuresHost() { // use the same daemon as the other commands
		if socket := p.Env.DefaultSocket(); socket != "" {
			_, err := os.Stat(socket)
			there = err == nil
		}
	}
	switch {
	case there && (o.policy != "" || o.state != "" || o.configuresHost()):
		return cli.Usage("%s: the daemon has its own policy, state, workspace, bridges, gateways and credentials",
			o.daemon.Flag())
	case there && (o.as != "" || o.ask):
		return cli.Usage("%s: the caller that starts a run in a daemon cannot approve its calls; see ringd approve",
			o.daemon.Flag())
	case o.request.Session != "" && o.request.Executor == profiles.ExecutorPython && !there:
		return cli.Usage("--session of python needs --socket or --url: the session is a live process, which only a " +
			"daemon keeps")
	case o.request.Session != "" && o.state == "" && !there:
		return cli.Usage("--session needs --state DIR, where it is kept")
	case !there && o.policy == "":
		return cli.Usage("run needs a policy: -p PATH (or a daemon: --socket PATH or --url)")
	case !there && o.detach:
		return cli.Usage("--detach needs --socket or --url")
	}
	req, err := cli.ReadRequest(o.request, p.In)
	if err != nil {
		return cli.Failed(cli.Misused, err)
	}
	if there {
		return p.runThere(ctx, o, req)
	}
	return p.runHere(ctx, o, req)
}

// configuresHost reports whether flags configure this host, so that no daemon is used.
func (o *runOptions) configuresHost() bool {
	return len(o.bridges)+len(o.bridgeEnv)+len(o.credentials)+len(o.gateways)+len(o.workspace) > 0
}

// bridgeProviders returns the providers of --bridge.
func (p runVerbs) bridgeProviders(o runOptions) (map[string]contract.Provider, error) {
	env, err := config.Variables(o.bridgeEnv)
	if err != nil {
		return nil, cli.Usage("--bridge-env: %w", err)
	}
	if p.Env.Home != "" {
		env = append(env, "HOME="+p.Env.Home)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, cli.Usage("find this folder: %w", err)
	}
	out := map[string]contract.Provider{}
	for _, arg := range o.bridges {
		name, command, ok := strings.Cut(arg, "=")
		if !ok || name == "" || command == "" {
			return nil, cli.Usage("--bridge %q: want NAME=COMMAND", arg)
		}
		if _, twice := out[name]; twice {
			return nil, cli.Usage("--bridge %s is given twice", name)
		}
		cfg := bridges.CommandConfig{Argv: []string{"/bin/sh", "-c", command}, Starts: startedFile(command), Dir: dir,
			Env: env, Failed: o.faults.add}
		if out[name], err = p.stacks().commandProvider(cfg); err != nil {
			return nil, cli.Usage("--bridge %s: %w", name, err)
		}
	}
	return out, nil
}

// startedFile returns the file that a command line for sh starts, or "" if only a shell can tell. A first word
// with a slash is a path. A word without any character that is special in a shell is used as it is.
func startedFile(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 || !strings.Contains(words[0], "/") ||
		strings.ContainsAny(command, "|&;<>()$`\\\"'*?[#~=%!{}\n") {
		return ""
	}
	return words[0]
}

// checkBridges refuses a --bridge that the policy grants to no agent. It is probably mistyped, and the call
// that was meant would fail.
func checkBridges(set *profiles.Set, providers map[string]contract.Provider) error {
	granted := map[string]bool{}
	for _, a := range set.Agents {
		for name := range a.Bridges {
			granted[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(granted))
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if granted[name] {
			continue
		}
		hint := "the policy grants no bridge"
		if i := spelling.Of(name, names, spelling.Effort{Names: 256, Letters: 4096}); i >= 0 {
			hint = fmt.Sprintf("did you mean %q?", names[i])
		} else if len(names) > 0 {
			hint = "it grants " + strings.Join(names, ", ")
		}
		return cli.Usage(
			"--bridge %s: the policy grants no such bridge\n    hint: %s",
			cli.Visible(name),
			cli.Visible(hint),
		)
	}
	return nil
}

// runHere runs the program in a stack of this process.
func (p runVerbs) runHere(ctx context.Context, o runOptions, req wire.RunRequest) error {
	return p.runInStack(ctx, o, func(ctx context.Context, l *local) (string, error) {
		req.Agent = commands.AgentNamed(l.set, req.Agent)
		run, err := l.stack.daemon.StartRun(
			context.WithoutCancel(ctx),
			l.actor,
			req,
		) // fast; an interrupt cancels later
		return run.ID, err
	})
}

// local is a stack for one run, with a policy in force.
type local struct {
	stack *stack
	set   *profiles.Set
	actor daemon.Actor
	gives map[string]contract.Provider
	shown int64 // last console line that an earlier part of the run has shown
}

// runActor returns the actor of runs in a stack of this process.
func runActor() daemon.Actor {
	return daemon.Actor{Name: fmt.Sprintf("uid:%d", os.Getuid()), All: true}
}

// terminalApprover returns the approver at a terminal or on a state folder. Access is guarded by the permissions of the
// files. It is another actor than the same user as a harness. The user chooses the owner that it stands for.
func terminalApprover(as string) waiting.Approver {
	who := waiting.Approver{Name: fmt.Sprintf("owner:uid:%d", os.Getuid())}
	if as != "" {
		who.Stands = []string{as}
	}
	return who
}

// oneRunLimits returns the limits of a stack for one run.
func oneRunLimits() limitsConfig {
	return limitsConfig{
		quota:  daemon.Quota{PerActor: 1, Total: 1},
		paused: waiting.Quota{PerActor: defaultPausedPerActor, Total: defaultPaused, Bytes: defaultPausedBytes},
	}
}

// runInStack builds a stack with a policy, starts or resumes a run in it with begin, and attends the run.
func (p runVerbs) runInStack(
	ctx context.Context,
	o runOptions,
	begin func(context.Context, *local) (string, error),
) (err error) {
	files, err := commands.ReadPolicy(o.policy)
	if err != nil {
		return err
	}
	o.faults = &faults{}
	providers, err := p.bridgeProviders(o)
	if err != nil {
		return err
	}
	host, err := network.HostOfFlags(o.credentials, o.gateways, p.Env)
	if err != nil {
		return cli.Usage("%w", err)
	}
	workspace, err := workspaceOf(o.workspace)
	if err != nil {
		return err
	}
	state, remove, err := p.privateState(o.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	group := &daemon.Group{}
	early := p.compileEarly(ctx, group, files)
	s, err := p.stacks().newStack(ctx, stackConfig{
		group: group, private: append(host.Files(), state), providers: providers,
		logger: slog.New(slog.DiscardHandler), still: true,
		state:  stateConfig{folder: state, ownKey: true},
		policy: policyConfig{path: o.policy, workspace: func(string) string { return workspace }, compiler: early},
		limits: oneRunLimits(),
		guests: guestsConfig{host: host, lost: o.faults.addLost, pool: poolConfig{blank: 1, once: true},
			warm: o.request.Executor == profiles.ExecutorJS},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.daemon.ApplyPush(ctx, syncer.Push{Sources: files.Sources}); err != nil {
		return p.notApplied(files, early, err)
	}
	if err := commands.RefusePolicy(p.Program, files.Path, files.Place(early.found)); err != nil {
		return err
	}
	if err := checkBridges(early.set, providers); err != nil {
		return err
	}
	<-s.warmed
	l := &local{stack: s, set: early.set, actor: runActor(), gives: providers}
	id, err := begin(ctx, l)
	if err != nil {
		return p.notStarted(o, err)
	}
	final, err := p.attend(ctx, o, l, id)
	if err != nil && final.ID == "" {
		return p.notStarted(o, err)
	}
	stopped := ctx.Err() != nil &&
		slices.Contains([]string{string(executors.StateCancelled), string(executors.StatePaused)}, final.State)
	if stopped && final.Error != nil {
		final.Error.Message = "interrupted"
	}
	end := p.finish(o, final, early.set)
	switch {
	case err != nil:
		return p.stuckExit(o, err, cli.Failed(cli.Refused, err))
	case stopped:
		return cli.Failed(cli.Interrupted, nil)
	default:
		return end
	}
}

// attend attends a run, and asks at the terminal if there is one.
func (p runVerbs) attend(ctx context.Context, o runOptions, l *local, id string) (wire.Run, error) {
	c := commands.AttendConfig{
		Program: p.Program, Daemon: l.stack.daemon, Actor: l.actor, Approver: terminalApprover(o.as),
		Keep: o.state != "", JSON: o.asJSON, Shown: l.shown, Now: time.Now,
		Lacks: l.lacks,
		Rule: func(agent, bridge string) *profiles.Rule {
			if a, ok := l.set.Agent(agent); ok && a.Bridges[bridge].Approval != nil {
				return &a.Bridges[bridge].Approval.Rule
			}
			return nil
		},
	}
	if (o.state == "" || o.ask) && cli.Terminal(p.In) && cli.Terminal(p.Err) {
		tty, err := cli.Open(p.Page(p.Err).Colour)
		if err != nil {
			return wire.Run{}, errors.Join(err, endRun(ctx, l, id))
		}
		defer func() { _ = tty.Close() }() // the error of a close cannot change the result
		c.Terminal = tty
	}
	return commands.NewAttendant(c).Attend(ctx, id)
}

// lacks returns why a granted call could not begin here after its approval.
func (l *local) lacks(run wire.Run, c wire.Pending) error {
	a, _ := l.set.Agent(run.Agent)
	if _, granted := a.Bridges[c.Bridge]; !granted || c.For != "approver" || pause.IsAct(c.Bridge) {
		return nil
	}
	err := contract.Ready(l.gives[c.Bridge])
	if err == nil {
		return nil
	}
	return waiting.Unprovided(run.ID, &contract.UnprovidedError{Call: c.ID, Bridges: []string{c.Bridge}, Err: err})
}

func endRun(ctx context.Context, l *local, id string) error {
	_, err := l.stack.daemon.CancelRun(context.WithoutCancel(ctx), l.actor, id)
	return err
}

// workspaceOf returns the folder of $WORKSPACE: that of the flag, or the working folder.
func workspaceOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", cli.Usage("--workspace: %w", err)
	}
	info, err := os.Stat(abs)
	switch {
	case dir != "" && (err != nil || !info.IsDir()):
		return "", cli.Usage("--workspace %s: no such folder", dir)
	case dir != "" && abs == "/":
		return "", cli.Usage("--workspace /: want a folder below /")
	case abs == "/": // surely a mistake: it would grant the whole host
		return "", nil
	}
	return abs, nil
}

// privateState returns the folder of --state, or a temporary one with a function that removes it.
func (p runVerbs) privateState(dir string) (string, func() error, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", nil, cli.Usage("--state: %w", err)
		}
		return abs, func() error { return nil }, nil
	}
	// A temporary state need not be on disk: syncing costs more than the rest of a short run.
	err := os.ErrNotExist
	if p.Env.Temp == "" {
		dir, err = os.MkdirTemp("/dev/shm", "ringd-run-")
	}
	if err != nil {
		dir, err = os.MkdirTemp(p.Env.Temp, "ringd-run-")
	}
	if err != nil {
		return "", nil, cli.Usage("make temporary folder: %w", cli.Bare(err))
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// earlyCompiler compiles one policy while the stack is being built.
type earlyCompiler struct {
	childCompiler // checks the set against its guardrails
	done          chan struct{}
	set           *profiles.Set
	found         schema.Diagnostics
	err           error
}

func (p runVerbs) compileEarly(ctx context.Context, group *daemon.Group, files cli.Policy) *earlyCompiler {
	c := &earlyCompiler{childCompiler: p.compiler(), done: make(chan struct{})}
	group.Go(func() {
		defer close(c.done)
		c.set, c.found, c.err = p.compiler().compileChild(ctx, files.Sources)
	})
	return c
}

// Compile waits for the result and returns it.
func (c *earlyCompiler) Compile(ctx context.Context, _ syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	select {
	case <-c.done:
		return c.set, c.found, c.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// notApplied returns why the policy is not in force.
func (p runVerbs) notApplied(files cli.Policy, c *earlyCompiler, err error) error {
	<-c.done
	var e *cli.Exit
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Failed(cli.Interrupted, errors.New("interrupted before the program began"))
	case errors.As(c.err, &e):
		return e
	case c.err != nil:
		return cli.Failed(cli.Unavailable, c.err)
	case c.found.Refused():
		return commands.RefusePolicy(p.Program, files.Path, files.Place(c.found))
	case errors.Is(err, records.ErrUnavailable):
		return cli.Failed(cli.Unavailable, err)
	}
	if no, ok := errors.AsType[*policy.RejectedError](err); ok { // do not mention a push to the user
		err = fmt.Errorf("the policy was refused: %s", no.Why)
	}
	return cli.Failed(cli.Refused, err)
}
