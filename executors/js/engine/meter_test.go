package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// sec encodes a section; vec a vector of encoded items.
func sec(id byte, body []byte) []byte {
	return append(append([]byte{id}, leb(len(body))...), body...)
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vec(items ...[]byte) []byte {
	out := leb(len(items))
	for _, i := range items {
		out = append(out, i...)
	}
	return out
}

func str(s string) []byte { return append(leb(len(s)), s...) }

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// program is a module with one exported function "run", of type (i32) -> i32,
// and the hook as import 0.
func program(locals, code []byte) []byte {
	body := cat(locals, code, []byte{0x0b})
	return cat([]byte("\x00asm\x01\x00\x00\x00"),
		sec(1, vec([]byte{0x60, 0, 1, 0x7f}, []byte{0x60, 1, 0x7f, 1, 0x7f})),
		sec(2, vec(cat(str("env"), str("hook"), []byte{0, 0}))),
		sec(3, vec([]byte{1})),
		sec(5, vec([]byte{0, 1})),
		sec(6, vec([]byte{0x7f, 1, 0x41, 7, 0x0b})),
		sec(7, vec(cat(str("run"), []byte{0, 1}), cat(str("memory"), []byte{2, 0}))),
		sec(10, vec(cat(leb(len(body)), body))),
		sec(11, vec(cat([]byte{0, 0x41, 16, 0x0b}, str("data")))))
}

var (
	noLocals = []byte{0}
	// i = p; do { i-- } while (i); return i
	countdown = []byte{0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0}
	forever   = []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0}
	recurse   = []byte{0x20, 0, 0x10, 1}
	fill      = []byte{0x41, 0, 0x41, 0, 0x20, 0, 0xfc, 11, 0, 0x20, 0}
	copying   = []byte{0x41, 0, 0x41, 0, 0x20, 0, 0xfc, 10, 0, 0, 0x20, 0}
)

var errStop = errors.New("out of fuel")

// run meters wasm, compiles it and calls run(arg) with the given fuel. It
// returns what was charged.
func run(t *testing.T, wasm []byte, arg uint64, fuel int64) (int64, error) {
	t.Helper()
	m, err := rewriteMetered(wasm, "env", "hook")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	stopped := false
	hook := func(_ context.Context, _ api.Module, stack []uint64) { stopped, stack[0] = true, 1 }
	if _, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(hook), nil, []api.ValueType{api.ValueTypeI32}).Export("hook").Instantiate(
		ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.Instantiate(ctx, m.Wasm)
	if err != nil {
		t.Fatalf("the metered module is not valid: %v", err)
	}
	counter := mod.ExportedGlobal(fuelGlobal).(api.MutableGlobal)
	counter.Set(uint64(fuel))
	_, err = mod.ExportedFunction("run").Call(ctx, arg)
	if stopped && err != nil {
		err = errStop
	}
	return fuel - int64(counter.Get()), err
}

func TestChargesExactly(t *testing.T) {
	tests := []struct {
		name string
		code []byte
		arg  uint64
		want int64
	}{
		{"loop", countdown, 1000, 1 + 1000*8},
		{"straight", []byte{0x20, 0}, 0, 2},
		{"fill", fill, 65536, 6 + 65536/4},
		{"copy", copying, 65536, 6 + 65536/4},
		{"dense body is capped", cat(noops(100), []byte{0x20, 0}), 0, maxCost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := run(t, program(noLocals, tt.code), tt.arg, 1<<40)
			if err != nil || got != tt.want {
				t.Errorf("charged %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func noops(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = 0x01
	}
	return out
}

func TestStopsWhatNeverEnds(t *testing.T) {
	for name, code := range map[string][]byte{"loop": forever, "recursion": recurse, "fill": fill, "copy": copying} {
		t.Run(name, func(t *testing.T) {
			fuel := int64(1000)
			charged, err := run(t, program(noLocals, code), 65536, fuel)
			if !errors.Is(err, errStop) {
				t.Fatalf("ended with %v, want the hook's stop", err)
			}
			if charged <= fuel {
				t.Errorf("stopped after %d of %d", charged, fuel)
			}
		})
	}
}

func TestTakesDataOut(t *testing.T) {
	m, err := rewriteMetered(program(noLocals, countdown), "env", "hook")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Data) != 1 || m.Data[0].Offset != 16 || string(m.Data[0].Bytes) != "data" {
		t.Errorf("segments %v", m.Data)
	}
}

func TestRefuses(t *testing.T) {
	good := program(noLocals, countdown)
	tests := []struct {
		name string
		wasm []byte
	}{
		{"empty", nil},
		{"not wasm", []byte("#!/bin/sh\n")},
		{"cut", good[:len(good)-5]},
		{"bytes after the end", append(append([]byte{}, good...), 0x63, 0)},
		{"start section", cat(good[:8], sec(8, []byte{0}), good[8:])},
		{"repeated section", cat(good[:8], sec(1, vec([]byte{0x60, 0, 0})), good[8:])},
		{"vector instruction", program(noLocals, []byte{0xfd, 0x0c})},
		{"atomic instruction", program(noLocals, []byte{0xfe, 0x00})},
		{"tail call", program(noLocals, []byte{0x12, 1})},
		{"exception", program(noLocals, []byte{0x06, 0x40})},
		{"reference", program(noLocals, []byte{0xd0, 0x70})},
		{"memory.init", program(noLocals, []byte{0xfc, 8, 0, 0})},
		{"table.grow", program(noLocals, []byte{0xfc, 15, 0})},
		{"second memory", program(noLocals, []byte{0x3f, 1})},
		{"second table", program(noLocals, []byte{0x11, 0, 1})},
		{"too many locals", program([]byte{1, 0xff, 0xff, 0xff, 0x0f, 0x7f}, countdown)},
		{"block of a type index", program(noLocals, []byte{0x02, 0x01, 0x0b})},
		{"long number", program(noLocals, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := rewriteMetered(tt.wasm, "env", "hook"); !errors.Is(err, errModuleRefused) {
				t.Errorf("Rewrite: %v, want a refusal", err)
			}
		})
	}
	if _, err := rewriteMetered(good, "env", "other"); !errors.Is(err, errModuleRefused) {
		t.Errorf("missing hook: %v", err)
	}
	if _, err := rewriteMetered(good, "env", "hook"); err != nil {
		t.Errorf("the module the refusals start from: %v", err)
	}
}

// TestEngine meters the engine file and lets wazero judge the result.
func TestEngine(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join("..", "wasm", "quickjs.wasm"))
	if err != nil {
		t.Skip("the engine file is not in this checkout: run make engine")
	}
	m, err := rewriteMetered(wasm, "env", "host_interrupt")
	if err != nil {
		t.Fatal(err)
	}
	if m.Sites < 2500 || len(m.Data) == 0 {
		t.Errorf("%d checks, %d segments", m.Sites, len(m.Data))
	}
	// The interpreter validates in full and compiles little.
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(t.Context())
	if _, err := rt.CompileModule(t.Context(), m.Wasm); err != nil {
		t.Errorf("the metered engine is not valid: %v", err)
	}
}

func FuzzRewrite(f *testing.F) {
	for _, code := range [][]byte{countdown, forever, recurse, fill, copying, {0x0e, 1, 0, 0}, {0xfc, 8, 0, 0}} {
		f.Add(program(noLocals, code))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := rewriteMetered(wasm, "env", "hook")
		if err != nil {
			if !errors.Is(err, errModuleRefused) {
				t.Errorf("refused without a reason: %v", err)
			}
			return
		}
		if len(m.Wasm) == 0 || m.Sites < 2 {
			t.Errorf("accepted, with %d checks in %d bytes", m.Sites, len(m.Wasm))
		}
	})
}
