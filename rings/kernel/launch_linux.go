package kernel

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/cgroup"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/spawn"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// prepared is an init that has built and proved all layers and waits for its program.
type prepared struct {
	recipe   *recipe
	process  *os.Process
	control  *spawn.Control
	report   initproto.Report
	listener *os.File      // of its filter, or nil
	sockets  listenSockets // of its network
	group    *cgroup.Group // nil if it has none
	after    func()        // called when the guest has ended; may be nil
}

// prepare starts an init, has it build a guest, and waits for its proof. On an error nothing is left of it. A
// layer that the host does not give is a *Lack error.
func (r *Ring) prepare(ctx context.Context, c *recipe) (*prepared, error) {
	var token [16]byte
	if _, err := io.ReadFull(r.cfg.Token, token[:]); err != nil {
		return nil, fmt.Errorf("make a token: %w", err)
	}
	place := spawn.Place{UID: c.order.UID, GID: c.order.GID, Stays: c.order.Reap}
	group, err := r.group(hex.EncodeToString(token[:]), c)
	if err != nil {
		return nil, err
	}
	if group != nil {
		place.Group = group.Dir()
	}
	process, control, err := r.spawn.Init(place)
	if err != nil {
		return nil, errors.Join(spawnError(err), group.Close())
	}
	p := &prepared{recipe: c, process: process, control: control, group: group}
	stop := context.AfterFunc(ctx, func() {
		_ = control.Interrupt()
		_ = process.Kill() // drop waits, and meets its error
	})
	err = r.build(p, hex.EncodeToString(token[:]))
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		return nil, errors.Join(err, p.drop())
	}
	return p, nil
}

// spawnError names the layer that a failed fork lacks.
func spawnError(err error) error {
	var refused *spawn.Refused
	if !errors.As(err, &refused) {
		return err
	}
	var errno syscall.Errno // if 0, no system call failed
	errors.As(err, &errno)
	r := initproto.Report{
		Version: initproto.Version, Failed: refused.Layer, Kind: initproto.KindMissing,
		Step: refused.Step, Errno: int(errno),
	}
	if r.Errno == 0 {
		r.Reason = refused.Err.Error()
	}
	return explained(r)
}

func (r *Ring) build(p *prepared, token string) error {
	trees, err := r.trees(p.recipe.order)
	if err != nil {
		return err
	}
	if err := errors.Join(
		p.control.SendBytes(p.recipe.withToken(token), trees...), spawn.CloseFiles(trees),
	); err != nil {
		return fmt.Errorf("order a guest: %w", err)
	}
	if err := p.receiveSockets(); err != nil {
		return err
	}
	files, err := p.receiveReport()
	if err == nil {
		err = p.check()
	}
	want := 0
	if p.recipe.order.Notify && err == nil {
		want = 1
	}
	if err == nil && len(files) != want {
		err = fmt.Errorf("%d descriptors came with the report of a guest, want %d", len(files), want)
	}
	if err != nil {
		return errors.Join(err, spawn.CloseFiles(files))
	}
	if want == 1 {
		p.listener = files[0]
	}
	return nil
}

// receiveReport receives one report.
func (p *prepared) receiveReport() ([]*os.File, error) {
	p.report = initproto.Report{}
	files, err := p.control.Receive(&p.report)
	if errors.Is(err, io.EOF) {
		err = said("its first process ended before it had reported")
	}
	return files, err
}

// receiveSockets receives the sockets on which init listens, or the reason why it does not.
func (p *prepared) receiveSockets() error {
	if p.recipe.order.Listen == nil {
		return nil
	}
	files, err := p.receiveReport()
	r := p.report
	p.sockets = listenSockets{Listeners: r.Listeners, Files: files, IPv6: r.IPv6} // drop closes them
	switch {
	case err != nil:
		return err
	case r.Version != initproto.Version || r.Failed != "":
		return p.check()
	case !p.sockets.Are(*p.recipe.order.Listen):
		return fmt.Errorf(
			"the init of the guest listens on %v, and %+v was ordered", r.Listeners, *p.recipe.order.Listen,
		)
	}
	return nil
}

// check compares a report with the required layers. A layer that is not reported is missing.
func (p *prepared) check() error {
	r := p.report
	if r.Version != initproto.Version {
		return said(
			fmt.Sprintf("its first process is of another build: version %d, want %d", r.Version, initproto.Version),
		)
	}
	if r.Failed != "" {
		return explained(r)
	}
	need := builtLayers()
	if p.recipe.order.Listen != nil {
		need = append(need, initproto.LayerEgress)
	}
	if p.recipe.order.WX {
		need = append(need, initproto.LayerMemory)
	}
	for _, layer := range need {
		if r.Layers[layer] != enforced {
			return &Lack{Report: initproto.Report{
				Failed: layer, Kind: initproto.KindLies,
				Reason: fmt.Sprintf("the init of the guest reports it as %q and no failure", r.Layers[layer]),
			}}
		}
	}
	if r.ABI < p.recipe.order.ABI {
		return &Lack{Report: initproto.Report{
			Failed: initproto.LayerLandlock, Kind: initproto.KindLies,
			Reason: fmt.Sprintf("its version is %d, and %d was ordered", r.ABI, p.recipe.order.ABI),
		}}
	}
	return nil
}

// drop ends an init and waits for it.
func (p *prepared) drop() error {
	return errors.Join(spawn.End(p.process), p.control.Close(), p.group.Close(), p.closeListener(), p.sockets.Close())
}

// startProgram starts the program of s in a prepared guest, which then belongs to the returned guest. On an error
// nothing is left of it.
func (r *Ring) startProgram(ctx context.Context, p *prepared, s executors.Spec) (*guest, error) {
	g := &guest{
		ring: r, agent: s.Agent, executor: s.Executor, kernel: p.recipe.plan.Kernel, uid: p.recipe.order.UID,
		process: p.process, control: p.control, layers: &layers{group: p.group}, reaps: p.recipe.order.Reap,
		memory: p.recipe.order.Memory, folders: p.recipe.order.InMemory(),
		attestation: attestConfined(isWasm(s), p.recipe.kind.profile, p.report, r.grouped),
		done:        make(chan struct{}), usage: make(chan time.Duration, 1), after: p.after,
	}
	if g.reaps {
		g.followed = make(chan struct{})
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.control.Interrupt()
		_ = g.process.Kill() // Kill below meets its error
	})
	err := r.sendProgram(g, p, s)
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		if g.followed != nil {
			close(g.followed)
		}
		err = errors.Join(err, g.Kill())
		if !g.conn.Made() {
			return nil, err
		}
		err = errors.Join(err, g.abandon())
		if why := g.conn.Cause(); why != nil {
			err = why // the other error follows from it
		}
		return nil, err
	}
	if g.reaps {
		r.begin(g.follow)
	}
	return g, nil
}

// sendProgram sends the data of the program, and waits until it has started if init stays to report that.
func (r *Ring) sendProgram(g *guest, p *prepared, s executors.Spec) (err error) {
	connect := connectPipes
	if s.Seals {
		connect = connectSocket
	}
	connection, theirs, err := connect(&r.watching)
	if err != nil {
		return errors.Join(err, p.closeListener(), p.sockets.Close())
	}
	g.conn = connection
	if err := errors.Join(r.watch(g, p), r.openListeners(g, p, s)); err != nil {
		return errors.Join(err, spawn.CloseFiles(theirs))
	}
	files := append([]*os.File{r.spawn.Null(), r.spawn.Null(), r.spawn.Null()}, theirs...)
	var far []*os.File
	if s.Streams {
		if g.streams, far, err = newGuestStreams(g.streamsOf(s)); err == nil {
			copy(files, far)
		}
	}
	if s.Seals {
		g.layers.seal = &seal{}
	}
	if err == nil {
		err = r.keep(g) // from here on other goroutines may end it
	}
	if err == nil {
		argv := append([]string{p.recipe.plan.Program}, s.Argv[1:]...)
		err = p.control.Send(initproto.Go{
			Argv: argv, Env: g.environment(s.Env), Dir: cmp.Or(s.Dir, "/"), Files: len(files),
		}, files...)
	}
	err = errors.Join(err, spawn.CloseFiles(theirs), spawn.CloseFiles(far))
	if err != nil {
		return fmt.Errorf("start its program: %w", err)
	}
	if s.Seals {
		return r.offer(p.control)
	}
	if err := g.started(); err != nil {
		return err
	}
	g.listeners.Begin()
	return nil
}

// openListeners serves the listeners of the guest's network. Until keep gives them a profile, everything is denied.
func (r *Ring) openListeners(g *guest, p *prepared, s executors.Spec) (err error) {
	if p.recipe.order.Listen == nil {
		return nil
	}
	c := listenersConfig{
		Egress: r.cfg.Egress, Agent: s.Agent, Executor: s.Executor, Grants: s.Grants,
		Run: g.run, Runs: r.cfg.Runs, Generation: r.cfg.Generation,
	}
	if g.reaps {
		c.Ask = func(ports []uint16) error {
			return g.control.Send(initproto.Ask{What: initproto.AskListen, Ports: ports})
		}
	}
	g.listeners, err = openListeners(c, &p.sockets)
	return err
}

// environment returns the environment of the program: the variables that name its listeners, and env.
func (g *guest) environment(env []string) []string {
	if g.listeners == nil {
		return env
	}
	return proxyEnvironment(env, g.listeners.Proxy())
}

// watch serves the listener of a guest's filter.
func (r *Ring) watch(g *guest, p *prepared) (err error) {
	if p.listener == nil {
		return nil
	}
	g.layers.listener, err = r.listen(
		g, p.listener, violations.Config{Granted: p.recipe.judgesStarts(), Begun: g.begun.Load, Shells: g.kernel.Path},
	)
	if err != nil {
		return err
	}
	// For files, only denials of Landlock, if they can be read.
	g.attest(initproto.LayerViolations, partly)
	g.layers.unfollow = r.followed(g)
	return nil
}

func (p *prepared) closeListener() error {
	if p.listener == nil {
		return nil
	}
	return p.listener.Close()
}

func (c *recipe) mayStart(device, inode uint64) bool { return c.granted[[2]uint64{device, inode}] }

// started waits until init reports that the program runs.
func (g *guest) started() error {
	var t initproto.Told
	files, err := g.control.Receive(&t)
	err = errors.Join(err, spawn.CloseFiles(files))
	switch {
	case errors.Is(err, io.EOF):
		return said("start its program: its first process is gone")
	case err != nil:
		return err
	case t.Failed != "" && t.Errno != 0:
		return executors.Because(fmt.Errorf("start its program: %s: %w", t.Failed, syscall.Errno(t.Errno)),
			fmt.Sprintf("start its program: %s: %s", t.Failed, syscall.Errno(t.Errno)))
	case t.Failed != "":
		return said("start its program: " + t.Failed)
	case !t.Started:
		return said("start its program: its first process says something else")
	}
	g.before = g.layers.used()
	g.begun.Store(true)
	return nil
}

// follow reads the messages of init until it is gone, and waits for the guest.
func (g *guest) follow() {
	for {
		var t initproto.Told
		files, err := g.control.Receive(&t)
		if err == nil && len(t.Listeners) > 0 {
			err = g.listeners.Add(&listenSockets{Listeners: t.Listeners, Files: files})
			files = nil
		}
		err = errors.Join(err, spawn.CloseFiles(files))
		if err != nil {
			break
		}
		g.handleTold(t)
	}
	close(g.followed)
	// Whatever ended the messages, no process of the guest may run unwatched. Kill, or Close of the ring, meets
	// an error again.
	_ = g.Kill()
}

// handleTold handles one message of a running init.
func (g *guest) handleTold(t initproto.Told) {
	g.mu.Lock()
	cpu := max(time.Duration(t.CPU)*time.Millisecond, g.layers.used()-g.before)
	g.cpu, g.peak = max(g.cpu, cpu), max(g.peak, t.Peak)
	if t.Ended && g.lastTold == nil {
		g.lastTold = &t
		if t.Alone { // its init still has mounts to remove, for which nothing waits
			g.end.Do(func() { close(g.done) })
		}
	}
	g.mu.Unlock()
	if t.What == initproto.ToldHeavy {
		g.handleHeavy(t)
		return
	}
	if t.What != initproto.AskUsage {
		return
	}
	select {
	case <-g.usage: // the caller for the previous answer is gone
	default:
	}
	g.usage <- cpu
}
