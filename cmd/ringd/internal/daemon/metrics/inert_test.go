package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
)

// TestLabelsAreInert: whatever a run, a policy or a caller names, a label is one of a
// closed list: the figures have no line and no series that others have made.
func TestLabelsAreInert(t *testing.T) {
	for _, text := range clitest.Hostile() {
		m := metrics.New()
		m.RunEnded(text, time.Second)
		m.Decided(text, text)
		m.Pushed(text)
		m.CallOpened(text, text)
		m.CallClosed(text, text, text)
		m.Acted(text, text, text)
		m.Fault(text)
		m.Guest(text)
		m.Refused(text, text)
		m.Paused(text)
		m.Approved(text)
		m.Notified(text)
		m.Egress(metrics.Egress{Listener: text, Verdict: text, Code: text})
		m.Egress(metrics.Egress{Listener: text, End: text})
		m.Stands([]string{"closed"}, func() metrics.Standing { return clitest.Filled[metrics.Standing](text) })
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		out := w.Body.String()
		if w.Code != 200 || !strings.Contains(out, "ringd_runs_total") {
			t.Fatalf("%d: %q", w.Code, out)
		}
		clitest.Check(t, "the figures", text, out, 0)
		if strings.Contains(out, clitest.Forged) || strings.Contains(out, "long long") ||
			strings.Contains(out, "two  spaces") {
			t.Errorf("%q is in the figures", text)
		}
	}
}
