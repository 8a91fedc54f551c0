package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/executors/shell/bashcompat"
)

// openFile handles each open of the shell: the mark of a statement, a text that source reads, or a file of the
// host.
func (g *runState) openFile(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	if s, ok := bashcompat.ParseStep(name); ok && flag&os.O_APPEND != 0 {
		p, err := g.step(ctx, hc, s)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	g.mu.Lock()
	text, ok := g.sources[name]
	if !ok && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		text, ok = g.kept[name]
	}
	g.mu.Unlock()
	if ok {
		return reader{strings.NewReader(text)}, nil
	}
	p := placeOf(hc)
	op := Read
	switch {
	case flag&os.O_APPEND != 0:
		op = Append
	case flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0:
		op = Write
	}
	f, err := g.openHost(ctx, File{Op: op, Path: name, At: p.at}, hc.Dir)
	if err != nil {
		return nil, err
	}
	if op == Read {
		return f, nil
	}
	return &file{ReadWriteCloser: f, at: p}, nil
}

// openHost opens a file of the host. An error that the script sees is an *fs.PathError.
func (g *runState) openHost(ctx context.Context, f File, dir string) (io.ReadWriteCloser, error) {
	if f.Path == "" || strings.IndexByte(f.Path, 0) >= 0 {
		return nil, &fs.PathError{Op: "open", Path: f.Path, Err: fs.ErrNotExist}
	}
	shown := f.Path
	if !path.IsAbs(f.Path) {
		// Not path.Join: it would turn "a/../b" into "b", but a may be a link.
		f.Path = strings.TrimSuffix(dir, "/") + "/" + f.Path
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	file, err := g.c.Host.Open(ctx, f)
	g.open.Done()
	if err == nil {
		return file, nil
	}
	if pe, ok := err.(*fs.PathError); ok { //nolint:errorlint // the interpreter expects exactly this type
		return nil, &fs.PathError{Op: "open", Path: shown, Err: pe.Err}
	}
	if err := g.failed(err, f.At); err != nil {
		return nil, err
	}
	return nil, permissionError(shown)
}

func (g *runState) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	if loop, ok := bashcompat.ParseTurn(name); ok && g.c.Dry {
		return nil, g.nextTurn(loop)
	}
	if lists, leaves, ok := bashcompat.ParseLeft(name); ok {
		return nil, g.leftLists(placeOf(interp.HandlerCtx(ctx)).home, lists, leaves)
	}
	seen, err := g.look(ctx, Look{Path: name, Link: !follow})
	if err != nil {
		return nil, err
	}
	if seen.Info == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return seen.Info, nil
}

// leftLists records the lists of a shell that break and continue have left, and answers a list that asks: with an
// error if it was left.
func (g *runState) leftLists(home *shell, lists []int, leaves bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range lists {
		switch {
		case leaves && home.left == nil:
			home.left = map[int]bool{n: true}
		case leaves:
			home.left[n] = true
		case home.left[n]:
			delete(home.left, n)
			return fs.ErrNotExist
		}
	}
	return nil
}

func (g *runState) access(ctx context.Context, name string, mode interp.AccessMode) error {
	_, err := g.look(ctx, Look{Path: name, Access: uint32(mode)})
	return err
}

func (g *runState) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if !path.IsAbs(name) {
		name = path.Join(interp.HandlerCtx(ctx).Dir, name)
	}
	seen, err := g.look(ctx, Look{Path: path.Clean(name), List: true})
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil // matches nothing, as in bash
	}
	return seen.Entries, err
}

// look asks the host. The script sees each error. A denial also stops the script.
func (g *runState) look(ctx context.Context, l Look) (Seen, error) {
	missing := &fs.PathError{Op: "stat", Path: l.Path, Err: fs.ErrNotExist}
	if strings.IndexByte(l.Path, 0) >= 0 || !path.IsAbs(l.Path) {
		return Seen{}, missing
	}
	if err := g.begin(); err != nil {
		return Seen{}, missing
	}
	g.mu.Lock()
	l.Enter = g.entered[l.Path]
	g.mu.Unlock()
	seen, err := g.c.Host.Look(ctx, l)
	g.open.Done()
	if err == nil {
		return seen, nil
	}
	if pe, ok := err.(*fs.PathError); ok { //nolint:errorlint // as in openHost
		return Seen{}, pe
	}
	_ = g.failed(err, placeOf(interp.HandlerCtx(ctx)).at)
	return Seen{}, missing
}
