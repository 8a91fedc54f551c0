//go:build !linux

package proxy

import (
	"errors"
	"io"
)

type pipes struct{}

func (*pipes) close() {}

// pumpDirection copies with one buffer that it keeps: this package can separate readiness from reading only
// on Linux.
type pumpDirection struct {
	pump     *pump
	dst, src relayStream
	m        byteMeter
}

func newDirection(p *pump, dst, src relayStream, m byteMeter) (*pumpDirection, error) {
	return &pumpDirection{pump: p, dst: dst, src: src, m: m}, nil
}

func (d *pumpDirection) run() error {
	buf, ok := d.pump.buffers.Get().(*[]byte)
	if !ok {
		return errors.New("relay: no buffer")
	}
	defer d.pump.buffers.Put(buf)
	for {
		may := d.m.Take(len(*buf))
		if may == 0 {
			return errUsedUp
		}
		n, err := d.src.Read((*buf)[:may])
		d.m.Back(may - n)
		if n > 0 {
			if _, err := d.dst.Write((*buf)[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
