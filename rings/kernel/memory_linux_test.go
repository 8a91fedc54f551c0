package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// held runs one probe of memory under a limit of 128 MiB, and tells what it said and
// how it ended.
func heldMemory(t *testing.T, r *kernel.Ring, s stage, token, probe, id string, mib int, ms int) (
	string, executors.Exit) {
	t.Helper()
	return limited(t, r, s, token, probe, id, mib, ms, 30*time.Second)
}

func limited(t *testing.T, r *kernel.Ring, s stage, token, probe, id string, mib, ms int, cpu time.Duration) (
	string, executors.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	spec := ownLayers(s, append(s.argv(probe, token, id, ""), fmt.Sprintf("mib=%d", mib), fmt.Sprintf("ms=%d", ms)))
	spec.MemoryBytes, spec.Kernel.MemoryBytes, spec.Kernel.TempBytes = 128<<20, 128<<20, 512<<20
	spec.Kernel.Processes = 128
	if id != "m_queue" {
		spec.Kernel.Network = profiles.NetworkOff
	}
	spec.Kernel.CPUMillis, spec.CPU, spec.Kernel.WallMillis = cpu.Milliseconds(), cpu, 60_000
	spec.FileBytes, spec.Kernel.FileBytes = 512<<20, 512<<20
	g, err := r.Launch(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(g.Kill(), g.Conn().Close()); err != nil {
			t.Error(err)
		}
	}()
	st := g.(executors.Streamer)
	if err := st.Stdin().Close(); err != nil {
		t.Error(err)
	}
	var out, bad bytes.Buffer
	done := make(chan struct{})
	go func() { _, _ = io.Copy(&bad, st.Stderr()); close(done) }()
	_, _ = io.Copy(&out, st.Stdout())
	<-done
	e, err := st.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if bad.Len() > 0 {
		t.Log(clipped(bad.String()))
	}
	_, said, _ := strings.Cut(out.String(), "RESULT "+id+" ")
	return strings.TrimSpace(said), e
}

// Memory of every kind counts, of all processes together; and what is within the
// limit is left alone, also where processes share it.
func TestMemoryOfEveryKind(t *testing.T) {
	p, h := built(t, "probe"), atHost(t)
	r, token := probeRing(t)
	if raceBuild(r.Attestation(t.Context(), profiles.ExecutorShell)) {
		t.Skip("the race detector's own memory is over every limit")
	}
	base := t.TempDir()
	openUp(t, base)
	for _, tt := range []struct {
		name, id     string
		within, over int
		refused      string // by the kernel: what the program hears of it
	}{
		{"private", "m_private", 80, 192, "ENOMEM"},
		{"private, of many processes", "m_many", 64, 320, ""},
		{"shared by nobody", "m_shared", 96, 256, ""},
		{"shared, of /dev/zero", "m_devzero", 96, 256, ""},
		{"a mapping that grows downwards", "m_growsdown", 96, 256, ""},
		{"the stack", "m_stack", 96, 256, ""},
		{"files of its own folder", "m_tmp", 96, 256, ""},
		{"files and shared memory", "m_both", 96, 256, ""},
		{"page tables", "m_tables", 32, 224, ""},
		{"connections that nobody accepts", "m_queue", 64, 256, ""},
		{"mappings", "m_mappings", 60, 240, ""},
		{"shared memory that was given up and not unmapped", "m_given_up", 64, 320, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, filepath.Join(base, tt.id), h)
			said, e := heldMemory(t, r, s, token, p["probe"], tt.id, tt.within, 600)
			if said != "ok" || e.Limit != "" || e.Code != 0 || e.Signal != 0 {
				t.Errorf("%d MiB of a limit of 128: %q, %+v", tt.within, said, e)
			}
			if tt.id == "m_given_up" && os.Getuid() != 0 {
				return // only root may look at it
			}
			said, e = heldMemory(t, r, s, token, p["probe"], tt.id, tt.over, 20_000)
			if tt.refused != "" && (said != tt.refused || e.Limit != "") {
				t.Errorf("%d MiB of a limit of 128: %q, %+v, want %s", tt.over, said, e, tt.refused)
			}
			if tt.refused == "" && (said != "" || e.Limit != "memory") {
				t.Errorf("%d MiB of a limit of 128: %q, %+v, want its end", tt.over, said, e)
			}
		})
	}
	t.Run("shared memory that is reserved, or was given back", func(t *testing.T) {
		t.Parallel()
		s := onStage(t, filepath.Join(base, "reserved"), h)
		said, e := heldMemory(t, r, s, token, p["probe"], "m_reserved", 64, 1500)
		if said != "ok" || e.Limit != "" || e.Code != 0 {
			t.Errorf("4 GiB of addresses: %q, %+v", said, e)
		}
	})
	t.Run("children that share what their parent has", func(t *testing.T) {
		t.Parallel()
		s := onStage(t, filepath.Join(base, "fork"), h)
		said, e := heldMemory(t, r, s, token, p["probe"], "m_fork", 60, 1500)
		if said != "ok" || e.Limit != "" || e.Code != 0 {
			t.Errorf("60 MiB that five processes share, of 128: %q, %+v", said, e)
		}
		if e.Peak > 160<<20 {
			t.Errorf("its peak is %d MiB", e.Peak>>20)
		}
	})
}

// Processor time counts whatever becomes of the children that take it, and short
// ones are not taken for more than they use.
func TestProcessorTimeOfChildren(t *testing.T) {
	p, h := built(t, "probe"), atHost(t)
	r, token := probeRing(t)
	base := t.TempDir()
	openUp(t, base)
	for _, tt := range []struct{ id, limit string }{
		{"m_cpu_waited", "cpu"}, {"m_cpu_ignored", "cpu"}, {"m_cpu_nowait", "cpu"}, {"m_short", ""}, {"m_short_wait", ""},
	} {
		t.Run(tt.id, func(t *testing.T) {
			if (tt.id == "m_cpu_ignored" || tt.id == "m_cpu_nowait") && !counts(t) {
				t.Skip("the host lets this user count nothing")
			}
			s := onStage(t, filepath.Join(base, tt.id), h)
			said, e := limited(t, r, s, token, p["probe"], tt.id, 0, 0, 2*time.Second)
			if e.Limit != tt.limit || (said == "ok") != (tt.limit == "") {
				t.Errorf("%q, %+v, want limit %q", said, e, tt.limit)
			}
		})
	}
}

// counts says that a guest of an ordinary user may have a counter of the kernel.
func counts(t *testing.T) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	n, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	return err == nil && bad == nil && n <= 2
}
