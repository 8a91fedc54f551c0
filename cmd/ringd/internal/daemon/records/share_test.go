package records_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
)

// What one run puts on record is bounded: it is told of once, and what it does further
// does not happen; its end, and what others do, is on record all the same.
func TestShareOfARun(t *testing.T) {
	log := &memory{}
	r := records.NewRecorder(log, nil)
	var over []string
	r.Bound(80_000, func(run string) { over = append(over, run) })
	put := func(k audit.Kind, run string) error {
		_, err := r.Append(t.Context(), audit.Record{Kind: k, Run: run,
			Detail: map[string]string{"path": strings.Repeat("p", 3500)}}, audit.Written)
		return err
	}
	for _, run := range []string{"flood", "other"} {
		if err := put(audit.RunStarted, run); err != nil {
			t.Fatal(err)
		}
	}
	taken := 0
	for taken < 1000 && put(audit.EgressDecided, "flood") == nil {
		taken++
	}
	if taken < 18 || taken > 24 || len(over) != 1 || over[0] != "flood" {
		t.Errorf("%d records, told of %v", taken, over)
	}
	for _, k := range []audit.Kind{audit.CallOpened, audit.ExecDecided, audit.FileDecided, audit.VariableDecided,
		audit.GuestRefused, audit.CallDecided} {
		if err := put(k, "flood"); !errors.Is(err, records.ErrShare) || errors.Is(err, records.ErrUnavailable) {
			t.Errorf("%s: %v", k, err)
		}
	}
	for _, k := range []audit.Kind{audit.CallClosed, audit.EgressClosed, audit.EgressCounted, audit.RunCancelled,
		audit.RunEnded, audit.EgressClosed} {
		if err := put(k, "flood"); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	for range 10 {
		if err := put(audit.EgressDecided, "other"); err != nil {
			t.Errorf("another run: %v", err)
		}
	}
	if err := errors.Join(r.Err(), put(audit.RunResumed, "flood"), put(audit.EgressDecided, "flood")); err != nil ||
		len(over) != 1 {
		t.Errorf("it goes on: %v, told of %v", err, over)
	}
}
