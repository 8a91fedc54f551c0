package executors

// Folders of a confined guest. The kernel ring makes them for a profile that asks for them: see
// profiles.Kernel.
const (
	// Kernel.Path: a link to each listed program, by its name; it is the PATH of programs that the guest starts
	Programs = "/run/ringd/bin"
	// Kernel.Scratch: an empty folder for this guest, deleted with it, unless a folder of the host is granted
	// there
	Workspace = "/workspace"
)
