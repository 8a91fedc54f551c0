package python

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/pyguest"
	"github.com/ringd/ringd/profiles"
)

// codes keeps the byte code of the guest's half for each interpreter that was asked for. Source text would cost
// each start several milliseconds.
type codes struct {
	mu sync.Mutex
	of map[string]*compiled
}

// compiled is the byte code for one interpreter. done is closed when it is there.
type compiled struct {
	done chan struct{}
	code []byte
	err  error
}

// get compiles for each interpreter, with one compilation at a time. If it fails, the next caller retries: it
// may have failed because its run was cancelled.
func (c *codes) get(ctx context.Context, s spec, compile func(context.Context, spec) ([]byte, error)) ([]byte, error) {
	key := s.env.Interpreter + "\x00" + s.env.Version
	for {
		c.mu.Lock()
		k, begun := c.of[key]
		if !begun {
			k = &compiled{done: make(chan struct{})}
			c.of[key] = k
		}
		c.mu.Unlock()
		if !begun {
			k.code, k.err = compile(ctx, s)
			if k.err != nil {
				c.mu.Lock()
				delete(c.of, key)
				c.mu.Unlock()
			}
			close(k.done)
			return k.code, k.err
		}
		select {
		case <-k.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("start python guest: %w", context.Cause(ctx))
		}
		if k.err == nil {
			return k.code, nil
		}
	}
}

// Limits of an interpreter that compiles.
const (
	compileTime   = 30 * time.Second
	compileMemory = 256 << 20
	maxCode       = 4 << 20
)

// compile makes the interpreter of s compile the guest's half, in a guest of the kernel ring that has no agent
// and no grants.
func (e *Executor) compile(ctx context.Context, s spec) (code []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	k := profiles.Kernel{
		Executor: profiles.ExecutorPython, Network: profiles.NetworkOff, Path: true,
		CPUMillis: compileTime.Milliseconds(), MemoryBytes: compileMemory, Processes: 4, Files: 64,
		OutputBytes: maxSaid,
	}
	g, err := e.cfg.Launcher.Launch(ctx, executors.Spec{
		Executor: profiles.ExecutorPython, Argv: argv(s.env, pyguest.Compiler), MinTier: s.Tier, Kernel: k,
		Streams: true,
		CPU:     compileTime, MemoryBytes: compileMemory, Own: s.env.Own, Code: s.env.Code, List: s.env.List,
		Env: ofProcess(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Conn().Close(), executors.CloseGuest(g)) }()
	stop := context.AfterFunc(ctx, func() { _ = g.Kill() }) // ends the read below
	code, err = exchange(g.Conn(), pyguest.Source())
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	err = errors.Join(err, g.Kill())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compile the guest's half: %w", err), startOutput(ctx, g))
	}
	return code, nil
}

// exchange sends a text and reads one, each after its length.
func exchange(conn io.ReadWriter, text []byte) ([]byte, error) {
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxCode {
		return nil, fmt.Errorf("%d bytes of code", n)
	}
	code := make([]byte, n)
	_, err := io.ReadFull(conn, code)
	return code, err
}
