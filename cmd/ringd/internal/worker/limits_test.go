package worker // watch has no exported name

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A child that the kernel does not limit ends itself at each of its limits, and
// at none when it keeps them.
func TestWatch(t *testing.T) {
	l, stuck := processLimits{MemoryBytes: 1 << 20, Seconds: 1}, errors.New("done")
	for _, tt := range []struct {
		name string
		most usageNow
		want error
	}{
		{"within", usageNow{memory: memoryLimit(l), time: time.Second}, stuck},
		{"memory", usageNow{memory: memoryLimit(l) + 1}, errMemory},
		{"processor time", usageNow{time: time.Second + 1}, errTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over, looks := make(chan struct{}), 0
			work := func() error { <-over; return stuck }
			err := watchLimits(l, work, func() usageNow {
				if looks++; looks < 3 {
					return usageNow{}
				}
				if tt.want == stuck && looks == 3 {
					close(over)
				}
				return tt.most
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("%v after %d looks, want %v", err, looks, tt.want)
			}
			if tt.want != stuck {
				close(over)
			}
		})
	}
	if !outOfMemory(errMemory.Error()) {
		t.Error("the parent does not know the words")
	}
}

// What is asked of the system shows at once, before anything is written to it.
func TestMappedBytes(t *testing.T) {
	// The runtime returns memory of earlier tests meanwhile, so the best of some tries is judged.
	const size = 256 << 20
	for range 20 {
		before := mappedBytes()
		big := make([]byte, size)
		after := mappedBytes()
		runtime.KeepAlive(big)
		if after >= before+size {
			return
		}
		t.Logf("%d, then %d", before, after)
		debug.FreeOSMemory()
	}
	t.Error("a new object of 256 MiB is not in the figure")
}
