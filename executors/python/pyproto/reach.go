package pyproto

import (
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// inside are the addresses that a guest has without a grant: its loopback, the zero address, which means
// loopback too, and those that the egress ring assigns to names (package rings/kernel/proxy).
func inside() []string {
	return []string{"127.0.0.0/8", "::1/128", "0.0.0.0/32", "::/128", "198.18.0.0/15", "fd72:696e:6764::/48"}
}

// reach lists the addresses that a program may use as addresses.
func reach(list []profiles.EgressRule) []span {
	names := inside()
	for _, r := range list {
		names = append(names, r.Host)
	}
	out := []span{}
	for _, text := range names {
		if from, to, ok := egress.Span(text); ok {
			out = append(out, span{From: from, To: to})
		}
	}
	return out
}
