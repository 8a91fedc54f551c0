package worker // watch has no exported name

import (
	"errors"
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
	// The garbage of earlier tests is returned first, and none is collected meanwhile.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	before := mappedBytes()
	big := make([]byte, 256<<20)
	if after := mappedBytes(); after < before+uint64(len(big)) {
		t.Errorf("%d, then %d", before, after)
	}
	big[0] = 1
}
