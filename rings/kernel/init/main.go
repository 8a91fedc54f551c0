// Command init is the first process of a guest: a small static program of this project, built before ringd and
// embedded in it. Its code is in package guestinit. Only package kernel starts it. The directives stop the
// runtime from looking for control groups at the start and later.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"github.com/ringd/ringd/rings/kernel/guestinit"
)

func main() { os.Exit(guestinit.Main()) }
