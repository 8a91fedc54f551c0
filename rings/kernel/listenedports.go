// The listeners of one guest connect its network with egress: the ports on which its init listens, the sockets
// that it made, and the profile that decides about connections. The kernel ring opens them before the program
// of a guest begins, passes every new set to them, and closes them with the guest.

package kernel

import (
	"slices"
	"strings"
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// firstProxy is the port of the proxy. If a rule names this port, the proxy has the next port that no rule names.
const firstProxy = 3128

// listenedPorts are the TCP ports on which the hosts of the decider's profile can be reached without a proxy:
// 80, 443 and the ports that it names, the lowest first, up to the maximum for a guest. Hosts with any port, or
// with one of the other ports, are reached through the proxy.
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

// wantedListen are the sockets on which the init of a guest with these ports listens.
func wantedListen(ports []uint16) *initproto.Listen {
	l := &initproto.Listen{Proxy: firstProxy, Ports: ports}
	for slices.Contains(ports, l.Proxy) {
		l.Proxy++
	}
	return l
}

// runDeciders are the deciders of a set. All guests of an agent without narrowing share one decider, since each
// holds an index of every rule. They are safe for concurrent use.
type runDeciders struct {
	set *profiles.Set

	mu    sync.Mutex
	whole map[string]*profiles.Decider
}

// newRunDeciders returns the deciders of a set. Those of a nil set deny everything.
func newRunDeciders(set *profiles.Set) *runDeciders {
	return &runDeciders{set: set, whole: map[string]*profiles.Decider{}}
}

// Of returns the narrowed decider of an agent. It is nil, which denies everything, if there is none.
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

// proxyEnvironment adds the variables by which programs find the proxy on this port in front of env. A variable
// that env sets itself, in upper or lower case, is not added. None of them names SOCKS: Python's httpx, and
// libraries based on it, do not start with such a variable unless an additional package is installed.
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
