package executors

// Places of an enclosed guest, which the kernel ring makes for a profile that asks
// for them: see profiles.Kernel.
const (
	Programs  = "/run/ringd/bin" // Kernel.Path: a link for each listed program, by its name; the PATH of what a guest starts
	Workspace = "/workspace"     // Kernel.Scratch: a folder of the guest's own, empty and thrown away, unless something of the host is granted there
)
