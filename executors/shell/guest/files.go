package guest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links lead from a path to its file, as the kernel
// has it.
const maxLinks = 40

// realPath is where a path leads: no part of what it returns is a symbolic link
// when it looks. What does not exist yet leads to the name that would be made. With
// an error of what is not there comes where it would be.
func realPath(p string) (string, error) {
	done, left := "/", strings.Split(strings.Trim(p, "/"), "/")
	for links := 0; len(left) > 0; {
		name := left[0]
		left = left[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(left) == 0:
			return next, nil
		case errors.Is(err, fs.ErrNotExist):
			return path.Join(next, path.Join(left...)), err
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: p, Err: syscall.ELOOP}
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			done = "/"
		}
		left = append(strings.Split(to, "/"), left...)
	}
	return done, nil
}
