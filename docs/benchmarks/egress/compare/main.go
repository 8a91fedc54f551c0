//go:build linux

// Command compare compares the proxy listener of package proxy with the proxies that a
// harness could use instead, on one machine and under one load. In each round, every
// proxy is measured once, in a new process, and the order changes from round to round.
// It prints Markdown tables of medians with the ratio to goproxy.
//
//	compare [-rounds 6] [-time 2s] [-size 1024] -bin DIR
//
// The client, the origin and the proxies share the machine, over loopback. A
// closed loop measures: each connection sends its next request when it has the
// answer. CPU is that of the proxy's processes alone.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	b := &bench{out: os.Stdout, got: map[string]map[string][]float64{}}
	go func() {
		<-stopped
		b.stop()
		os.Exit(1)
	}()
	if err := b.run(os.Args[1:]); err != nil {
		b.stop()
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

type bench struct {
	out    io.Writer
	rounds int
	time   time.Duration
	size   int64 // bytes of a download
	bin    string
	origin *origin
	got    map[string]map[string][]float64 // by proxy, by figure: one a round
	failed map[string]error
	live   *process
}

// idleTunnels is how many tunnels stand idle beside a download.
const idleTunnels = 300

func (b *bench) run(args []string) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.IntVar(&b.rounds, "rounds", 6, "rounds")
	f.DurationVar(&b.time, "time", 2*time.Second, "of each closed loop")
	mib := f.Int64("size", 1024, "MiB of a download")
	f.StringVar(&b.bin, "bin", ".", "folder of the programs egress-ring and egress-peers")
	if err := f.Parse(args); err != nil {
		return err
	}
	b.size = *mib << 20
	var err error
	if b.origin, err = listen(); err != nil {
		return err
	}
	b.failed = map[string]error{}
	all := proxies(b.bin, b.origin.addr)
	for round := range b.rounds {
		for i := range all {
			p := all[(i+round)%len(all)]
			if b.failed[p.name] != nil {
				continue
			}
			if err := b.round(p); err != nil {
				b.failed[p.name] = err
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, b.rounds)
	}
	b.print(all)
	return nil
}

func (b *bench) stop() {
	if b.live != nil {
		b.live.stop()
	}
}

// round measures one proxy once, in a process that was just started.
func (b *bench) round(p proxy) error {
	run, err := p.start()
	if err != nil {
		return err
	}
	b.live = run
	defer b.stop()
	note := func(figure string, v float64) {
		if b.got[p.name] == nil {
			b.got[p.name] = map[string][]float64{}
		}
		b.got[p.name][figure] = append(b.got[p.name][figure], v)
	}
	to := target{proxy: run.addr, origin: b.origin.addr, direct: p.direct}
	for _, c := range []int{1, 32} {
		for _, kind := range []struct {
			name string
			loop func(target) (func() error, func(), error)
		}{{"http", keepAlive}, {"connect", tunnels}} {
			if kind.name == "http" && p.closes {
				continue
			}
			if err := b.loop(fmt.Sprintf("%s%d", kind.name, c), c, run, to, kind.loop, note); err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
		}
	}
	alone, err := b.download(run, to, note)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	if p.direct {
		return nil
	}
	done, err := b.idle(run, to, note)
	if err != nil {
		return fmt.Errorf("idle tunnels: %w", err)
	}
	defer done()
	beside, err := b.download(run, to, func(string, float64) {})
	if err != nil {
		return fmt.Errorf("download beside idle tunnels: %w", err)
	}
	note("beside", beside/alone)
	return nil
}

// loop runs c closed loops at once.
func (b *bench) loop(name string, c int, run *process, to target, start func(target) (func() error, func(), error),
	note func(string, float64)) error {
	took := make([][]time.Duration, c)
	failed := make(chan error, c)
	before := run.cpu()
	begin := time.Now()
	for i := range c {
		go func() {
			one, end, err := start(to)
			if err == nil {
				defer end()
			}
			for err == nil && time.Since(begin) < b.time {
				at := time.Now()
				err = one()
				took[i] = append(took[i], time.Since(at))
			}
			failed <- err
		}()
	}
	var err error
	for range c {
		if e := <-failed; e != nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	spent, cpu := time.Since(begin), run.cpu()-before
	all := slices.Concat(took...)
	slices.Sort(all)
	n := float64(len(all))
	note(name+" p50", float64(all[len(all)/2].Microseconds()))
	note(name+" p99", float64(all[len(all)*99/100].Microseconds()))
	note(name+" rate", n/spent.Seconds())
	note(name+" cpu", float64(cpu.Microseconds())/n)
	return nil
}

// download takes size bytes through one tunnel; MB/s.
func (b *bench) download(run *process, to target, note func(string, float64)) (float64, error) {
	c, err := to.tunnel()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	before, begin := run.cpu(), time.Now()
	if err := c.fetch(b.size); err != nil {
		return 0, err
	}
	spent, cpu := time.Since(begin), run.cpu()-before
	rate := float64(b.size) / 1e6 / spent.Seconds()
	note("download rate", rate)
	note("download cpu", float64(cpu.Milliseconds())/(float64(b.size)/(1<<30)))
	return rate, nil
}

// idle opens tunnels that stay idle once a request has passed, until done.
func (b *bench) idle(run *process, to target, note func(string, float64)) (done func(), err error) {
	rss, fds := run.memory(), run.descriptors()
	var open []*conn
	done = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	for range idleTunnels {
		c, err := to.tunnel()
		if err == nil {
			open = append(open, c)
			err = c.fetch(64)
		}
		if err != nil {
			done()
			return nil, err
		}
	}
	note("idle memory", float64(run.memory()-rss)/idleTunnels/1024)
	note("idle fds", float64(run.descriptors()-fds)/idleTunnels)
	return done, nil
}
