//go:build !linux

package environment

// look knows nothing here, where no guest of the kernel ring is started either.
func look(string) fileState { return fileState{} }
