// The messages are JSON, one in each packet of the control socket. The ring sends an Order. Init builds the
// guest, proves its layers, and answers with a Report. The ring then sends a Go with the descriptors of the
// program, and init becomes or starts that program. Init is trusted code of the same build. A message that
// either side does not understand ends the guest.

package initproto

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// Version is that of the messages. Init rejects another.
const Version = 3

// The descriptors of init. A guest that seals itself keeps Control.
const (
	Connection = 3 // of the guest to its executor; the program inherits it
	Control    = 4 // a SOCK_SEQPACKET socket to the ring

	// Answers is the descriptor to which the program of a guest writes that does not seal itself: its
	// Connection is a pipe to read from, and this is another one.
	Answers = Control
)

// ProgramPath, followed by the number of a descriptor, is how init starts a program without a path
// (Mount.Once).
const ProgramPath = "/proc/self/fd/"

// Stays is the argument of an init that stays while the program runs, and so needs a second process. The init
// gets the argument before the order, so that it can start the second process early.
const Stays = "stays"

// Order says what init has to build around the program.
type Order struct {
	Version int
	Token   string // hex, random; the guest's host name is "guest-<Token>"
	Mounts  []Mount
	Temp    int64 // bytes of /tmp; if 0, there is none
	// path of a folder of that size, for the program; if empty, there is none
	Scratch string `json:",omitempty"`
	Limits  []Limit
	UID     int // of the program, inside and outside
	GID     int
	// Namespaces are those of the ring, of all Kinds, by the inode in /proc/self/ns. Init refuses to run in one
	// of them.
	Namespaces map[string]uint64
	Network    string  // profiles.NetworkOff or NetworkOwn
	Listen     *Listen `json:",omitempty"` // if nil, the guest's network has no listeners; NetworkOwn only
	ABI        int     // of Landlock, the lowest acceptable
	Filter     Program
	Key        Key  `json:",omitzero"` // the filter requires it at the start of a program
	Notify     bool // the filter has a listener: send its descriptor with the Report
	WX         bool // memory never becomes executable
	Reap       bool // init stays, starts the program as its child and reports its end
	Seal       bool // the program keeps Control, to seal itself

	CPU  int64 // milliseconds of all processes together; if 0, only the rlimit. Reap only
	Wall int64 // milliseconds after Go; 0 is no limit. Reap only
	// Memory is bytes of all processes and folders in memory together. 0 is no limit. Reap only.
	Memory int64 `json:",omitempty"`
}

// TempPath is the folder of temporary files, in memory unless a mount is there.
const TempPath = "/tmp"

// InMemory lists the guest's folders that are in memory.
func (o Order) InMemory() (paths []string) {
	if o.Temp <= 0 {
		return nil
	}
	if !slices.ContainsFunc(o.Mounts, func(m Mount) bool { return m.Path == TempPath }) {
		paths = append(paths, TempPath)
	}
	if o.Scratch != "" {
		paths = append(paths, o.Scratch)
	}
	return paths
}

// Listen says on which ports init listens in the network of the guest. In this network every address is local.
// Init sends the sockets to the ring. TCP port Proxy is opened on 127.0.0.1 only. Each of Ports is opened on
// every address, and so is port 53, for TCP and UDP.
type Listen struct {
	Proxy uint16
	Ports []uint16
}

// MaxPorts limits the ports of a Listen. All descriptors go with one message, of which the kernel takes 253.
const MaxPorts = 128

// DNS is the port of the name server.
const DNS = 53

// Listener describes one descriptor: a listening TCP socket, or a UDP socket.
type Listener struct {
	Kind string
	Port uint16
}

// The kinds of a Listener.
const (
	ListenProxy = "proxy"
	ListenPort  = "port"    // of every address
	ListenDNS   = "dns"     // packets
	ListenDNS2  = "dns-tcp" // streams
)

// Kinds are the kinds of namespaces of which a guest has its own.
func Kinds() []string { return []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} }

// Mount is one file or folder of the guest's tree. Path is its path, both in the host and in the guest. Device
// and Inode are those when the profile was compiled, and init rejects any other file.
type Mount struct {
	Path   string
	Device uint64
	Inode  uint64
	Dir    bool
	Read   bool // content may be read, a folder listed
	Write  bool // may be changed
	Exec   bool // may be started
	// may be mapped executable: a library, a program, its interpreter; for a folder, all files in it, see Key
	Map bool
	// a folder in the guest's own root whose mounts may be listed; nothing is mounted on it
	List bool `json:",omitempty"`
	Hide bool // the path is covered: nothing is granted
	Tree bool `json:",omitempty"` // its descriptor comes with the order: the ring has mapped its users
	// the program of the guest, which init starts: it has no path in the guest
	Once bool   `json:",omitempty"`
	Link string // if not empty, a symbolic link with this text, and nothing is mounted
}

// Limit is one resource limit, soft and hard.
type Limit struct {
	Name     string // as of getrlimit(2), without RLIMIT_
	Resource int
	Value    uint64
}

// Instruction is one instruction of a classic BPF program, struct sock_filter.
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Key is the value that a call of execve must have, in the three registers that the kernel does not read, so
// that the filter allows it. Init has it, and the program that it becomes does not. A zero Key is no key: the
// guest may start programs. In other Keys no word is 0.
//
// A loader starts any file that may be mapped executable. So only a guest with a Key, whose first program is
// its last, may have folders in which all files may be mapped so.
type Key [3]uint64

// Program is a filter. Its JSON is one string, since decoding a thousand objects would take most of init's
// time.
type Program []Instruction

// MarshalText returns the instructions as base64, eight bytes each.
func (p Program) MarshalText() ([]byte, error) {
	b := make([]byte, 0, instructionBytes*len(p))
	for _, i := range p {
		b = binary.BigEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.BigEndian.AppendUint32(b, i.K)
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText rejects text that MarshalText would not write, and more instructions than the kernel takes.
func (p *Program) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	if len(b)%instructionBytes != 0 || len(b)/instructionBytes > MaxInstructions {
		return fmt.Errorf("filter: %d bytes are no program", len(b))
	}
	*p = make(Program, 0, len(b)/instructionBytes)
	for ; len(b) > 0; b = b[instructionBytes:] {
		*p = append(*p, Instruction{
			Code: binary.BigEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.BigEndian.Uint32(b[4:]),
		})
	}
	return nil
}

// MaxInstructions of a program, as the kernel has it.
const MaxInstructions = 4096

const instructionBytes = 8

// Report says which layers init has built, or why it has not. If Failed is empty, every layer is in force and
// was proved.
type Report struct {
	Version int
	Layers  map[string]string // layer -> enforced | best-effort | unavailable
	ABI     int               // of Landlock, as enforced
	Proved  []string          // names of the canaries that ran
	Failed  string            // the layer
	Kind    string            // one of the Kinds; empty if nothing failed
	Step    string            // the failed step: "mount_setattr /usr/bin/git"
	Errno   int               // 0 if no system call failed
	Reason  string            // one sentence
	Remedy  string

	// Listeners describe the descriptors that come with this report. IPv6 says that the listeners have IPv6
	// addresses too. If Order.Listen is set, init sends the listeners in a report of their own, before the
	// report about the layers. The report with the listeners has no other content.
	Listeners []Listener `json:",omitempty"`
	IPv6      bool       `json:",omitempty"`
}

// The kinds of a failure.
const (
	KindMissing = "missing" // the host reports that it does not give the layer
	KindLies    = "lies"    // the host reported that it gave it, and a canary shows that it did not
	KindFault   = "fault"   // neither: a path that changed, no memory
)

// Go starts the program. Its Files descriptors come with it: standard input, output and error, then the
// connection if there is one.
type Go struct {
	Argv  []string
	Env   []string
	Dir   string
	Files int
}

// Ask is a request of the ring to an init that reaps.
type Ask struct {
	What  string
	Ports []uint16 `json:",omitempty"` // of AskListen
}

// The requests of an Ask.
const (
	AskUsage   = "usage"   // answered by a Told with the processor time so far
	AskListen  = "listen"  // answered by a Told with Listeners for those of Ports that are free
	AskWeighed = "weighed" // no answer: the guest of a ToldHeavy is within its limit
)

// ToldHeavy is the What of an unrequested Told. The guest may hold more than its limit, or less, since shared
// memory is counted for each process. The ring weighs the guest, and ends it or sends AskWeighed.
const ToldHeavy = "heavy"

// Told is a message of an init that reaps, after Go.
type Told struct {
	Started bool
	Failed  string // the step of starting the program that failed
	Errno   int    // of Failed; 0 if no system call failed
	Ended   bool
	Code    int // exit code, if Ended and Signal is 0
	Signal  int
	Alone   bool   // if Ended: no other process of the guest is alive, and none can start
	Limit   string // "cpu", "wall", "memory": the limit that ended it
	CPU     int64  // milliseconds, of all processes
	Peak    int64  // bytes, the largest of one process

	What      string     `json:",omitempty"` // What of the answered Ask, or ToldHeavy
	Files     int64      `json:",omitempty"` // of ToldHeavy: bytes of files in memory
	Listeners []Listener `json:",omitempty"` // describe the descriptors of the message
}

// Seal is the filter that a guest which seals itself (Order.Seal) installs on all its threads, irreversibly.
// The ring sends it on Control directly after Go. Since a process can have only one listener, the Order of such
// a guest has Notify false, and its filter must allow seccomp(2) and setting the limits of the process.
type Seal struct {
	Version int
	Filter  Program
}

// Sealed is the guest's answer on Control. If Failed is empty, the listener of the filter comes with it. The
// guest then tries calls that the filter denies, from more than one thread. Until the guest closes Control, the
// reports of the listener are these canaries, and each is answered with EPERM only (violations.Config.Canary).
// From then on every reported call is a violation and ends the guest. Only then does the ring call the guest
// sealed.
type Sealed struct {
	Version int
	Failed  string
}

// The layers of a Report and of an attestation.
const (
	LayerProcess     = "process"
	LayerEnvironment = "environment"
	LayerDescriptors = "descriptors"
	LayerParentDeath = "parent_death"
	LayerNamespaces  = "namespaces"
	LayerMounts      = "mounts"
	LayerExec        = "exec" // only granted programs start: noexec, closure, Landlock
	LayerNetwork     = "network"
	// all connections lead to the ring; unavailable if the network has no listeners
	LayerEgress       = "egress"
	LayerLimits       = "rlimits"
	LayerPrivileges   = "no_new_privs"
	LayerLandlock     = "landlock"
	LayerCapabilities = "capabilities"
	LayerMemory       = "memory_wx" // memory never becomes executable; unavailable with jit
	LayerSeccomp      = "seccomp"
	LayerSelfTest     = "self_test"
	LayerCgroups      = "cgroups"
	// the memory of the whole guest is limited; best-effort if it is counted periodically
	LayerHeld       = "memory"
	LayerSeal       = "seal"       // a guest that dropped the rest of its powers itself
	LayerViolations = "violations" // denied calls reach the audit log
)

// Modes of the network.
const (
	NetworkOff = "off"
	NetworkOwn = "own"
)
