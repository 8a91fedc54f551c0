package guestinit

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// failed is the exit code of an init that could not build its guest.
const failed = 125

// Main is the whole of init. It returns the exit code of the process, and only if the guest cannot be built or
// is over.
func Main() int {
	// From here on, state of this one thread must reach the program.
	runtime.LockOSThread()
	if len(os.Args) > 0 && os.Args[0] == starterName {
		return starter()
	}
	return first()
}

// first is the first process of a guest.
func first() int {
	if err := hold(); err != nil {
		return failed
	}
	stays := len(os.Args) > 1 && os.Args[1] == initproto.Stays
	var child, socket int
	var failure error
	if stays {
		child, socket, failure = startStarter()
	}
	p, trees, err := initproto.TakeAll(initproto.Control)
	if err != nil {
		return failed
	}
	var o initproto.Order
	if err := json.Unmarshal(p, &o); err != nil {
		return failed
	}
	if failure != nil {
		return refuse(o, broken(initproto.LayerProcess, "start the starter", failure))
	}
	g, err := newGuest(o, stays)
	if err != nil {
		return refuse(o, err)
	}
	g.trees = trees
	if stays {
		return g.reap(p, child, socket)
	}
	if err := g.run(building()); err != nil {
		return refuse(o, err)
	}
	return g.finish()
}

// finish restricts this thread, proves it, reports and becomes the program.
func (g *guest) finish() int {
	if err := g.run(restricting()); err != nil {
		return refuse(g.Order, err)
	}
	if err := g.prove(); err != nil {
		return refuse(g.Order, err)
	}
	if g.Reap && g.awaitFirst() != nil {
		return failed // the first process reports the reason
	}
	if err := g.report(); err != nil {
		return failed
	}
	if err := g.become(); !errors.Is(err, io.EOF) && !errors.Is(err, errTold) {
		_ = initproto.Send(g.toldSocket, initproto.Told{Failed: err.Error()}) // there is no other way to report it
	}
	return failed
}

// refuse reports why there is no guest.
func refuse(o initproto.Order, err error) int {
	r := initproto.Report{Version: initproto.Version}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{layer: initproto.LayerProcess, kind: initproto.KindFault, step: "set up", reason: err.Error()}
	}
	f.report(&r)
	_ = initproto.Send(initproto.Control, r) // a ring that is gone needs no report
	return failed
}

// report reports that every layer is in force.
func (g *guest) report() error {
	r := initproto.Report{Version: initproto.Version, ABI: g.abi, Proved: g.proved, Layers: map[string]string{}}
	for _, l := range []string{
		initproto.LayerProcess, initproto.LayerEnvironment, initproto.LayerDescriptors, initproto.LayerParentDeath,
		initproto.LayerNamespaces,
		initproto.LayerMounts, initproto.LayerExec, initproto.LayerNetwork, initproto.LayerLimits,
		initproto.LayerPrivileges,
		initproto.LayerLandlock, initproto.LayerCapabilities, initproto.LayerSeccomp, initproto.LayerSelfTest,
	} {
		r.Layers[l] = enforced
	}
	r.Layers[initproto.LayerMemory] = unavailable
	if g.WX {
		r.Layers[initproto.LayerMemory] = enforced
	}
	r.Layers[initproto.LayerEgress] = unavailable
	if g.Listen != nil {
		r.Layers[initproto.LayerEgress] = enforced
	}
	if g.listener < 0 {
		return initproto.Send(initproto.Control, r)
	}
	return initproto.Send(initproto.Control, r, g.listener)
}

// The states of a layer in a report.
const (
	enforced    = "enforced"
	unavailable = "unavailable"
)
