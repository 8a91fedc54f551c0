package profiles

// Kernel is what one guest process may do to its host: the profile of the kernel
// ring. The zero Kernel grants nothing but the program itself.
type Kernel struct {
	Executor  string     `json:"executor"`
	Read      []PathRule `json:"read,omitempty"`      // files and folders
	Write     []PathRule `json:"write,omitempty"`     // does not imply Read
	Deny      []PathRule `json:"deny,omitempty"`      // wins
	Exec      []PathRule `json:"exec,omitempty"`      // programs that may be started
	Libraries []PathRule `json:"libraries,omitempty"` // shared objects, or folders of them, that programs load
	Network   string     `json:"network"`             // NetworkOff or NetworkOwn; "" is off
	JIT       bool       `json:"jit,omitempty"`       // memory may become executable

	CPUMillis   int64 `json:"cpuMillis"`
	WallMillis  int64 `json:"wallMillis"`  // 0: the executor holds it
	MemoryBytes int64 `json:"memoryBytes"` // of each process, and of all together where control groups allow
	Processes   int64 `json:"processes"`   // with threads; at least 1
	Files       int64 `json:"files"`       // open descriptors of a process
	FileBytes   int64 `json:"fileBytes"`   // largest file; 0: none can be written
	TempBytes   int64 `json:"tempBytes"`   // of /tmp; 0: there is none
	OutputBytes int64 `json:"outputBytes"` // standard output and error together
}

// Networks of a guest.
const (
	NetworkOff = "off" // no socket but those it was given
	NetworkOwn = "own" // a network of its own, with loopback alone
)
