//go:build linux

package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// probeVerb makes this binary the program inside a guest.
const probeVerb = "probe"

// What the probe measures.
const (
	callParent = "getppid"
	callOpen   = "open"
	callStart  = "start"

	truth    = "/usr/bin/true"
	readable = "/etc/os-release"
)

// probe measures system calls of this process and writes nanoseconds of each.
func probe(out io.Writer) error {
	took := map[string]time.Duration{
		callParent: each(200_000, func() error { unix.Getppid(); return nil }),
	}
	var failed error
	keep := func(f func() error) func() error {
		return func() error {
			err := f()
			if err != nil {
				failed = err
			}
			return err
		}
	}
	took[callOpen] = each(20_000, keep(func() error {
		fd, err := unix.Open(readable, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}))
	if failed == nil {
		took[callStart] = each(40, keep(func() error { return exec.Command(truth).Run() }))
	}
	if failed != nil {
		return failed
	}
	return json.NewEncoder(out).Encode(took)
}

// each is the median over ten parts of what one call takes.
func each(n int, call func() error) time.Duration {
	const parts = 10
	var took []time.Duration
	for range parts {
		began := time.Now()
		for range n / parts {
			if call() != nil {
				return 0
			}
		}
		took = append(took, time.Since(began)/time.Duration(n/parts))
	}
	return median(took)
}
