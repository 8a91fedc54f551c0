// Package initimage holds the init of a guest: the static program of rings/kernel/init, made by `make init` for
// this architecture, the same bytes from the same sources. The kernel ring puts it into a sealed memory file
// and starts that.
package initimage

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest names the program: "sha256:…". It is empty if there is none.
func Digest() string {
	if Init() == nil {
		return ""
	}
	sum := sha256.Sum256(Init())
	return "sha256:" + hex.EncodeToString(sum[:])
}
