//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
)

func (b *bench) median(proxy, figure string) (float64, bool) {
	all := slices.Clone(b.got[proxy][figure])
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// peer is what the others are set beside.
const peer = "goproxy 1.9.2"

type column struct {
	title, figure, format string
	added                 bool // less what it is without a proxy, round by round
	ratio                 bool // with the ratio to the peer
}

func (b *bench) print(all []proxy) {
	fmt.Fprintf(b.out, "As uid %d, %d rounds; medians. In parentheses the ratio to %s.\n", os.Getuid(), b.rounds, peer)
	b.table(all, "Plain HTTP on a connection that is kept", []column{
		{"c=1: added p50, µs", "http1 p50", "%.0f", true, true},
		{"added p99, µs", "http1 p99", "%.0f", true, false},
		{"CPU µs a request", "http1 cpu", "%.1f", false, true},
		{"c=32: requests a second", "http32 rate", "%.0f", false, true},
		{"CPU µs a request", "http32 cpu", "%.1f", false, true},
	})
	b.table(all, "A new CONNECT tunnel and one request", []column{
		{"c=1: added p50, µs", "connect1 p50", "%.0f", true, true},
		{"CPU µs a tunnel", "connect1 cpu", "%.0f", false, true},
		{"c=32: tunnels a second", "connect32 rate", "%.0f", false, true},
		{"CPU µs a tunnel", "connect32 cpu", "%.0f", false, true},
	})
	b.table(all, fmt.Sprintf("A download of %d MiB through a tunnel, and idle tunnels", b.size>>20), []column{
		{"MB/s", "download rate", "%.0f", false, true},
		{"CPU ms a GiB", "download cpu", "%.0f", false, true},
		{fmt.Sprintf("of its own speed beside %d idle tunnels", idleTunnels), "beside", "%.2f", false, false},
		{"KiB an idle tunnel", "idle memory", "%.1f", false, true},
		{"descriptors", "idle fds", "%.1f", false, false},
	})
	for _, p := range all {
		if err := b.failed[p.name]; err != nil {
			fmt.Fprintf(b.out, "\n%s: left out: %v\n", p.name, err)
		}
	}
}

func (b *bench) table(all []proxy, title string, columns []column) {
	fmt.Fprintf(b.out, "\n%s:\n\n| |", title)
	for _, c := range columns {
		fmt.Fprintf(b.out, " %s |", c.title)
	}
	fmt.Fprint(b.out, "\n|---|")
	for range columns {
		fmt.Fprint(b.out, "---|")
	}
	fmt.Fprintln(b.out)
	for _, p := range all {
		if b.failed[p.name] != nil {
			continue
		}
		fmt.Fprintf(b.out, "| %s |", p.name)
		for _, c := range columns {
			fmt.Fprintf(b.out, " %s |", b.cell(p, c))
		}
		fmt.Fprintln(b.out)
	}
}

func (b *bench) cell(p proxy, c column) string {
	v, ok := b.value(p.name, c, p.direct)
	if !ok {
		return "–"
	}
	text := fmt.Sprintf(c.format, v)
	if to, ok := b.value(peer, c, false); ok && c.ratio && to > 0 && !p.direct {
		text += fmt.Sprintf(" (%.2f)", v/to)
	}
	return text
}

func (b *bench) value(proxy string, c column, direct bool) (float64, bool) {
	if !c.added || direct {
		return b.median(proxy, c.figure)
	}
	own, without := b.got[proxy][c.figure], b.got["direct"][c.figure]
	var added []float64
	for i := range min(len(own), len(without)) {
		added = append(added, own[i]-without[i])
	}
	if len(added) == 0 {
		return 0, false
	}
	slices.Sort(added)
	return added[len(added)/2], true
}
