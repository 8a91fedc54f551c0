//go:build !linux

package cgroup

import "os"

// Tree does not exist on this system.
type Tree struct{}

// Group does not exist on this system.
type Group struct{}

// Find returns an error: only Linux has control groups.
func Find(Config) (*Tree, error) { return nil, &Unavailable{Reason: "only Linux has them"} }

// Missing says that no controller is in force.
func (*Tree) Missing(string) string { return "only Linux has control groups" }

// Make returns an error.
func (*Tree) Make(string, Limits) (*Group, error) {
	return nil, &Unavailable{Reason: "only Linux has them"}
}

// Close does nothing.
func (*Tree) Close() error { return nil }

// Dir is nil.
func (*Group) Dir() *os.File { return nil }

// Kill does nothing.
func (*Group) Kill() error { return nil }

// Freeze returns an error.
func (*Group) Freeze() error { return &Unavailable{Reason: "only Linux has them"} }

// Close does nothing.
func (*Group) Close() error { return nil }
