// Metering rewrites a WebAssembly module so that everything it does is paid for. Each function entry and loop
// header takes fuel from an exported counter, and bulk memory instructions take it in proportion to their
// length. When the counter falls below zero the module calls an import of its own, and the host decides whether
// it may continue: it traps unless the import returns 0.
//
// The decoder is strict: it rejects a section, type or instruction that it does not know, so nothing can run
// unmetered. It does not prove the module valid; the compiler that loads the result does.
//
// It also removes the data segments: the host writes them into memory once, and instances start from an image
// instead.

package engine

import (
	"errors"
	"fmt"
)

// fuelGlobal is the export name of the added counter, a mutable i64.
const fuelGlobal = "ringd_fuel"

// maxCost limits the cost of one check. A longer stretch of instructions without a loop is a switch, of which a
// small part runs.
const maxCost = 32

// bulkShift is how many bytes of a bulk instruction one unit of fuel moves, as a power of two.
const bulkShift = 2

// meteredModule is a metered module.
type meteredModule struct {
	Wasm  []byte // without data segments
	Data  []meteredSegment
	Sites int // number of inserted checks
}

// meteredSegment is an active data segment of memory 0.
type meteredSegment struct {
	Offset uint32
	Bytes  []byte // aliases the input
}

// errModuleRefused wraps every reason for which rewriteMetered rejects a module.
var errModuleRefused = errors.New("meter: module refused")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errModuleRefused, fmt.Sprintf(format, args...))
}

// rewriteMetered meters wasm. The import hookModule.hookName must be a function without parameters that returns
// an i32. It is called when fuel is below zero. It either refills it and returns 0, or ends execution with any
// other value, which traps. The output aliases nothing of wasm but the segments' bytes.
func rewriteMetered(wasm []byte, hookModule, hookName string) (meteredModule, error) {
	m, err := parse(wasm, hookModule, hookName)
	if err != nil {
		return meteredModule{}, err
	}
	data, err := m.segments()
	if err != nil {
		return meteredModule{}, err
	}
	code, sites, err := m.code()
	if err != nil {
		return meteredModule{}, err
	}
	return meteredModule{Wasm: m.encode(code), Data: data, Sites: sites}, nil
}
