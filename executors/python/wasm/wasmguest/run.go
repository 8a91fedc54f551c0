package wasmguest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/ringd/ringd/executors/python/wasm/place"
)

// devicePath is the path at which a program's interpreter finds Options.Host, once.
const devicePath = "/dev/host"

// engineOptions are the options of one interpreter. All fields but Stdin, FileBytes and Made must be set.
type engineOptions struct {
	Args   []string // after the interpreter's own
	Host   Device
	Stdin  io.Reader // if nil, it is at its end
	Stdout io.Writer
	Stderr io.Writer
	Chance io.Reader // source of the interpreter's random bytes
	// Now is the interpreter's clock. The interpreter cannot sleep: the file system that is built into it does
	// not allow poll, so a guest asks for it on its device.
	Now func() time.Time
	// Folder is the program's own, in memory, with room for FileBytes.
	Folder    string
	FileBytes int64
	Memory    *Memory
	// Made is called with the number of bytes of Go memory that a call of the interpreter took. It may be nil.
	Made func(n int64)
}

// errBroke is wrapped by the error of Run if the interpreter did something that WebAssembly does not allow, as
// it does when its stack is full.
var errBroke = errors.New("the interpreter crashed")

// ExitError is the error of Run if the interpreter ended with a code that is not 0.
type ExitError struct{ Code uint32 }

// Error names the code.
func (e ExitError) Error() string { return fmt.Sprintf("the interpreter exited with code %d", e.Code) }

// Run runs an interpreter to its end. While it computes, its thread cannot be stopped, and Go's collector would
// wait for it. So the caller has disabled the collector, has more than one processor for its own goroutines,
// and collects in Options.Host, which is called from the interpreter. Run returns nil after exit code 0.
func (e *Engine) Run(ctx context.Context, o engineOptions) error {
	tree, err := e.tree(o)
	if err != nil {
		return err
	}
	now := func() (int64, int32) { t := o.Now(); return t.Unix(), int32(t.Nanosecond()) }
	begin := o.Now()
	config := wazero.NewModuleConfig().WithName("").
		WithEnv(
			"PYTHONHOME", place.Home,
		).WithArgs(append([]string{"python", "-s", "-P", "-S", "-B", "-X", "utf8"}, o.Args...)...).
		WithStdout(o.Stdout).WithStderr(o.Stderr).WithRandSource(o.Chance).
		WithWalltime(now, sys.ClockResolution(time.Microsecond)).
		WithNanotime(func() int64 { return int64(o.Now().Sub(begin)) }, sys.ClockResolution(1)).
		WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(tree, "/"))
	if o.Stdin != nil {
		config = config.WithStdin(o.Stdin)
	}
	_, err = e.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, o.Memory), e.module, config)
	var exit *sys.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && exit.ExitCode() == 0:
		return nil
	case errors.As(err, &exit):
		return ExitError{exit.ExitCode()}
	default:
		return fmt.Errorf("%w: %w", errBroke, err)
	}
}

// tree is the files of one program.
func (e *Engine) tree(o engineOptions) (*Tree, error) {
	t, err := newTree(treeConfig{Now: func() int64 { return o.Now().UnixNano() }, Bytes: o.FileBytes, Made: o.Made})
	if err != nil {
		return nil, err
	}
	if err := e.library.put(t); err != nil {
		return nil, err
	}
	if o.Folder != "" {
		if err := t.AddFolder(o.Folder); err != nil {
			return nil, err
		}
	}
	return t, t.AddDevice(devicePath, o.Host)
}
