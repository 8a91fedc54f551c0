//go:build !linux || !(amd64 || arm64)

package initimage

// Init is nil: there is no program for this system.
func Init() []byte { return nil }
