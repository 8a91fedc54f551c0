package rootfs

import (
	"path"
	"strings"
)

// Limits of the loader's configuration.
const (
	maxConfFiles = 128
	maxConfDepth = 8
	maxConfDirs  = 256
	maxConfBytes = 64 << 10
)

// conf reads ld.so.conf and the files that it includes.
type conf struct {
	read func(name string) ([]byte, bool) // at most maxConfBytes
	list func(dir string) []string        // names in a folder, sorted
	left int                              // files that may still be read
	dirs []string
}

// loaderDirs returns the folders that ldconfig puts into the loader's cache, in order and without duplicates.
func loaderDirs(read func(string) ([]byte, bool), list func(string) []string) []string {
	c := &conf{read: read, list: list, left: maxConfFiles}
	c.file("/etc/ld.so.conf", maxConfDepth)
	return c.dirs
}

func (c *conf) file(name string, depth int) {
	if c.left == 0 || depth == 0 {
		return
	}
	c.left--
	text, ok := c.read(name)
	if !ok {
		return
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "hwcap":
		case fields[0] == "include":
			for _, pattern := range fields[1:] {
				c.include(pattern, path.Dir(name), depth-1)
			}
		default:
			dir, _, _ := strings.Cut(strings.TrimSpace(line), "=") // dir=libc6: an old form
			c.add(strings.TrimSpace(dir))
		}
	}
}

func (c *conf) include(pattern, from string, depth int) {
	if !path.IsAbs(pattern) {
		pattern = path.Join(from, pattern)
	}
	dir, base := path.Split(path.Clean(pattern))
	for _, name := range c.list(path.Clean(dir)) {
		if ok, err := path.Match(base, name); err == nil && ok {
			c.file(path.Join(dir, name), depth)
		}
	}
}

func (c *conf) add(dir string) {
	if !path.IsAbs(dir) || len(c.dirs) >= maxConfDirs || strings.IndexByte(dir, 0) >= 0 {
		return
	}
	dir = path.Clean(dir)
	for _, d := range c.dirs {
		if d == dir {
			return
		}
	}
	c.dirs = append(c.dirs, dir)
}
