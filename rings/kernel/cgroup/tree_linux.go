package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is the subtree of this process. It is safe for concurrent use.
type Tree struct {
	dir  string
	have map[string]string // controller -> why it is missing, or empty
	// mkdir makes a group; the kernel puts files into it.
	mkdir func(path string) error

	mu   sync.Mutex
	left []string // groups that could not be removed yet
}

// Find returns the subtree that is delegated to this process, and moves the process to a group of its own in
// it. The error is *Unavailable if there is none.
func Find(c Config) (*Tree, error) {
	dir, err := own(c)
	if err != nil {
		return nil, err
	}
	if err := delegated(dir, c.UID); err != nil {
		return nil, err
	}
	if err := alone(dir); err != nil {
		return nil, &Unavailable{Reason: err.Error(), Remedy: remedy}
	}
	t := &Tree{dir: dir, have: map[string]string{}, mkdir: func(path string) error { return os.Mkdir(path, 0o755) }}
	if err := t.enter(); err != nil {
		return nil, &Unavailable{Reason: err.Error(), Remedy: remedy}
	}
	t.enable()
	return t, nil
}

// own is the folder of the group that this process is in.
func own(c Config) (string, error) {
	text, err := os.ReadFile(orElse(c.Cgroup, "/proc/self/cgroup"))
	if err != nil {
		return "", &Unavailable{Reason: err.Error()}
	}
	path, ok := "", false
	for line := range strings.Lines(string(text)) {
		if p, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found {
			path, ok = p, true
		}
	}
	if !ok || !filepath.IsAbs(path) || strings.Contains(path, "..") {
		return "", &Unavailable{
			Reason: "this process is in no group of version 2", Remedy: "boot with systemd.unified_cgroup_hierarchy=1",
		}
	}
	mounts, err := os.ReadFile(orElse(c.Mounts, "/proc/self/mountinfo"))
	if err != nil {
		return "", &Unavailable{Reason: err.Error()}
	}
	lines := bufio.NewScanner(bytes.NewReader(mounts))
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		f := strings.Fields(before)
		if !ok || !strings.HasPrefix(after, "cgroup2 ") || len(f) < 5 {
			continue
		}
		root, at := unescape(f[3]), unescape(f[4])
		if below, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(below) {
			return filepath.Join(at, below), nil
		}
	}
	return "", &Unavailable{Reason: "no cgroup2 file system is mounted that shows the group of this process"}
}

// unescape decodes a path of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// delegated rejects a group that this process may not divide: the root group, a group of another user, and, as
// root, a group without the mark that systemd sets.
func delegated(dir string, uid int) error {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.events")); errors.Is(err, fs.ErrNotExist) {
		return &Unavailable{Reason: "this process is in the root group", Remedy: remedy}
	} else if err != nil {
		return &Unavailable{Reason: err.Error()}
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &Unavailable{Reason: fmt.Sprintf("%s: %v", dir, err)}
	}
	if int(st.Uid) != uid {
		return &Unavailable{Reason: dir + " belongs to somebody else", Remedy: remedy}
	}
	if uid != 0 || marked(dir, "trusted.delegate") || marked(dir, "user.delegate") {
		return nil
	}
	return &Unavailable{Reason: dir + " is not delegated", Remedy: remedy}
}

// alone rejects a group with other members, which could not be divided and is not meant to be.
func alone(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(text)) {
		if pid != strconv.Itoa(os.Getpid()) {
			return fmt.Errorf("other processes are in the group of the daemon: %s", pid)
		}
	}
	return nil
}

func marked(dir, name string) bool {
	var b [2]byte
	n, err := unix.Getxattr(dir, name, b[:])
	return err == nil && string(b[:n]) == "1"
}

// enter moves this process to its leaf, so that the tree may be divided.
func (t *Tree) enter() error {
	at := filepath.Join(t.dir, leaf)
	if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return set(at, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

// enable enables the available controllers, and records why one is not available.
func (t *Tree) enable() {
	text, err := os.ReadFile(filepath.Join(t.dir, "cgroup.controllers"))
	known := strings.Fields(string(text))
	for _, name := range controllers() {
		why := "the host gives this group no such controller: version 1 has it, or no group above hands it down"
		if err != nil {
			why = err.Error()
		}
		for _, k := range known {
			if k == name {
				why = ""
			}
		}
		if why == "" {
			switch err := set(t.dir, "cgroup.subtree_control", "+"+name); {
			case errors.Is(err, unix.EBUSY):
				why = "other processes are in the group of the daemon"
			case err != nil:
				why = err.Error()
			}
		}
		t.have[name] = why
	}
}

// set writes one value. It creates no file.
func set(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Missing says why a controller is not in force. It is empty if it is.
func (t *Tree) Missing(controller string) string {
	why, ok := t.have[controller]
	if !ok {
		return "no such controller is used"
	}
	return why
}

// Group is the control group of one guest.
type Group struct {
	tree *Tree
	path string
	dir  *os.File
}

// Make makes a group with limits. A limit that cannot be set is an error. A limit whose controller is missing
// is left out, see Missing. The caller closes the Group.
func (t *Tree) Make(name string, l Limits) (*Group, error) {
	t.sweep()
	if name == "" || strings.ContainsAny(name, "/.") {
		return nil, fmt.Errorf("make control group %q: no name for one", name)
	}
	path := filepath.Join(t.dir, name)
	if err := t.mkdir(path); err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	g := &Group{tree: t, path: path}
	err := g.limit(l)
	if err == nil {
		g.dir, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make control group: %w", err), os.Remove(path))
	}
	return g, nil
}

func (g *Group) limit(l Limits) error {
	var list []struct{ file, value string }
	add := func(file, value string) { list = append(list, struct{ file, value string }{file, value}) }
	if g.tree.have[Memory] == "" {
		add("memory.oom.group", "1")
		if l.MemoryBytes > 0 {
			add("memory.max", strconv.FormatInt(l.MemoryBytes, 10))
			add("memory.swap.max", "0")
		}
	}
	if g.tree.have[PIDs] == "" && l.Processes > 0 {
		add("pids.max", strconv.FormatInt(l.Processes, 10))
	}
	if g.tree.have[CPU] == "" {
		add("cpu.weight", strconv.Itoa(weight))
	}
	for _, s := range list {
		err := set(g.path, s.file, s.value)
		if errors.Is(err, fs.ErrNotExist) && s.file == "memory.swap.max" {
			continue // a kernel without swap accounting has no limit of swap
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Dir is the folder of the group, for a fork into it.
func (g *Group) Dir() *os.File { return g.dir }

// Kill ends all processes of the group and does not wait.
func (g *Group) Kill() error {
	if err := set(g.path, "cgroup.kill", "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end control group: %w", err)
	}
	return nil // before Linux 5.14 there is no such file; the namespace ends with its first process
}

// Used is the processor time of all processes that have ever been in the group. The kernel counts it with and
// without the controller.
func (g *Group) Used() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(g.path, "cpu.stat"))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "usage_usec "); ok {
			usec, err := strconv.ParseInt(n, 10, 64)
			if err != nil || usec < 0 || usec > math.MaxInt64/1000 {
				return 0, fmt.Errorf("read processor time: %q", line)
			}
			return time.Duration(usec) * time.Microsecond, nil
		}
	}
	return 0, errors.New("read processor time: the group does not say")
}

// Freeze stops all processes of the group where they are. Kill still ends them.
func (g *Group) Freeze() error {
	if err := set(g.path, "cgroup.freeze", "1"); err != nil {
		return fmt.Errorf("freeze control group: %w", err)
	}
	return nil
}

// Close removes a group whose processes have ended. A group that the kernel still holds is removed later. It
// may be called more than once, and on a nil group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	if err := g.dir.Close(); err != nil {
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		return err
	}
	g.tree.mu.Lock()
	g.tree.left = append(g.tree.left, g.path)
	g.tree.mu.Unlock()
	g.tree.sweep()
	return nil
}

// sweep removes groups that could not be removed before.
func (t *Tree) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := t.left[:0]
	for _, path := range t.left {
		if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
			keep = append(keep, path)
		}
	}
	t.left = keep
}

// Close removes the remaining groups, and returns an error for those that cannot be removed. The daemon stays
// in its own group.
func (t *Tree) Close() error {
	t.sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.left) > 0 {
		return fmt.Errorf("remove control groups: %s", strings.Join(t.left, ", "))
	}
	return nil
}
