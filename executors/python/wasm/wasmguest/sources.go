package wasmguest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// compiler reads the sources from the device and writes their byte code to it.
const compiler = `
import marshal, posix
host = posix.open("` + devicePath + `", posix.O_RDWR)
def read(n):
    b = b""
    while len(b) < n:
        piece = posix.read(host, n - len(b))
        if not piece: raise EOFError
        b += piece
    return b
def text(): return read(int.from_bytes(read(4), "big")).decode()
made = []
for _ in range(int.from_bytes(read(4), "big")):
    name = text()
    made.append((name, compile(text(), "<ringd>", "exec", dont_inherit=True, optimize=2)))
b = marshal.dumps(tuple(made))
while b: b = b[posix.write(host, b):]
`

// compileDevice is a device that is read to its end, and that keeps the bytes written to it.
type compileDevice struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (o *compileDevice) Read(p []byte) (int, error)  { return o.in.Read(p) }
func (o *compileDevice) Write(p []byte) (int, error) { return o.out.Write(p) }

// compileSources makes the interpreter compile the guest's own Python: a marshalled tuple of names with their
// code objects.
func (e *Engine) compileSources(ctx context.Context, sources []Source) ([]byte, error) {
	in := binary.BigEndian.AppendUint32(nil, uint32(len(sources)))
	for _, s := range sources {
		for _, text := range []string{s.Name, s.Text} {
			in = append(binary.BigEndian.AppendUint32(in, uint32(len(text))), text...)
		}
	}
	device, stderr := &compileDevice{in: bytes.NewReader(in)}, &bytes.Buffer{}
	err := e.Run(ctx, engineOptions{
		Args: []string{"-c", compiler}, Host: device, Stdout: io.Discard, Stderr: stderr, Chance: rand.Reader,
		// The clock stands still: compiled code does not depend on it.
		Now: func() time.Time { return time.Unix(0, 0) }, Memory: newMemory(maxMemoryBytes),
	})
	if err != nil {
		return nil, fmt.Errorf("compile the guest's Python: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	if device.out.Len() == 0 {
		return nil, errors.New("compile the guest's Python: nothing was made")
	}
	return device.out.Bytes(), nil
}
