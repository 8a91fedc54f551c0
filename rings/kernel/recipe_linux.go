package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/cgroup"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/rootfs"
	"github.com/ringd/ringd/rings/kernel/seccomp"
)

// kind is what guests have in common for which one init can be built before their program is known: all but the
// arguments, the environment and the folder.
type kind struct {
	profile  string // digest
	own      string // digest of Own, Code and Room
	program  string
	executor string
	uid      int
	cpu      int64
	memory   int64
	file     int64
	seals    bool
	ports    string // on which its init listens; if empty, none
}

// recipe says how guests of one kind are built. It is immutable.
type recipe struct {
	kind    kind
	order   initproto.Order // without a token
	head    []byte          // its JSON up to the token
	tail    []byte          // its JSON after the token
	plan    rootfs.Plan
	granted map[[2]uint64]bool // files that may be started, by device and inode
	group   cgroup.Limits      // of all its processes
	seen    rootfs.Seen
}

func kindOf(s executors.Spec, uid int) (kind, error) {
	digest, err := s.Kernel.Digest()
	if err != nil {
		return kind{}, err
	}
	own := ""
	for _, r := range s.Own {
		own += r.Path + "\x00"
	}
	own += "\x00" + s.Room
	for _, more := range [][]profiles.PathRule{s.Code, s.List} {
		own += "\x00"
		for _, r := range more {
			own += r.Path + "\x00"
		}
	}
	return kind{
		profile: digest, own: own, program: s.Argv[0], executor: s.Executor, uid: uid,
		cpu: s.CPU.Milliseconds(), memory: s.MemoryBytes, file: s.FileBytes, seals: s.Seals,
	}, nil
}

// portsOf lists the ports on which the init of a guest listens besides the port of the proxy. nil means that
// init does not listen at all.
func (r *Ring) portsOf(s executors.Spec) []uint16 {
	if r.cfg.Egress == nil || network(s.Kernel.Network) != initproto.NetworkOwn {
		return nil
	}
	if g := r.inForce.Load(); g != nil && g.ports[s.Agent] != nil {
		return g.ports[s.Agent]
	}
	return listenedPorts(nil)
}

// keyOf returns the key to the start of the program of s. It is zero if the program may start others. An error
// says that s asks for a combination that is not possible.
func (r *Ring) keyOf(s executors.Spec) (key initproto.Key, err error) {
	switch {
	case len(s.Code) == 0:
		return initproto.Key{}, nil
	case s.Seals || len(s.Kernel.Exec)+len(s.Kernel.Helpers) > 0:
		return initproto.Key{}, errors.New(
			"a guest that loads code of its executor's neither seals itself nor starts programs",
		)
	}
	b := make([]byte, 8*len(key))
	if _, err := io.ReadFull(r.cfg.Token, b); err != nil {
		return initproto.Key{}, fmt.Errorf("the key of a guest: %w", err)
	}
	for i := range key {
		key[i] = binary.NativeEndian.Uint64(b[8*i:]) | 1
	}
	return key, nil
}

// judgesStarts returns the function that decides about programs that a guest starts, or nil if it starts none.
func (r *recipe) judgesStarts() func(device, inode uint64) bool {
	if r.order.Key != (initproto.Key{}) {
		return nil
	}
	return r.mayStart
}

func portsText(ports []uint16) string {
	if ports == nil {
		return ""
	}
	return fmt.Sprint(ports)
}

// recipe returns how to build the guest of s. Paths are resolved once for a set, and again if one of them has
// changed.
func (r *Ring) recipe(s executors.Spec, uid int) (*recipe, error) {
	k, err := kindOf(s, uid)
	if err != nil {
		return nil, err
	}
	k.ports = portsText(r.portsOf(s))
	r.mu.Lock()
	known, age := r.recipes[k], r.age
	r.mu.Unlock()
	switch {
	case known == nil:
	case known.seen.Still(): // waiting guests hold the old files
		return known, nil
	default:
		r.unlearn(known)
	}
	made, err := r.newRecipe(k, s)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if age == r.age && len(r.recipes) < maxRecipes {
		r.recipes[k] = made
	}
	return made, nil
}

// unlearn makes the next guest of this kind resolve its paths again.
func (r *Ring) unlearn(c *recipe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recipes[c.kind] == c {
		delete(r.recipes, c.kind)
		r.emptyLocked(func(k kind) bool { return k == c.kind })
	}
}

// maxRecipes limits the recipes that are kept of a set. Others are made for each guest.
const maxRecipes = 256

func (r *Ring) newRecipe(k kind, s executors.Spec) (*recipe, error) {
	now := r.inForce.Load()
	at := r.places(now)
	at.Own, at.Code, at.List, at.Room = s.Own, s.Code, s.List, s.Room
	key, err := r.keyOf(s)
	if err != nil {
		return nil, err
	}
	plan, err := rootfs.Resolve(s.Kernel, s.Argv[0], at)
	if at.RefusesOwn(err) {
		return nil, fmt.Errorf("%w: %w", executors.ErrOwn, err)
	}
	if err != nil {
		return nil, err
	}
	if moved := now.changedMounts(k.profile, plan.Mounts); len(moved) > 0 {
		return nil, &changedError{moved[0], now}
	}
	if s.Seals {
		s.Kernel.Files = sealedFiles
	}
	o, err := newOrder(r, &k, s, key, plan.Mounts)
	if err != nil {
		return nil, err
	}
	made := &recipe{kind: k, order: o, plan: plan, granted: map[[2]uint64]bool{}, seen: rootfs.Look(plan.Mounts)}
	made.group = cgroup.Limits{
		MemoryBytes: tighter(s.MemoryBytes, s.Kernel.MemoryBytes) + memoryBeside,
		Processes:   max(s.Kernel.Processes, 1) + initThreads,
	}
	for _, m := range plan.Mounts {
		if m.Exec && !m.Once {
			made.granted[[2]uint64{m.Device, m.Inode}] = true
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	head, tail, ok := bytes.Cut(text, []byte(tokenField+`"`)) // of the first fields, before any text of a policy
	if !ok {
		return nil, errors.New("an order has no token")
	}
	made.head, made.tail = append(head, tokenField...), append([]byte(`"`), tail...)
	return made, nil
}

// newOrder makes the order for guests of kind k, and sets the ports of k.
func newOrder(
	r *Ring, k *kind, s executors.Spec, key initproto.Key, mounts []initproto.Mount,
) (o initproto.Order, err error) {
	jit := s.Kernel.JIT || s.Seals
	notify := r.cfg.Report != nil && !s.Seals
	program, err := seccomp.Build(seccomp.Spec{
		Arch: r.arch, Network: s.Kernel.Network, Processes: !s.Seals, JIT: jit, WX: !jit && !r.denyWX,
		Notify: notify, Exec: notify && key == (initproto.Key{}), Key: key, Seals: s.Seals,
	})
	if err != nil {
		return o, err
	}
	list, err := limitsWithin(limitsOf(s))
	if err != nil {
		return o, err
	}
	apart, err := ownNamespaces()
	if err != nil {
		return o, err
	}
	o = initproto.Order{
		Version: initproto.Version, Namespaces: apart, Mounts: mounts, Temp: s.Kernel.TempBytes, Limits: list,
		UID: k.uid, GID: r.gid, Network: network(s.Kernel.Network), ABI: minABI,
		Filter: program, Key: key, Notify: notify, WX: !jit && r.denyWX, Reap: !s.Seals, Seal: s.Seals,
		Wall: s.Kernel.WallMillis,
	}
	if s.Kernel.Scratch && o.Temp > 0 && !rootfs.Stands(mounts, executors.Workspace) {
		o.Scratch = executors.Workspace
	}
	if ports := r.portsOf(s); ports != nil {
		o.Listen = wantedListen(ports)
		k.ports = portsText(ports) // of one set, even if another came into force since
	}
	if k.uid != r.users.first {
		mapped, err := r.mapMounts(&o)
		if err != nil {
			return o, err
		}
		if !mapped {
			o.UID, o.Mounts = r.users.first, mounts
		}
	}
	if o.Reap {
		o.CPU = tighter(s.CPU.Milliseconds(), s.Kernel.CPUMillis)
		o.Memory = limitTogether(s)
	}
	return o, nil
}

// ownNamespaces are those of this process, in which no guest may be.
func ownNamespaces() (map[string]uint64, error) {
	own := map[string]uint64{}
	for _, kind := range initproto.Kinds() {
		var st unix.Stat_t
		if err := unix.Stat("/proc/self/ns/"+kind, &st); err != nil {
			return nil, fmt.Errorf("look at the %s namespace: %w", kind, err)
		}
		own[kind] = st.Ino
	}
	return own, nil
}

// sealedFiles is far more than the descriptors that guests have in transit. A guest that seals itself opens
// nothing from then on. The kernel compares this limit with the number of descriptors in transit of all guests
// of a user to decide whether the guest may send that of its seal.
const sealedFiles = 1 << 12

const tokenField = `"Token":"`

// minABI of Landlock is the first that controls opening files for truncation.
const minABI = 3

func network(n string) string {
	if n == initproto.NetworkOwn {
		return n
	}
	return initproto.NetworkOff
}

// withToken is the JSON of the order of one guest. The token is hex.
func (r *recipe) withToken(token string) []byte {
	return slices.Concat(r.head, []byte(token), r.tail)
}

// places are those against which profiles of a set are resolved. g may be nil.
func (r *Ring) places(g *generation) rootfs.Places {
	at := rootfs.Places{Home: r.cfg.Home, Workspace: r.cfg.Workspace, Private: r.cfg.Private, Links: executors.Programs}
	if g != nil {
		at.Written = g.written
	}
	return at
}
