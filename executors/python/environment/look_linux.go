package environment

import "syscall"

// fileStateOf is the state of the target of a path. It is zero if it cannot be read.
func fileStateOf(path string) fileState {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return fileState{}
	}
	return fileState{int64(st.Dev), int64(st.Ino), st.Size, st.Ctim.Nano()}
}
