package kernel

import "github.com/ringd/ringd/rings/kernel/order"

// SetFinding has a ring believe that its first guest has reported this.
func SetFinding(r *Ring, report order.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = &finding{report: report, kind: report.Kind}
	if report.Kind != "" {
		r.found.why = &layerError{report}
	}
}
