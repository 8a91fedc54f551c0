package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringd/ringd/profiles/egress"
)

// egressFigures are the metrics of connections. No label names a host, an agent or a rule, because a policy
// could make those up.
type egressFigures struct {
	decisions *prometheus.CounterVec
	ends      *prometheus.CounterVec
	open      prometheus.Gauge
	dial      prometheus.Histogram
	bytes     *prometheus.CounterVec
}

func newEgressFigures(registry *prometheus.Registry) egressFigures {
	counter := func(name, text string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(
			prometheus.CounterOpts{Namespace: "ringd", Subsystem: "egress", Name: name, Help: text},
			labels,
		)
	}
	f := egressFigures{
		decisions: counter(
			"decisions_total",
			"Egress decisions, by entry point, verdict and code.",
			"door",
			"verdict",
			"code",
		),
		ends: counter(
			"ends_total",
			"Ended connections, by entry point and result; cut means that the policy no longer allows them.",
			"door",
			"end",
		),
		open: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Namespace: "ringd",
				Subsystem: "egress",
				Name:      "connections",
				Help:      "Open connections.",
			},
		),
		dial: prometheus.NewHistogram(
			prometheus.HistogramOpts{Namespace: "ringd", Subsystem: "egress", Name: "dial_seconds",
				Help:    "Time from the decision to the connection.",
				Buckets: prometheus.ExponentialBuckets(0.00005, 4, 10)},
		),
		bytes: counter("bytes_total", "Bytes of ended connections, by direction; up is sent by guests.", "direction"),
	}
	registry.MustRegister(f.decisions, f.ends, f.open, f.dial, f.bytes)
	return f
}

// Egress is one event of a connection. It is a decision if End is empty, else an end. Zero fields count
// nothing.
type Egress struct {
	Listener, Verdict, Code, End string
	Dialed                       time.Duration
	Up, Down                     int64
	Open                         int // change of the number of open connections
}

// Egress counts e.
func (m *Metrics) Egress(e Egress) {
	if m == nil {
		return
	}
	f, listener := m.egress, closedValue(e.Listener, listeners)
	switch {
	case e.End != "":
		f.ends.WithLabelValues(listener, closedValue(e.End, ends)).Inc()
	case e.Code != "" || e.Verdict != "":
		f.decisions.WithLabelValues(listener, closedValue(e.Verdict, verdicts), closedValue(e.Code, codes)).Inc()
	}
	if e.Dialed > 0 {
		f.dial.Observe(e.Dialed.Seconds())
	}
	if e.Up > 0 {
		f.bytes.WithLabelValues("up").Add(float64(e.Up))
	}
	if e.Down > 0 {
		f.bytes.WithLabelValues("down").Add(float64(e.Down))
	}
	if e.Open != 0 {
		f.open.Add(float64(e.Open))
	}
}

func listeners() []string {
	return []string{"connect", "http", "socks5", "transparent", "dns", "fetch"}
}

func ends() []string {
	return []string{"eof", "cut", "budget", "refused", "error", "closed"}
}

// egressCodes returns the codes of decisions about targets.
func egressCodes() (out []string) {
	for _, c := range []egress.Code{
		egress.Off, egress.NotGranted, egress.Port, egress.Denied, egress.Expired, egress.Target, egress.Address,
		egress.NoAddress,
		egress.NotTLS, egress.SNI, egress.ECH, egress.Request, egress.Method, egress.Path, egress.Redirect,
		egress.Opaque,
		egress.Budget, egress.Gateways, egress.Field,
	} {
		out = append(out, string(c))
	}
	return out
}
