package main

import "golang.org/x/sys/unix"

// Calls that this architecture does not have.
const (
	none           = 9999
	uselib         = none
	remapFilePages = unix.SYS_REMAP_FILE_PAGES
	archPrctl      = none
	iopl           = none
	ioperm         = none
	modifyLDT      = none
	sysfs          = none
	ustat          = none
	x32Bit         = 0x40000000
)

func int80(nr, a, b, c uintptr) uintptr { return ^uintptr(37) }

// answer is code that returns 42.
func answer() []byte { return []byte{0x40, 5, 0x80, 0xd2, 0xc0, 3, 0x5f, 0xd6} }
