package records_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
)

// What a push meant to guests that live is on record, and the run of one is told.
func TestNotice(t *testing.T) {
	var r records.Refusals
	if err := r.Notice(t.Context(), records.Notice{Loaded: []string{"csv"}}); err == nil {
		t.Error("a notice went nowhere")
	}
	log := &memory{}
	var told []string
	r.Attach(records.NewRecorder(log, metrics.New()), func(run string, d profiles.Decision) {
		told = append(told, run+" "+string(d.Code)+" "+d.Evidence.Argv[0])
	})
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("m%d", i))
	}
	for _, tt := range []struct {
		name  string
		n     records.Notice
		kinds []audit.Kind
		told  int
	}{
		{"a run", records.Notice{Agent: "a", Run: "r1", Loaded: []string{"csv"}}, []audit.Kind{audit.ImportDecided}, 1},
		{"a run that ends", records.Notice{Agent: "a", Run: "r1", Loaded: []string{"csv"}, Ended: "denied"}, []audit.Kind{audit.ImportDecided}, 1},
		{"a session", records.Notice{Agent: "a", Loaded: []string{"csv"}}, []audit.Kind{audit.ImportDecided}, 0},
		{"a session that ends", records.Notice{Agent: "a", Actor: "uid:1", Ended: "denied"}, []audit.Kind{audit.SessionDropped}, 0},
		{"a run that lacks packages", records.Notice{Agent: "a", Run: "r1", Executor: "python", Restart: true}, []audit.Kind{audit.RestartNeeded}, 0},
		{"nothing", records.Notice{Agent: "a"}, nil, 0},
		{"many", records.Notice{Run: "r1", Loaded: many}, make([]audit.Kind, 64), 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.records, told = nil, nil
			if err := r.Notice(t.Context(), tt.n); err != nil {
				t.Fatal(err)
			}
			if len(log.records) != len(tt.kinds) || len(told) != tt.told {
				t.Fatalf("%d records, told %q", len(log.records), told)
			}
			for i, rec := range log.records {
				switch {
				case tt.kinds[i] != "" && rec.Kind != tt.kinds[i]:
					t.Errorf("record %+v", rec)
				case rec.Kind == audit.ImportDecided && (rec.State != "loaded" ||
					rec.Capability != "import:"+tt.n.Loaded[i] || rec.Decision.Code != profiles.CodeImportDenied):
					t.Errorf("record %+v", rec)
				case !rec.Kind.Known(), rec.Kind == audit.RestartNeeded &&
					(rec.Run != "r1" || rec.Capability != "executor:python" || rec.Detail["reason"] == ""):
					t.Errorf("record %+v", rec)
				case rec.Kind == audit.SessionDropped && (rec.Detail["reason"] != "denied" ||
					rec.Detail["of"] != "uid:1"):
					t.Errorf("record %+v", rec)
				}
			}
		})
	}
	log.fail = errors.New("disk full")
	if err := r.Notice(t.Context(), records.Notice{Run: "r1", Loaded: []string{"csv"}}); err == nil {
		t.Error("a record that was not written")
	}
}
