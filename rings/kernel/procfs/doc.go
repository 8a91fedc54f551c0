// Package procfs reads the small files and folders of /proc, with only the system calls that a guest's filter
// allows.
package procfs
