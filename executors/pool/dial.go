package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
)

// sealTime is how long the launcher may take to see that a ready guest is sealed.
const sealTime = 5 * time.Second

// InRing tells whether the kernel ring stands around a guest, or the plain
// launcher of a host that has not the layers.
func InRing(g executors.Guest) bool { return g.Attestation().Layers["mounts"] == "enforced" }

// Dial says what a guest is to be, in JSON, and waits until it is ready and, in a kernel
// ring, sealed. One that was not launched to be sealed is refused there. On error the
// guest is gone.
func Dial(ctx context.Context, c executors.LinkConfig, g executors.Guest, settings any) (*executors.Link, error) {
	if !InRing(g) {
		return Greet(ctx, c, g, settings)
	}
	sealer, ok := g.(executors.Sealer)
	if !ok {
		return nil, errors.Join(errors.New("a guest of the kernel ring that is not to be sealed"), g.Kill(), g.Conn().Close())
	}
	// Beside the greeting: the guest is sealed before it says that it is ready.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	sealed := make(chan error, 1)
	c.Go(func() { sealed <- sealer.Sealed(within) })
	link, err := Greet(ctx, c, g, settings)
	if err != nil {
		cancel()
		<-sealed // says no more than err
		return nil, err
	}
	// One that is ready has closed what it seals itself by.
	late := time.AfterFunc(sealTime, cancel)
	defer late.Stop()
	if err := <-sealed; err != nil {
		return nil, errors.Join(fmt.Errorf("it says that it is ready and is not sealed: %w", err), link.Close())
	}
	return link, nil
}

// Greet is Dial of a guest that runs no program, and so is not sealed.
func Greet(ctx context.Context, c executors.LinkConfig, g executors.Guest, settings any) (*executors.Link, error) {
	b, err := json.Marshal(settings)
	if err != nil {
		return nil, errors.Join(err, g.Kill(), g.Conn().Close())
	}
	return executors.Dial(ctx, c, g, executors.Hello{Version: executors.ProtocolVersion, Settings: b})
}
