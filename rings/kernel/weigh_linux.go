package kernel

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// hearHeavy weighs a guest whose init has counted more than its limit, where what
// processes share counts for each. The init may not look into the program's maps;
// the ring may.
func (g *guest) hearHeavy(t initproto.Told) {
	w := g.weigh(t.Files)
	g.mu.Lock()
	g.peak = max(g.peak, w)
	g.mu.Unlock()
	if g.memory > 0 && w > g.memory {
		g.endFor("memory", "")
		return
	}
	_ = g.control.Send(initproto.Ask{What: initproto.AskWeighed}) // an init that is gone needs not know
}

// weigh is what the guest holds in memory, where a page that processes share counts
// once; files is what its folders in memory hold. Of a process that the ring may not
// look into, all that it has counts.
func (g *guest) weigh(files int64) int64 {
	root := "/proc/" + strconv.Itoa(g.process.Pid) + "/root/proc"
	names, err := procfs.List(root)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return 0 // it has ended, which its init tells
	case err != nil:
		return heaviest
	}
	var private, shared, mapped int64
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || pid == 1 {
			continue
		}
		at := root + "/" + name
		status, err := procfs.Read(at + "/status")
		if err != nil {
			continue // it has ended
		}
		rollup, err := procfs.Read(at + "/smaps_rollup")
		if err != nil {
			if again, err := procfs.Read(at + "/status"); err == nil {
				private += procfs.Held(again)
			}
			continue
		}
		private += procfs.Sum(rollup, "Pss_Anon", "SwapPss") + procfs.Sum(status, "VmPTE")
		if s := procfs.Sum(rollup, "Pss_Shmem"); s > 0 {
			shared += s
			mapped += g.mappedFiles(at)
		}
		if private+shared > g.memory {
			break // the rest would take time, in which the guest takes more
		}
	}
	// A file in memory that is mapped is among both.
	return private + shared + max(files-min(mapped, shared), 0)
}

// heaviest is more than any limit: of a guest that cannot be weighed.
const heaviest = 1 << 62

// mappedFiles is the share of a process of what is mapped of files in memory.
func (g *guest) mappedFiles(at string) (bytes int64) {
	text, err := procfs.Read(at + "/smaps")
	if err != nil {
		return 0
	}
	in := false
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 5 && !strings.HasSuffix(f[0], ":") {
			in = len(f) >= 6 && g.inMemory(f[5])
		} else if in {
			bytes += procfs.Sum(line, "Pss")
		}
	}
	return bytes
}

func (g *guest) inMemory(path string) bool {
	for _, folder := range g.folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
