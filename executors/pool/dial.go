package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/executors"
)

// sealTime limits how long the launcher may take to confirm that a ready guest is sealed.
const sealTime = 5 * time.Second

// InRing reports whether a guest runs in the layers of the kernel ring, as opposed to the unconfined launcher
// of a host without them.
func InRing(g executors.Guest) bool { return g.Attestation().Layers["mounts"] == "enforced" }

// Dial sends a guest its settings, as JSON, and waits until it is ready and, in a kernel ring, sealed. There it
// rejects a guest that was not launched to be sealed. On error the guest is gone.
func Dial(ctx context.Context, c executors.LinkConfig, g executors.Guest, settings any) (*executors.Link, error) {
	if !InRing(g) {
		return Greet(ctx, c, g, settings)
	}
	sealer, ok := g.(executors.Sealer)
	if !ok {
		return nil, errors.Join(
			errors.New("a guest of the kernel ring that is not to be sealed"), g.Kill(), g.Conn().Close(),
		)
	}
	// At the same time as the greeting: the guest is sealed before it reports that it is ready.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	sealed := make(chan error, 1)
	c.Go(func() { sealed <- sealer.Sealed(within) })
	link, err := Greet(ctx, c, g, settings)
	if err != nil {
		cancel()
		<-sealed // its error adds nothing to err
		return nil, err
	}
	// A ready guest has closed the descriptor by which it seals itself.
	late := time.AfterFunc(sealTime, cancel)
	defer late.Stop()
	if err := <-sealed; err != nil {
		return nil, errors.Join(fmt.Errorf("it says that it is ready and is not sealed: %w", err), link.Close())
	}
	return link, nil
}

// Greet is Dial for a guest that runs no program, and so is not sealed.
func Greet(ctx context.Context, c executors.LinkConfig, g executors.Guest, settings any) (*executors.Link, error) {
	b, err := json.Marshal(settings)
	if err != nil {
		return nil, errors.Join(err, g.Kill(), g.Conn().Close())
	}
	return executors.Dial(ctx, c, g, executors.Hello{Version: executors.ProtocolVersion, Settings: b})
}
