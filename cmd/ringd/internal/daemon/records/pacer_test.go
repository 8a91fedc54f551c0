package records_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
)

// The calls of one agent that bring much on disk are slowed, however many of its guests make
// them; another agent's, and small ones, are not.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := records.NewPacer(time.Now)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		brought := 0
		var guests sync.WaitGroup
		for range 16 {
			guests.Go(func() {
				for p.Wait(ctx, "flood", 900<<10) == nil {
					mu.Lock()
					brought += 900 << 10
					mu.Unlock()
				}
			})
		}
		time.Sleep(43 * time.Second)
		synctest.Wait()
		began := time.Now()
		for i := range 4000 { // 100 a second of 16 KiB
			if err := p.Wait(ctx, "other", 16<<10); err != nil {
				t.Fatal(i, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("an agent with small calls was slowed: %s", took)
		}
		began = time.Now()
		stop()
		guests.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the calls ended %s after their runs", took)
		}
		most := records.CallBurst + 83*records.CallRate
		if brought > most || brought < most-2<<20 {
			t.Errorf("%d bytes came in 83 s, want %d", brought, most)
		}
		if err := p.Wait(ctx, "flood", 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// What comes in any case is waited for by the next, and so by no other agent.
func TestPacerOwes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := records.NewPacer(time.Now)
		if err != nil {
			t.Fatal(err)
		}
		p.Owe("a", records.CallBurst)
		p.Owe("a", 3*records.CallRate)
		var took []string
		for _, agent := range []string{"b", "a"} {
			began := time.Now()
			if err := p.Wait(t.Context(), agent, 1); err != nil {
				t.Fatal(err)
			}
			took = append(took, fmt.Sprint(agent, " ", time.Since(began).Round(100*time.Millisecond)))
		}
		if got, want := fmt.Sprint(took), "[b 0s a 3s]"; got != want {
			t.Errorf("waited %s, want %s", got, want)
		}
	})
}
