// Command init is the first process of a guest: a small static program of this
// project, built before ringd and embedded in it. All it does is in package
// enclose; package kernel starts it and nothing else does. The runtime is not to
// look for control groups, and not to look again later.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"github.com/ringd/ringd/rings/kernel/guestinit"
)

func main() { os.Exit(guestinit.Main()) }
