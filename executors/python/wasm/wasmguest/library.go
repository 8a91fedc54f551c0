package wasmguest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	_ "embed" // lib
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ringd/ringd/executors/python/wasm/place"
)

// Paths of the library for the interpreter, and of its parts in the archive.
const (
	libraryDir = place.Library
	libraryZip = "usr/local/lib/python311.zip"
	landmark   = "usr/local/lib/python3.11/os.py"
	dynamic    = libraryDir + "/lib-dynload/.empty"
)

// library is the standard library. It is immutable: every program sees the same.
type library struct {
	zip      *zip.Reader
	landmark []byte // file by which the interpreter recognises the folder
}

// readLibrary unpacks the archive.
func readLibrary(archive []byte) (*library, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read the library of the WebAssembly Python: %w", err)
	}
	lib := &library{}
	for t := tar.NewReader(unzipped); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the library of the WebAssembly Python: %w", err)
		}
		switch head.Name {
		case libraryZip, landmark:
			b, err := io.ReadAll(io.LimitReader(t, 64<<20))
			if err == nil && head.Name != libraryZip {
				lib.landmark = b
			} else if err == nil {
				lib.zip, err = zip.NewReader(bytes.NewReader(b), int64(len(b)))
			}
			if err != nil {
				return nil, fmt.Errorf("read the library of the WebAssembly Python: %w", err)
			}
		}
	}
	if lib.zip == nil || lib.landmark == nil {
		return nil, errors.New("read the library of the WebAssembly Python: it lacks a part")
	}
	return lib, nil
}

// eventLoop stands in for the module eventModule, which needs what is not there.
//
//go:embed lib/unix_events.py
var eventLoop []byte

const eventModule = "asyncio/unix_events"

// put gives a program the library. Its modules are unpacked when they are read. Each has an empty source file,
// so that the interpreter attributes its code to that file and not to one of the machine that it was built on.
// The guard, which asks for the file of code, then sees the folder that cannot be written.
func (l *library) put(t *Tree) error {
	sources := map[string][]byte{
		libraryDir + "/os.py": l.landmark, dynamic: nil, libraryDir + "/" + eventModule + ".py": eventLoop,
	}
	for _, f := range l.zip.File {
		name, ok := strings.CutSuffix(f.Name, ".pyc")
		if !ok || name == eventModule {
			continue
		}
		source, dir, base := libraryDir+"/"+name+".py", path.Dir(name), path.Base(name)
		if sources[source] == nil {
			sources[source] = nil
		}
		err := t.AddFile(path.Join(libraryDir, dir, "__pycache__", base+".cpython-311.pyc"), int64(
			f.UncompressedSize64,
		),
			func() ([]byte, error) { return unpack(f) })
		if err != nil {
			return err
		}
	}
	for name, text := range sources {
		if err := t.AddFile(name, int64(len(text)), func() ([]byte, error) { return text, nil }); err != nil {
			return err
		}
	}
	return nil
}

// Header of compiled code: 4 bytes of magic, 4 of flags, 8 with their content.
const (
	flagsAt      = 4
	byUnread     = 1 // a digest of the source that is not compared
	bytecodeHead = 16
)

func unpack(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(f.UncompressedSize64)+1))
	if err == nil && len(b) < bytecodeHead {
		err = errors.New("no compiled code")
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(b[flagsAt:], byUnread)
	return b, nil
}
