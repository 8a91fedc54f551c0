package shellguest

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

// steersGit reports whether a file that is written decides what git runs in a folder
// that is a repository, whatever it is called, or becomes one: git takes for one what has
// HEAD, objects and refs. Either half may come first: what decides, or the HEAD. Case
// does not count.
func steersGit(real string) bool {
	if strings.EqualFold(path.Base(real), "HEAD") {
		return decidesIn(path.Dir(real))
	}
	for dir, inside := path.Dir(real), strings.ToLower(path.Base(real)); ; dir, inside = path.Dir(dir), strings.ToLower(path.Base(dir))+"/"+inside {
		first, rest, _ := strings.Cut(inside, "/")
		switch {
		case rest == "" && (first == "config" || first == "config.worktree" || first == "commondir" || first == "gitdir"), first == "hooks" && rest != "", inside == "info/attributes":
			if headIn(dir) {
				return true
			}
		}
		if dir == "/" {
			return false
		}
	}
}

// headIn reports whether a folder has a HEAD as a repository has one, and decidesIn
// whether it has what decides what git runs.
func headIn(dir string) bool { return has(dir, "HEAD", false) }

func decidesIn(dir string) bool {
	return has(dir, "config", false) || has(dir, "config.worktree", false) || has(dir, "commondir", false) || has(dir, "hooks", true)
}

// has looks for a file, or a folder, of a name in any case. A link may lead to either, and
// a folder that cannot be read may have it.
func has(dir, name string, folder bool) bool {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, e := range list {
		if strings.EqualFold(e.Name(), name) && (e.IsDir() == folder || e.Type() == fs.ModeSymlink) {
			return true
		}
	}
	if err == nil {
		return false
	}
	info, err := os.Lstat(path.Join(dir, name))
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || info.IsDir() == folder || info.Mode().Type() == fs.ModeSymlink)
}
