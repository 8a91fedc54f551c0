//go:build !linux

package environment

// look is always zero here, where the kernel ring starts no guest either.
func look(string) fileState { return fileState{} }
