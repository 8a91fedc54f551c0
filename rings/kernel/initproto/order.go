// This file is what the kernel ring and the init of a guest say to each
// other, as JSON, one message a packet of the control socket. The ring sends an
// Order; init builds what it asks for, proves it, and answers with a Report. The
// ring then sends a Go with the descriptors of the program, and init becomes or
// starts that program. Init is trusted code of the same build; a message that
// either side does not understand ends the guest.

package initproto

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// Version is that of the messages; init refuses another.
const Version = 3

// The descriptors of init. A guest that is to seal itself keeps Control.
const (
	Connection = 3 // of the guest to its executor; the program inherits it
	Control    = 4 // a SOCK_SEQPACKET socket to the ring

	// Answers is where the program of any other guest writes: its Connection is a pipe
	// that it reads, and this is another one.
	Answers = Control
)

// ProgramPath is how init starts a program that stands nowhere (Mount.Once), with
// the number of a descriptor behind it.
const ProgramPath = "/proc/self/fd/"

// Stays is the argument of an init that stays, and so needs a second process: it
// is told before the order, so that it has started that one by then.
const Stays = "stays"

// Order is what init is to build around the program.
type Order struct {
	Version int
	Token   string // hex, random; in the guest's host name "guest-<Token>"
	Mounts  []Mount
	Temp    int64  // bytes of /tmp; 0: there is none
	Scratch string `json:",omitempty"` // a folder of as many bytes, the program's own; "": there is none
	Limits  []Limit
	UID     int // of the program, inside and outside
	GID     int
	// Namespaces are those of the ring, of all Kinds, by the inode in
	// /proc/self/ns: init refuses to be in one of them.
	Namespaces map[string]uint64
	Network    string  // profiles.NetworkOff or NetworkOwn
	Listen     *Listen `json:",omitempty"` // nil: nobody listens in the guest's network; NetworkOwn only
	ABI        int     // of Landlock, the least that will do
	Filter     Program
	Key        Key  `json:",omitzero"` // that the filter wants at the start of a program
	Notify     bool // the filter asks a listener: send its descriptor with the Report
	WX         bool // memory never becomes executable
	Reap       bool // init stays, starts the program as its child and reports its end
	Seal       bool // the program keeps Control, to seal itself

	CPU  int64 // milliseconds of all processes together; 0: the rlimit alone. Reap only
	Wall int64 // milliseconds from Go on; 0: none. Reap only
	// Memory is bytes of all processes and folders in memory together; 0: none. Reap only.
	Memory int64 `json:",omitempty"`
}

// TempPath is the folder of temporary files, in memory unless a mount stands there.
const TempPath = "/tmp"

// InMemory lists the folders of the guest that are memory.
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

// Listen is what init listens on in the network of the guest, in which every
// address is local then, and hands to the ring. The TCP port Proxy is that of
// 127.0.0.1 alone, each of Ports that of every address; port 53 of every address,
// of TCP and UDP, is always among them.
type Listen struct {
	Proxy uint16
	Ports []uint16
}

// MaxPorts bounds those of a Listen. All descriptors go with one message, of which
// the kernel takes 253.
const MaxPorts = 128

// DNS is the port of the answers to names.
const DNS = 53

// Listener says what one descriptor is: a listening TCP socket, or a UDP socket.
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

// Mount is one file or folder of the guest's tree. Path is where it stands, in
// the host and in the guest; Device and Inode are what it was when the profile
// was compiled, and init refuses anything else.
type Mount struct {
	Path   string
	Device uint64
	Inode  uint64
	Dir    bool
	Read   bool   // content may be read, a folder listed
	Write  bool   // may be changed
	Exec   bool   // may be started
	Map    bool   // may be mapped executable: a library, a program, its interpreter; of a folder all in it, see Key
	List   bool   `json:",omitempty"` // a folder of the guest's own root: what the guest has in it may be listed, and nothing is mounted
	Hide   bool   // what stands there is covered: nothing is granted
	Tree   bool   `json:",omitempty"` // its descriptor comes with the order: the ring has mapped its users
	Once   bool   `json:",omitempty"` // the program of the guest, which init starts: it stands nowhere
	Link   string // not "": a symbolic link of this text, and nothing is mounted
}

// Limit is one resource limit, soft and hard.
type Limit struct {
	Name     string // as of getrlimit(2), without RLIMIT_
	Resource int
	Value    uint64
}

// Instruction is one of a classic BPF program, struct sock_filter.
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Key is what a call of execve has to bring in the three registers that the kernel
// does not look at, so that the filter lets it pass: init has it, and the program
// that it becomes has not. The zero Key is none: whoever may start something does.
// No word of another is 0.
//
// A loader starts any file that may be mapped executable. So only a guest with a Key,
// whose first program is its last, has folders in which all files may be.
type Key [3]uint64

// Program is a filter. As JSON it is one string, since reading a thousand objects
// would be most of what init does.
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

// UnmarshalText refuses what MarshalText would not write, and more instructions
// than the kernel takes.
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

// Report is what init has built, or why it has not. Failed "" means everything
// stands and was proved.
type Report struct {
	Version int
	Layers  map[string]string // layer -> enforced | best-effort | unavailable
	ABI     int               // of Landlock, as enforced
	Proved  []string          // the canaries that were tried
	Failed  string            // the layer
	Kind    string            // KindMissing or KindLies; "" when nothing failed
	Step    string            // what was being done: "mount_setattr /usr/bin/git"
	Errno   int               // 0 when it was no system call
	Reason  string            // one sentence
	Remedy  string

	// Listeners are what the descriptors of this report are; IPv6 says that they
	// have those addresses too. Where Order.Listen is set they come in a report of
	// their own, with nothing else in it, before that of the layers.
	Listeners []Listener `json:",omitempty"`
	IPv6      bool       `json:",omitempty"`
}

// The kinds of a failure.
const (
	KindMissing = "missing" // the host does not give the layer, and says so
	KindLies    = "lies"    // the host says that it gave it, and a canary shows that it did not
	KindFault   = "fault"   // neither: a path that changed, no memory
)

// Go starts the program. Its descriptors come with it, Files in number: standard
// input, output and error, then the connection when there is one.
type Go struct {
	Argv  []string
	Env   []string
	Dir   string
	Files int
}

// Ask is what the ring may ask of an init that reaps.
type Ask struct {
	What  string
	Ports []uint16 `json:",omitempty"` // of AskListen
}

// What may be asked.
const (
	AskUsage   = "usage"   // a Told with the processor time so far
	AskListen  = "listen"  // a Told with Listeners, for those of Ports that are free
	AskWeighed = "weighed" // nothing: what was ToldHeavy is within its limit
)

// ToldHeavy is the What of a Told that nobody asked for: the guest may hold more
// than its limit, or less, since what processes share is counted for each. The ring
// weighs the guest, and ends it or says AskWeighed.
const ToldHeavy = "heavy"

// Told is what an init that reaps says after Go.
type Told struct {
	Started bool
	Failed  string // what could not be done to start the program
	Errno   int    // of Failed; 0: it was no system call
	Ended   bool
	Code    int // exit code, when Ended and Signal is 0
	Signal  int
	Alone   bool   // when Ended: nothing else of the guest lives, nor can
	Limit   string // "cpu", "wall", "memory": the limit that ended it
	CPU     int64  // milliseconds, of all processes
	Peak    int64  // bytes, the largest of one process

	What      string     `json:",omitempty"` // of the Ask that this answers, or ToldHeavy
	Files     int64      `json:",omitempty"` // of ToldHeavy: bytes of files in memory
	Listeners []Listener `json:",omitempty"` // what the descriptors are that came along
}

// Seal is the filter that a guest which seals itself (Order.Seal) puts on all its
// threads, for good. The ring sends it on Control right behind Go. Since a process
// can have one listener, the Order of such a guest has Notify false, and its
// filter must let seccomp(2) and the limits of the process be set.
type Seal struct {
	Version int
	Filter  Program
}

// Sealed is the guest's answer on Control, with the listener of the filter when
// Failed is "". After it the guest tries what the filter refuses, from more than
// one thread: until the guest closes Control, what the listener reports are these
// canaries, and each is answered EPERM and no more (watch.Config.Canary). From
// then on every call that is reported is a violation and ends the guest. Only
// then does the ring call the guest sealed.
type Sealed struct {
	Version int
	Failed  string
}

// The layers of a Report and of an attestation.
const (
	LayerProcess      = "process"
	LayerEnvironment  = "environment"
	LayerDescriptors  = "descriptors"
	LayerParentDeath  = "parent_death"
	LayerNamespaces   = "namespaces"
	LayerMounts       = "mounts"
	LayerExec         = "exec" // only granted programs start: noexec, closure, Landlock
	LayerNetwork      = "network"
	LayerEgress       = "egress" // what is sent anywhere arrives at the ring; unavailable where nobody listens
	LayerLimits       = "rlimits"
	LayerPrivileges   = "no_new_privs"
	LayerLandlock     = "landlock"
	LayerCapabilities = "capabilities"
	LayerMemory       = "memory_wx" // memory never becomes executable; unavailable with jit
	LayerSeccomp      = "seccomp"
	LayerSelfTest     = "self_test"
	LayerCgroups      = "cgroups"
	LayerHeld         = "memory"     // what all of a guest holds is bounded; best-effort where looks count it
	LayerSeal         = "seal"       // a guest that gave up the rest itself
	LayerViolations   = "violations" // refused calls reach the audit log
)

// Modes of the network.
const (
	NetworkOff = "off"
	NetworkOwn = "own"
)
