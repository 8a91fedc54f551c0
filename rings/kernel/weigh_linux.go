package kernel

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// handleHeavy weighs a guest whose init has counted more than its limit. Init counts shared pages once for each
// process. It may not read the program's maps, but the ring may.
func (g *guest) handleHeavy(t initproto.Told) {
	w, held := g.weigh(t.Files)
	g.mu.Lock()
	g.peak = max(g.peak, w)
	g.mu.Unlock()
	if g.memory > 0 && w > g.memory {
		g.endFor("memory", held)
		return
	}
	_ = g.control.Send(initproto.Ask{What: initproto.AskWeighed}) // an init that is gone needs no answer
}

// heaviest is above any limit, for a guest that cannot be weighed.
const heaviest = 1 << 62

// Values of Held in executors.Exit for a guest that is ended because of memory of the kernel.
const (
	heldMappings  = "held so many mappings that they and its memory were more than a guest may have"
	heldUncounted = "held so many mappings that its memory could not be measured in time"
	heldUnmapped  = "held more freed but mapped shared memory than a guest may"
)

// weigh returns the memory of the guest. A page that processes share counts once. files is the size of its
// folders in memory. A process that the ring may not inspect counts in full. For a guest within its limit the
// figure may be somewhat too low.
func (g *guest) weigh(files int64) (bytes int64, held string) {
	s := scale{
		root: "/proc/" + strconv.Itoa(g.process.Pid) + "/root/proc", folders: g.folders,
		limit: g.memory, files: files, objects: map[string]int64{},
	}
	switch err := s.list(); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return 0, "" // it has ended, which its init reports
	case err != nil:
		return heaviest, ""
	}
	runtime.LockOSThread() // the stopwatch measures this thread
	defer runtime.UnlockOSThread()
	s.clock = watch(s.allowed(), func() { g.endFor("memory", heldUncounted) })
	defer s.clock.stop()
	return s.weigh()
}

// scale weighs one guest, once. Except for the figures of status, the cost grows with the number of mappings
// and pages, and mappings cost the guest next to nothing. So the largest processes come first, each step ends
// as soon as its result is certain, and all steps together have an allowance of time.
type scale struct {
	root    string // /proc of the guest's processes
	folders []string
	limit   int64
	files   int64
	all     []process // the largest first
	clock   *stopwatch
	blind   bool             // the host does not allow the ring to inspect objects of memory
	lines   int64            // number of mappings
	objects map[string]int64 // sizes of objects of shared memory, by their numbers

	private, shared int64
}

// process is one of the guest's, with an upper limit of its memory.
type process struct {
	at string
	procfs.Memory
}

// list reads the upper limit of every process.
func (s *scale) list() error {
	names, err := procfs.List(s.root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || pid == 1 {
			continue
		}
		status, err := procfs.Read(s.root + "/" + name + "/status")
		if err != nil {
			continue // it has ended
		}
		s.all = append(s.all, process{s.root + "/" + name, procfs.MemoryOf(status)})
	}
	slices.SortFunc(s.all, func(a, b process) int { return cmp.Compare(b.Held()+b.Unseen(), a.Held()+a.Unseen()) })
	return nil
}

// Processor time allowed for weighing: a base, and more for each process and for each page. Measured on a busy
// host: 0.5 ms for a process of 120 mappings, and 50 ns for a page. A process of 65,000 mappings takes 40 ms.
const (
	allowedAlways  = 250 * time.Millisecond
	allowedProcess = 4 * time.Millisecond
	allowedPage    = 200 * time.Nanosecond
)

func (s *scale) allowed() time.Duration {
	pages := time.Duration(s.upper() / int64(unix.Getpagesize()))
	return allowedAlways + time.Duration(len(s.all))*allowedProcess + pages*allowedPage
}

func (s *scale) late() bool { return s.clock.late() }

// upper is the upper limit of the guest's memory: shared pages count for each process.
func (s *scale) upper() (bytes int64) {
	bytes = s.files
	for _, p := range s.all {
		bytes += p.Held()
	}
	return bytes
}

// largest is the lower limit of the guest's memory: that of one process counts once.
func (s *scale) largest() (bytes int64) {
	for _, p := range s.all {
		bytes = max(bytes, p.Held())
	}
	return max(bytes, s.files)
}

func (s *scale) weigh() (bytes int64, held string) {
	least := s.largest()
	if least > s.limit {
		return least, ""
	}
	if over, held := s.countMappings(least); over {
		return max(s.upper(), s.limit+1), held
	}
	unmapped := s.unmapped(s.sumShmem())
	if s.upper()+unmapped+s.mappings() <= s.limit {
		return least, ""
	}
	if !s.countPages() {
		return max(s.upper(), s.limit+1), heldUncounted
	}
	unmapped = s.unmapped(s.shared)
	beside := s.mappings() + unmapped
	switch w := s.private + max(s.shared, s.files); { // a mapped file in memory is in both figures
	case w > s.limit:
		return w, ""
	case w+beside > s.limit && unmapped > s.mappings():
		return w + beside, heldUnmapped
	case w+beside > s.limit:
		return w + beside, heldMappings
	case s.private+s.shared+s.files+beside <= s.limit:
		return w, ""
	}
	mapped := s.mappedFiles()
	return s.private + s.shared + beside + max(s.files-min(mapped, s.shared), 0), ""
}

// countPages adds up the pages of the processes. A shared page counts as the fraction 1/n for each of the n
// processes that map it. It stops above the limit: the rest would take time in which the guest takes more. It
// returns false when its time is over.
func (s *scale) countPages() bool {
	for _, p := range s.all {
		if s.late() {
			return false
		}
		rollup, err := procfs.Read(p.at + "/smaps_rollup")
		if err != nil {
			if again, err := procfs.Read(p.at + "/status"); err == nil {
				s.private += procfs.Held(again)
			}
			continue
		}
		s.private += procfs.Sum(rollup, "Pss_Anon", "SwapPss") + p.Tables
		s.shared += procfs.Sum(rollup, "Pss_Shmem")
		if s.private+s.shared > s.limit {
			break
		}
	}
	return true
}

// mappings is the kernel memory of the counted mappings.
func (s *scale) mappings() int64 { return s.lines * procfs.Mapping }

func (s *scale) sumShmem() (bytes int64) {
	for _, p := range s.all {
		bytes += p.Shmem
	}
	return bytes
}

// unmapped is the size of objects of shared memory beyond the mapped part.
func (s *scale) unmapped(mapped int64) (bytes int64) {
	for _, n := range s.objects {
		bytes += n
	}
	return max(bytes-mapped, 0)
}

// countMappings counts mappings, and the sizes of objects that are mapped shared. It stops if these alone are
// over the limit, or if its time is over. Then over is true and held names the kind, or is empty for mapped
// shared memory.
func (s *scale) countMappings(least int64) (over bool, held string) {
	for _, p := range s.all {
		late := false
		_ = procfs.Walk(p.at+"/maps", func(line []byte) bool { // an error: it has ended
			s.lines++
			s.addObject(p.at, line)
			late = s.lines%1024 == 0 && s.late()
			return !late
		})
		switch {
		case least+s.mappings() > s.limit:
			return true, heldMappings
		case s.unmapped(s.sumShmem()) > s.limit:
			return true, heldUnmapped
		case s.unmapped(0) > s.limit:
			return true, ""
		case late || s.late():
			return true, heldUncounted
		}
	}
	return false, ""
}

// addObject inspects the object that a line of maps names, if it is shared memory without a file. The recorded
// size of such an object is what it holds, mapped or not. Only root may inspect it.
func (s *scale) addObject(at string, line []byte) {
	if s.blind || !bytes.HasSuffix(line, []byte(" /dev/zero (deleted)")) {
		return
	}
	f := bytes.Fields(line)
	if len(f) < 5 {
		return
	}
	number := string(f[3]) + " " + string(f[4])
	if _, known := s.objects[number]; known {
		return
	}
	var st unix.Stat_t
	switch err := unix.Stat(at+"/map_files/"+string(f[0]), &st); {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		s.blind = true
	case err == nil: // otherwise it is no longer mapped there
		s.objects[number] = st.Blocks * 512
	}
}

// mappedFiles is the mapped part of files in memory. When its time is over, the rest counts as not mapped, and
// so twice.
func (s *scale) mappedFiles() (bytes int64) {
	for _, p := range s.all {
		if p.Shmem == 0 {
			continue
		}
		in, n := false, 0
		_ = procfs.Walk(p.at+"/smaps", func(line []byte) bool { // an error: it has ended
			text := string(line)
			if f := strings.Fields(text); len(f) >= 5 && !strings.HasSuffix(f[0], ":") {
				in = len(f) >= 6 && s.inMemory(f[5])
			} else if in {
				bytes += procfs.Sum(text, "Pss")
			}
			n++
			return n%1024 != 0 || !s.late()
		})
		if s.late() {
			break
		}
	}
	return bytes
}

func (s *scale) inMemory(path string) bool {
	for _, folder := range s.folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
