//go:build !linux || !(amd64 || arm64)

package initimage

// Init is the program; there is none for this system.
func Init() []byte { return nil }
