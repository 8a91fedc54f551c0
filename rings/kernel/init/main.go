// Command init is the first process of a guest: a small static program of this
// project, built before ringd and embedded in it. All it does is in package
// enclose; package kernel starts it and nothing else does.
package main

import (
	"os"

	"github.com/ringd/ringd/rings/kernel/enclose"
)

func main() { os.Exit(enclose.Main()) }
