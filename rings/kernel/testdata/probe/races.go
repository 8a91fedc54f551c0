package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Turns of a race.
const turns = 3000

func ptr[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// races are probes where one thread changes a path that another opens.
func races() map[string]probe {
	return map[string]probe{
		"r_symlink":  symlinkRace,
		"r_rename":   renameRace,
		"r_hardlink": hardlinkRace,
		"r_dirswap":  dirRace,
		"r_exec":     execRace,
	}
}

// against runs change on a thread of its own while try is made; it says "escaped"
// when that got what it must not. Where it is to succeed, to show that it can, it
// has more turns.
func against(a args, change func(i int), try func() bool) string {
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		for i := 0; !stop.Load() && i < 20000*turns; i++ {
			change(i)
		}
	}()
	n, most := 0, turns
	if a["until"] != "" {
		most *= 100
	}
	for i := 0; i < most && (n == 0 || i < turns); i++ {
		if try() {
			n++
		}
	}
	stop.Store(true)
	<-done
	if n > 0 {
		return "escaped"
	}
	return "held"
}

// secretRead tries to read a path and reports whether it held the host's secret.
func secretRead(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	b := make([]byte, 6)
	n, _ := unix.Read(fd, b)
	return string(b[:n]) == "SECRET"
}

func symlinkRace(a args) string {
	ws := a["ws"]
	file, link, tmp := filepath.Join(ws, "r-file"), filepath.Join(ws, "r-link"), filepath.Join(ws, "r-tmp")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		return is(err)
	}
	return against(a, func(i int) {
		to := file
		if i%2 == 0 {
			to = a["secret"]
		}
		_ = unix.Symlink(to, tmp)
		_ = unix.Rename(tmp, link)
	}, func() bool { return secretRead(link) })
}

// renameRace swaps a folder of the workspace with a link to the secret's folder.
func renameRace(a args) string {
	ws := a["ws"]
	dir, link := filepath.Join(ws, "r-dir"), filepath.Join(ws, "r-dirlink")
	name := filepath.Base(a["secret"])
	_ = os.Mkdir(dir, 0o700)
	if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
		return is(err)
	}
	_ = os.Remove(link)
	if err := os.Symlink(filepath.Dir(a["secret"]), link); err != nil {
		return is(err)
	}
	return against(a, func(int) {
		_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
	}, func() bool { return secretRead(filepath.Join(dir, name)) })
}

// hardlinkRace puts hard links of a file that may only be read over one that may
// be written.
func hardlinkRace(a args) string {
	ws := a["ws"]
	mine, tmp := filepath.Join(ws, "r-mine"), filepath.Join(ws, "r-mtmp")
	before, err := os.ReadFile(a["lib"])
	if err != nil {
		return is(err)
	}
	r := against(a, func(i int) {
		_ = os.Remove(tmp)
		if i%2 == 0 {
			_ = unix.Link(a["lib"], tmp)
		} else {
			_ = os.WriteFile(tmp, nil, 0o600)
		}
		_ = unix.Rename(tmp, mine)
	}, func() bool {
		fd, err := unix.Open(mine, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		_ = unix.Fstat(fd, &st)
		var lib unix.Stat_t
		_ = unix.Stat(a["lib"], &lib)
		return st.Ino == lib.Ino && st.Dev == lib.Dev
	})
	after, _ := os.ReadFile(a["lib"])
	if string(before) != string(after) {
		return "changed"
	}
	return r
}

// dirRace climbs with .. out of a folder that moves.
func dirRace(a args) string {
	ws := a["ws"]
	deep, up := filepath.Join(ws, "a", "b", "c"), filepath.Join(ws, "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		return is(err)
	}
	climb := filepath.Join(deep, "..", "..", "..", "..", "..", "..", "..", "..")
	return against(a, func(int) {
		_ = unix.Rename(deep, up)
		_ = unix.Rename(up, deep)
	}, func() bool {
		return secretRead(deep+"/../../../../../../../.."+a["secret"]) || secretRead(climb+a["secret"])
	})
}

// execRace has a name of the workspace be now a link to a granted program, now a
// program of its own, and looks whether the second ever starts.
func execRace(a args) string {
	ws := a["ws"]
	name, tmp := filepath.Join(ws, "r-prog"), filepath.Join(ws, "r-ptmp")
	script := filepath.Join(ws, "r-script")
	mark := filepath.Join(ws, "r-mark")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!%s\necho x >%s\n", a["bash"], mark), 0o755); err != nil {
		return is(err)
	}
	_ = os.Remove(mark)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		for i := 0; !stop.Load() && i < 20000*turns; i++ {
			to := a["bash"]
			if i%2 == 0 {
				to = script
			}
			_ = unix.Symlink(to, tmp)
			_ = unix.Rename(tmp, name)
		}
	}()
	for range 200 {
		p, err := os.StartProcess(name, []string{name, "-c", "exit 0"}, &os.ProcAttr{})
		if err == nil {
			_, _ = p.Wait()
		}
	}
	stop.Store(true)
	<-done
	if _, err := os.Stat(mark); err == nil {
		return "escaped"
	}
	return "held"
}
