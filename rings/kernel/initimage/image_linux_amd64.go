package initimage

import _ "embed"

//go:embed init_linux_amd64
var program []byte // go:embed needs a variable; never written

// Init is the program, an ELF file, or nil if there is none. The caller must not change it.
func Init() []byte { return program }
