//go:build linux

// Command ring is the proxy listener of package proxy alone, with all that a guest's
// connection passes: the decision by a list of a thousand entries, the guard on
// addresses, and a record of every event in a file. It prints its address once it
// listens.
//
//	egress-ring -allow 127.0.0.1:8080
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// entries is how many of the list match nothing.
const entries = 1000

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "egress-ring:", err)
		os.Exit(1)
	}
}

func run() error {
	allow := flag.String("allow", "", "address and port to reach")
	flag.Parse()
	to, err := netip.ParseAddrPort(*allow)
	if err != nil {
		return err
	}
	agent := profiles.Agent{Name: "bench", Egress: profiles.Egress{Mode: profiles.EgressAllowlist}}
	for i := range entries {
		agent.Egress.Allow = append(agent.Egress.Allow, profiles.EgressRule{
			Host: fmt.Sprintf("host%d.bench.test", i), Ports: []int{443}})
	}
	agent.Egress.Allow = append(agent.Egress.Allow, profiles.EgressRule{
		Host: to.Addr().String(), Ports: []int{int(to.Port())}})
	decider := profiles.NewDecider(agent, "bench", profiles.Environment{Now: time.Now()})

	log, err := os.CreateTemp("", "egress-ring")
	if err != nil {
		return err
	}
	if err := os.Remove(log.Name()); err != nil {
		return err
	}
	var mu sync.Mutex
	e, err := proxy.New(proxy.Config{
		Go: func(f func()) { go f() }, Now: time.Now, Dials: 1 << 30,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, nil },
		Record: func(v proxy.Event) error {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			_, err = log.Write(append(b, '\n'))
			return err
		},
	})
	if err != nil {
		return err
	}
	guest := e.Open(proxy.Holder{
		Agent: "bench", Executor: profiles.ExecutorPython, Run: func() string { return "run" },
		Deciders:   func() []*profiles.Decider { return []*profiles.Decider{decider} },
		Generation: func() int64 { return 1 },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	if err := guest.ServeProxy(l); err != nil {
		return err
	}
	select {} // until it is killed
}
