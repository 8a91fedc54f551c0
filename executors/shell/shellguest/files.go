package shellguest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links the kernel follows in one path.
const maxLinks = 40

// realPath resolves a path: no part of the result is a symbolic link at the time of the call. A path that does
// not exist resolves to the name that would be created. If a part is missing, it returns an error together with
// the path where it would be.
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

// steersGit reports whether a written file decides what git runs in a folder that is a repository, whatever its
// name, or that becomes one. git treats a folder with HEAD, objects and refs as a repository. Either half may
// be written first: the deciding file, or HEAD. Case is ignored.
func steersGit(real string) bool {
	if strings.EqualFold(path.Base(real), "HEAD") {
		return decidesIn(path.Dir(real))
	}
	for dir, inside := path.Dir(real), strings.ToLower(path.Base(real)); ; dir, inside = path.Dir(dir),
		strings.ToLower(path.Base(dir))+"/"+inside {
		first, rest, _ := strings.Cut(inside, "/")
		switch {
		case rest == "" && (first == "config" || first == "config.worktree" || first == "commondir" ||
			first == "gitdir"), first == "hooks" && rest != "", inside == "info/attributes":
			if headIn(dir) {
				return true
			}
		}
		if dir == "/" {
			return false
		}
	}
}

// headIn reports whether a folder has a HEAD as a repository has one. decidesIn reports whether it has a file
// that decides what git runs.
func headIn(dir string) bool { return hasEntry(dir, "HEAD", false) }

func decidesIn(dir string) bool {
	return hasEntry(dir, "config", false) || hasEntry(dir, "config.worktree", false) ||
		hasEntry(dir, "commondir", false) || hasEntry(dir, "hooks", true)
}

// hasEntry looks for a file, or a folder, with that name in any case. A link may lead to either, and a folder that
// cannot be read may contain it.
func hasEntry(dir, name string, folder bool) bool {
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
	return !errors.Is(err, fs.ErrNotExist) &&
		(err != nil || info.IsDir() == folder || info.Mode().Type() == fs.ModeSymlink)
}
