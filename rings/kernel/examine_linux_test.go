package kernel_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// A guest of nothing shows whether this host can give guests a network that leads
// to egress.
func TestExamineEgress(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	e, err := proxy.New(proxy.Config{Go: func(f func()) { wg.Go(f) }, Now: time.Now,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no names here") },
		Record:  func(proxy.Event) error { return errors.New("no records here") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, with := range []*proxy.Egress{e, nil} {
		r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader, Egress: with})
		if err != nil {
			t.Fatal(err)
		}
		needKernel(t, r)
		report, err := r.ExamineEgress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if there := report.Layers[initproto.LayerEgress] == "enforced"; report.Failed != "" || there != (with != nil) {
			t.Errorf("with an egress %t: %+v", with != nil, report)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
