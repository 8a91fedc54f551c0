// This file joins the network of one guest with egress: what its init is to
// listen on, which sockets came of that, and whose profile decides over what
// arrives there. The kernel ring opens them before the program of a guest begins,
// tells them of every set that comes into force, and closes them with the guest.

package kernel

import (
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// firstProxy is the port of the proxy, or the next one that no rule names.
const firstProxy = 3128

// listenedPorts are the TCP ports on which what the decider's profile lists can be
// reached without a proxy: 80, 443 and those that it names, the lowest, as many as
// a guest may have. What is listed on any port, or on one of the others, is
// reached by the proxy.
func listenedPorts(d *profiles.Decider) []uint16 {
	listed, _ := d.EgressList().Ports()
	slices.Sort(listed)
	ports := []uint16{80, 443}
	for _, p := range listed {
		if len(ports) < initproto.MaxPorts && p != 0 && p != initproto.DNS && !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	slices.Sort(ports)
	return ports
}

// wantedListen is what the init of a guest with these ports listens on.
func wantedListen(ports []uint16) *initproto.Listen {
	l := &initproto.Listen{Proxy: firstProxy, Ports: ports}
	for slices.Contains(ports, l.Proxy) {
		l.Proxy++
	}
	return l
}

// runDeciders are those of a set. All guests of an agent that nothing narrows share
// one, since each holds an index of every rule. They are safe for concurrent use.
type runDeciders struct {
	set *profiles.Set

	mu    sync.Mutex
	whole map[string]*profiles.Decider
}

// newRunDeciders returns those of a set. Those of nil refuse everything.
func newRunDeciders(set *profiles.Set) *runDeciders {
	return &runDeciders{set: set, whole: map[string]*profiles.Decider{}}
}

// Of is that of an agent, narrowed; nil when there is none: it refuses everything.
func (d *runDeciders) Of(agent string, grants []profiles.Grants) *profiles.Decider {
	a, ok := d.set.Agent(agent)
	if !ok {
		return nil
	}
	if len(grants) == 0 {
		return d.wholeOf(agent, a)
	}
	for _, g := range grants {
		var err error
		if a, err = a.Narrow(g); err != nil {
			return nil
		}
	}
	return profiles.NewDecider(a, d.set.Revision, profiles.Environment{})
}

func (d *runDeciders) wholeOf(agent string, a profiles.Agent) *profiles.Decider {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.whole[agent] == nil {
		d.whole[agent] = profiles.NewDecider(a, d.set.Revision, profiles.Environment{})
	}
	return d.whole[agent]
}

// proxyEnvironment is env, with the variables in front by which programs find the
// proxy on this port; those that env sets itself, in capitals or not, are left to
// it. None names SOCKS: Python's httpx, and what is built on it, does not start
// with such a one unless it has a package more.
func proxyEnvironment(env []string, proxy uint16) []string {
	at := "127.0.0.1:" + decimal(proxy)
	var out []string
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", "http://" + at}, {"HTTPS_PROXY", "http://" + at}, {"ALL_PROXY", "http://" + at},
		{"NO_PROXY", "localhost,127.0.0.1,::1"},
	} {
		out = append(out, v.name+"="+v.value, strings.ToLower(v.name)+"="+v.value)
	}
	out = append(out, "NODE_USE_ENV_PROXY=1")
	out = slices.DeleteFunc(out, func(own string) bool {
		name, _, _ := strings.Cut(own, "=")
		return slices.ContainsFunc(env, func(e string) bool {
			has, _, _ := strings.Cut(e, "=")
			return strings.EqualFold(has, name)
		})
	})
	return append(out, env...)
}
