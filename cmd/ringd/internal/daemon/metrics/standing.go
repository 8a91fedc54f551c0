package metrics

import (
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Standing is a snapshot of the daemon's state. Conditions are codes of wire.Condition. A code that is not in
// the list of the collector is not exported.
type Standing struct {
	Ready      bool // new runs are accepted
	Conditions []string
	Now        time.Time
	Closes     time.Time // when the generation in force will be closed; zero if it will not
	Expires    time.Time // when the push in force expires; zero if it is not signed, or there is none
	LogBytes   int64
	Segments   int64
	// ArchivedBytes and Archives count the part of the log that is in an archive.
	ArchivedBytes, Archives int64
	Free                    uint64 // bytes on the disk of the state folder
	FreeKnown               bool
	Floor                   uint64
}

// Stands exports the state of the daemon at each scrape. codes are all possible conditions. Stands is called
// once.
func (m *Metrics) Stands(codes []string, now func() Standing) {
	if m == nil {
		return
	}
	gauge := func(name, text string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ringd_"+name, text, labels, nil)
	}
	m.registry.MustRegister(&standing{codes: codes, now: now,
		closed:    gauge("closed", "1 while new runs are refused, for any reason."),
		condition: gauge("condition", "1 while a condition of the status is present, by code.", "code"),
		closes: gauge(
			"closes_seconds",
			"Seconds until everything is closed unless a valid push arrives; absent if nothing is about to close.",
		),
		expires: gauge("push_expires_seconds", "Seconds until the signed push in force expires; absent if no signed "+
			"push is in force."),
		log:      gauge("audit_log_bytes", "Size of the audit log in the state folder."),
		segments: gauge("audit_log_segments", "Files of the audit log in the state folder."),
		packed: gauge(
			"audit_archived_bytes",
			"Size of the archived files of the audit log, according to its head.",
		),
		archives: gauge("audit_archives", "Archived files of the audit log, according to its head."),
		free:     gauge("state_free_bytes", "Free space on the disk of the state folder; absent if it is not known."),
		floor:    gauge("state_floor_bytes", "Free space below which new runs are refused."),
	})
}

// standing is the collector of [Metrics.Stands].
type standing struct {
	codes []string
	now   func() Standing

	closed, condition, closes, expires, log, segments, packed, archives, free, floor *prometheus.Desc
}

// Describe sends the descriptors.
func (s *standing) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.closed, s.condition, s.closes, s.expires, s.log, s.segments, s.packed,
		s.archives, s.free, s.floor} {
		to <- d
	}
}

// Collect reads the state and sends its metrics.
func (s *standing) Collect(to chan<- prometheus.Metric) {
	now := s.now()
	put := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	put(s.closed, boolValue(!now.Ready))
	for _, code := range s.codes {
		holds := false
		for _, c := range now.Conditions {
			holds = holds || c == code
		}
		put(s.condition, boolValue(holds), code)
	}
	if !now.Closes.IsZero() {
		put(s.closes, now.Closes.Sub(now.Now).Seconds())
	}
	if !now.Expires.IsZero() {
		put(s.expires, now.Expires.Sub(now.Now).Seconds())
	}
	put(s.log, float64(now.LogBytes))
	put(s.segments, float64(now.Segments))
	put(s.packed, float64(now.ArchivedBytes))
	put(s.archives, float64(now.Archives))
	if now.FreeKnown {
		put(s.free, float64(now.Free))
	}
	put(s.floor, float64(now.Floor))
}

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Help returns the labels and the help of each metric of ringd by name, in the format of docs/METRICS.md.
func (m *Metrics) Help() map[string]string {
	descs := make(chan *prometheus.Desc, 256)
	m.registry.Describe(descs)
	close(descs)
	describing := regexp.MustCompile(
		`fqName: "(ringd_[^"]*)", help: "([^"]*)".* constLabels: {([^}]*)}, variableLabels: {([^}]*)}`,
	)
	out := map[string]string{}
	for d := range descs { // a Desc shows its parts only in its text
		parts := describing.FindStringSubmatch(d.String())
		if parts == nil {
			continue
		}
		var labels []string
		for _, l := range strings.FieldsFunc(parts[3]+","+parts[4], func(r rune) bool { return r == ',' }) {
			name, _, _ := strings.Cut(l, "=")
			labels = append(labels, "`"+name+"`")
		}
		out[parts[1]] = strings.Join(labels, ", ") + " | " + parts[2] + " |"
	}
	return out
}
