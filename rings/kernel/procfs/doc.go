// Package procfs reads the small files and folders of /proc, with no more than the
// calls that a guest's filter allows.
package procfs
