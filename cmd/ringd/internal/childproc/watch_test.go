package childproc // watch has no exported name

import (
	"errors"
	"testing"
	"time"
)

// A child that the kernel does not limit ends itself at each of its limits, and
// at none when it keeps them.
func TestWatch(t *testing.T) {
	l, stuck := Limits{MemoryBytes: 1 << 20, Seconds: 1}, errors.New("done")
	for _, tt := range []struct {
		name string
		most look
		want error
	}{
		{"within", look{memory: memoryLimit(l), time: time.Second}, stuck},
		{"memory", look{memory: memoryLimit(l) + 1}, ErrMemory},
		{"processor time", look{time: time.Second + 1}, ErrTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over, looks := make(chan struct{}), 0
			work := func() error { <-over; return stuck }
			err := watch(l, work, func() look {
				if looks++; looks < 3 {
					return look{}
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
	if !RanOut(ErrMemory.Error()) {
		t.Error("the parent does not know the words")
	}
}

// What is asked of the system shows at once, before anything is written to it.
func TestMappedBytes(t *testing.T) {
	before := mappedBytes()
	big := make([]byte, 256<<20)
	if after := mappedBytes(); after < before+uint64(len(big)) {
		t.Errorf("%d, then %d", before, after)
	}
	big[0] = 1
}
