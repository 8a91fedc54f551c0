// Package metrics owns the Prometheus metrics of the daemon: their names, their labels, and their registry.
// It refuses labels that a program, a policy or a caller could make up: every label value comes from a closed
// list, and any other value is counted as "other". The daemon, the API and the rings call it.
package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics holds the daemon's metrics. A nil *Metrics counts nothing. It is safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	runs       *prometheus.CounterVec
	live       prometheus.Gauge
	runSeconds prometheus.Histogram
	decisions  *prometheus.CounterVec
	pushes     *prometheus.CounterVec
	generation prometheus.Gauge
	lockdown   prometheus.Gauge
	calls      *prometheus.CounterVec
	callTime   prometheus.Histogram
	faults     *prometheus.CounterVec
	requests   *prometheus.CounterVec
	request    prometheus.Histogram
	dropped    prometheus.Counter
	guests     *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	pauses     *prometheus.CounterVec
	paused     prometheus.Gauge
	approvals  *prometheus.CounterVec
	notified   *prometheus.CounterVec
	sealTime   prometheus.Histogram
	sealBytes  prometheus.Histogram
	resumeTime prometheus.Histogram
	acts       *prometheus.CounterVec
	egress     egressFigures

	mu   sync.Mutex
	open map[string]*prometheus.Timer // by run/call
}

// New returns metrics in a new registry.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), open: map[string]*prometheus.Timer{}}
	counter := func(name, text string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "ringd", Name: name, Help: text}, labels)
		m.registry.MustRegister(v)
		return v
	}
	gauge := func(name, text string) prometheus.Gauge {
		v := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "ringd", Name: name, Help: text})
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, text string, least float64) prometheus.Histogram {
		v := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "ringd", Name: name, Help: text,
			Buckets: prometheus.ExponentialBuckets(least, 4, 10)})
		m.registry.MustRegister(v)
		return v
	}
	m.runs = counter("runs_total", "Ended runs, by state.", "state")
	m.live = gauge("runs_live", "Runs that have not ended.")
	m.runSeconds = histogram("run_seconds", "Time from the request to the recorded end of a run.", 0.0005)
	m.decisions = counter("decisions_total", "Recorded decisions, by verdict and code.", "verdict", "code")
	m.pushes = counter("pushes_total", "Pushes, by result.", "result")
	m.generation = gauge("generation", "The generation in force, or 0 if there is none.")
	m.lockdown = gauge("lockdown", "1 during a lockdown.")
	m.calls = counter("calls_total", "Ended bridge calls, by state.", "state")
	m.callTime = histogram("call_seconds", "Time from the decision to the end of a bridge call.", 0.00001)
	m.faults = counter("faults_total", "Failed writes, by place.", "place")
	m.requests = counter("requests_total", "API requests, by route and status.", "route", "status")
	m.request = histogram("request_seconds", "Duration of API requests, without those that wait.", 0.0001)
	m.dropped = m.counterOf("events_dropped_total", "Events dropped for slow readers.")
	m.guests = counter("guest_starts_total", "Guests started, by executor.", "executor")
	m.refusals = counter(
		"guest_refusals_total",
		"Recorded attempts of guests that the kernel refused.",
		"executor",
		"layer",
	)
	m.pauses = counter("pauses_total", "Paused runs, by result.", "step")
	m.paused = gauge("runs_paused", "Paused runs in the store.")
	m.approvals = counter("approvals_total", "Approval decisions received, by verdict; refused means that the "+
		"decision was not accepted.", "verdict")
	m.notified = counter("notifications_total", "Attempts to notify approvers of a waiting call, by result.", "result")
	m.sealTime = histogram("pause_seal_seconds", "Time to seal a record and write it to disk.", 0.0001)
	m.sealBytes = histogram("pause_sealed_bytes", "Size of sealed records.", 1024)
	m.resumeTime = histogram("pause_resume_seconds", "Time from the claim of a pause to the live run.", 0.0001)
	m.acts = counter(
		"acts_total",
		"Actions that guests asked for, by executor, kind and verdict.",
		"executor",
		"kind",
		"verdict",
	)
	m.egress = newEgressFigures(m.registry)
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) counterOf(name, text string) prometheus.Counter {
	v := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "ringd", Name: name, Help: text})
	m.registry.MustRegister(v)
	return v
}

// Living exports the live sessions of an executor that wait for their next run. now is called at each scrape.
// Living is called once for each executor.
func (m *Metrics) Living(executor string, now func() (sessions int, bytes int64)) {
	if m == nil {
		return
	}
	of := prometheus.Labels{"executor": closedValue(executor, executors)}
	for name, gauge := range map[string]struct {
		help string
		read func() float64
	}{
		"sessions_live": {"Sessions with a process that waits for the next run.",
			func() float64 { n, _ := now(); return float64(n) }},
		"session_bytes": {"Upper bound of the memory of these processes.",
			func() float64 { _, b := now(); return float64(b) }},
	} {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(
				prometheus.GaugeOpts{Namespace: "ringd", Name: name, Help: gauge.help, ConstLabels: of},
				gauge.read,
			),
		)
	}
}

// Handler serves the registry.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// RunStarted counts one live run.
func (m *Metrics) RunStarted() {
	if m != nil {
		m.live.Inc()
	}
}

// RunEnded counts the end of a run.
func (m *Metrics) RunEnded(state string, took time.Duration) {
	if m == nil {
		return
	}
	m.live.Dec()
	m.runs.WithLabelValues(closedValue(state, states)).Inc()
	m.runSeconds.Observe(took.Seconds())
}

// Decided counts a recorded decision.
func (m *Metrics) Decided(verdict, code string) {
	if m != nil {
		m.decisions.WithLabelValues(closedValue(verdict, verdicts), closedValue(code, codes)).Inc()
	}
}

// Pushed counts a push.
func (m *Metrics) Pushed(result string) {
	if m != nil {
		m.pushes.WithLabelValues(closedValue(result, results)).Inc()
	}
}

// InForce sets the generation in force. Zero means none.
func (m *Metrics) InForce(generation int64) {
	if m != nil {
		m.generation.Set(float64(generation))
	}
}

// maxOpen limits the number of open calls that are timed.
const maxOpen = 1 << 14

// Locked sets whether a lockdown holds.
func (m *Metrics) Locked(is bool) {
	if m == nil {
		return
	}
	m.lockdown.Set(0)
	if is {
		m.lockdown.Set(1)
	}
}

// CallOpened starts the timer of a bridge call.
func (m *Metrics) CallOpened(run, call string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) < maxOpen {
		m.open[run+"/"+call] = prometheus.NewTimer(m.callTime)
	}
}

// CallClosed counts the end of a bridge call, and how long it took.
func (m *Metrics) CallClosed(run, call, state string) {
	if m == nil {
		return
	}
	m.calls.WithLabelValues(closedValue(state, callStates)).Inc()
	m.mu.Lock()
	timer := m.open[run+"/"+call]
	delete(m.open, run+"/"+call)
	m.mu.Unlock()
	if timer != nil {
		timer.ObserveDuration()
	}
}

// Acted counts a recorded decision about an act of a guest.
func (m *Metrics) Acted(executor, kind, verdict string) {
	if m != nil {
		executor, kind, verdict = closedValue(executor, executors), closedValue(kind, acts),
			closedValue(verdict, verdicts)
		m.acts.WithLabelValues(executor, kind, verdict).Inc()
	}
}

// Fault counts a failed write of "audit" or "store".
func (m *Metrics) Fault(place string) {
	if m != nil {
		m.faults.WithLabelValues(closedValue(place, places)).Inc()
	}
}

// Guest counts a guest started for an executor.
func (m *Metrics) Guest(executor string) {
	if m != nil {
		m.guests.WithLabelValues(closedValue(executor, executors)).Inc()
	}
}

// Refused counts an act of a guest that a layer refused.
func (m *Metrics) Refused(executor, layer string) {
	if m != nil {
		m.refusals.WithLabelValues(closedValue(executor, executors), closedValue(layer, layers)).Inc()
	}
}

// Requested counts an API request. route is a pattern of the route table, never a path. waits is true for
// requests that wait for an event.
func (m *Metrics) Requested(route string, status int, took time.Duration, waits bool) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if !waits {
		m.request.Observe(took.Seconds())
	}
}

// EventsDropped counts events that a reader did not get.
func (m *Metrics) EventsDropped(n int64) {
	if m != nil {
		m.dropped.Add(float64(n))
	}
}

// Paused counts one step of a pause: "paused", "resumed", "expired",
// "cancelled" or "refused".
func (m *Metrics) Paused(step string) {
	if m != nil {
		m.pauses.WithLabelValues(closedValue(step, pauseSteps)).Inc()
	}
}

// PausedNow sets the number of runs that wait in the store.
func (m *Metrics) PausedNow(n int64) {
	if m != nil {
		m.paused.Set(float64(n))
	}
}

// Sealed observes the time and the size of one sealed record.
func (m *Metrics) Sealed(took time.Duration, size int) {
	if m != nil {
		m.sealTime.Observe(took.Seconds())
		m.sealBytes.Observe(float64(size))
	}
}

// Resumed observes the time from the claim of a pause to the live run.
func (m *Metrics) Resumed(took time.Duration) {
	if m != nil {
		m.resumeTime.Observe(took.Seconds())
	}
}

// Approved counts an approver's verdict: "allow", "deny" or "refused".
func (m *Metrics) Approved(verdict string) {
	if m != nil {
		m.approvals.WithLabelValues(closedValue(verdict, approvals)).Inc()
	}
}

// Notified counts an attempt to notify people: "heard" or "failed".
func (m *Metrics) Notified(result string) {
	if m != nil {
		m.notified.WithLabelValues(closedValue(result, tellings)).Inc()
	}
}

func closedValue(value string, list func() []string) string {
	if slices.Contains(list(), value) {
		return value
	}
	return "other"
}
